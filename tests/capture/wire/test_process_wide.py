"""Recording a whole process: whoever asks a model, by whatever library, is recorded once."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import sys
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any

import httpx
import httpx2
import openai
import pytest
from ctxdiff_capture import trace

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Capital of France?"}]}
STREAM = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
USAGE = {"prompt_tokens": 21, "completion_tokens": 5, "total_tokens": 26}


def ask_by_httpx(url: str) -> None:
    httpx.post(url, json=CHAT)
    with httpx2.Client() as client, client.stream("POST", url, json=STREAM) as response:
        assert response.read().endswith(b"[DONE]\n\n")


def ask_by_async_httpx(url: str) -> None:
    async def ask() -> None:
        async with httpx.AsyncClient() as client:
            await client.post(url, json=CHAT)
        async with httpx2.AsyncClient() as client, client.stream("POST", url, json=STREAM) as r:
            assert [line async for line in r.aiter_lines()][-2] == "data: [DONE]"

    asyncio.run(ask())


def ask_by_aiohttp(url: str) -> None:
    aiohttp = pytest.importorskip("aiohttp")

    async def ask() -> None:
        async with aiohttp.ClientSession() as session:
            async with session.post(url, json=CHAT) as response:
                assert (await response.json())["id"] == "chatcmpl-1"
            async with session.post(url, json=STREAM) as response:
                assert [line async for line in response.content][-2] == b"data: [DONE]\n"

    asyncio.run(ask())


def ask_by_openai(url: str) -> None:
    with openai.OpenAI(api_key="sk-x", base_url=url.removesuffix("/chat/completions")) as client:
        client.chat.completions.create(**CHAT)
        list(client.chat.completions.create(**STREAM))


def ask_by_requests(url: str) -> None:
    requests = pytest.importorskip("requests")
    assert requests.post(url, json=CHAT).json()["id"] == "chatcmpl-1"
    with requests.Session() as session, session.post(url, json=STREAM, stream=True) as response:
        assert list(response.iter_lines())[-2] == b"data: [DONE]"


def ask_by_urllib3(url: str) -> None:
    urllib3 = pytest.importorskip("urllib3", minversion="2")
    with urllib3.PoolManager() as pool:
        assert pool.request("POST", url, json=CHAT).json()["id"] == "chatcmpl-1"
        response = pool.request("POST", url, json=STREAM, preload_content=False)
        assert b"".join(response.stream(64, decode_content=True)).endswith(b"[DONE]\n\n")
        response.release_conn()


def unpacked(response: Any, body: bytes) -> bytes:
    return gzip.decompress(body) if response.headers["content-encoding"] == "gzip" else body


def ask_by_urllib(url: str) -> None:
    kind = {"content-type": "application/json"}
    for body in (CHAT, STREAM):
        request = urllib.request.Request(url, json.dumps(body).encode(), kind)
        with urllib.request.urlopen(request) as response:
            whole = unpacked(response, b"".join(response))
        assert whole.rstrip().endswith(b"[DONE]" if body is STREAM else b"}")


def ask_by_http_client(url: str) -> None:
    host, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host)
    for body in (CHAT, STREAM):
        connection.request("POST", f"/{path}", body=json.dumps(body))
        response = connection.getresponse()
        parts = []
        while part := response.read(50):
            parts.append(part)
        assert unpacked(response, b"".join(parts)).count(b"chatcmpl-1") == (
            5 if "stream" in body else 1
        )
    connection.close()


WAYS = [
    ask_by_httpx,
    ask_by_async_httpx,
    ask_by_aiohttp,
    ask_by_openai,
    ask_by_requests,
    ask_by_urllib3,
    ask_by_urllib,
    ask_by_http_client,
]


@pytest.mark.parametrize("compress", [False, True], ids=["", "gzip"])
@pytest.mark.parametrize("ask", WAYS, ids=lambda ask: ask.__name__)
def test_a_call_of_any_library_is_recorded_once(
    provider: Any, recording: Any, ask: Callable[[str], None], compress: bool
) -> None:
    provider.compress = compress
    recording.tracer.record_process()

    ask(f"{provider.url}/v1/chat/completions")

    calls = recording.calls()
    seen = [(c.head.seq, c.head.surface, c.head.usage, c.head.finish_reason) for c in calls]
    assert seen == [(n, "openai.chat", USAGE, "stop") for n in (1, 2)]
    assert [c.request for c in calls] == provider.bodies
    assert [c.outputs[0].block.text for c in calls] == ['{"answer": "Paris"}'] * 2
    assert [(c.head.error, c.detail.metadata) for c in calls] == [(None, {})] * 2


def test_a_wrapped_client_is_recorded_once_under_its_own_agent(
    provider: Any, recording: Any
) -> None:
    recording.tracer.record_process(agent="somebody")
    with openai.OpenAI(api_key="sk-x", base_url=f"{provider.url}/v1") as client:
        recording.tracer.wrap(client, agent="planner").chat.completions.create(**CHAT)
        client.chat.completions.create(**CHAT)

    assert [call.head.agent for call in recording.calls()] == ["planner", "somebody"]


def test_two_tracers_of_one_process_record_each_call_once(
    provider: Any, recording: Any, new_recording: Any
) -> None:
    other = new_recording()
    recording.tracer.record_process()
    other.tracer.record_process()
    httpx.post(f"{provider.url}/v1/chat/completions", json=CHAT)

    assert [len(each.calls()) for each in (recording, other)] == [1, 1]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"model": "e", "input": "x"}),
        ("/v1/messages/count_tokens", CHAT),
        ("/chat/completions", {"rows": [1]}),
        ("/v1/responses", ["input"]),
        ("/agents/invoke", {"input": "hi"}),
    ],
)
def test_what_asks_no_model_is_left_alone(
    provider: Any, recording: Any, path: str, body: Any
) -> None:
    recording.tracer.record_process()
    provider.replies.append(type(provider.reply_to("/v1/chat/completions", b"{}"))(b"{}"))
    httpx.post(provider.url + path, json=body)

    recording.tracer.close()
    assert not recording.path.exists()


def test_a_request_body_that_is_streamed_is_not_read_but_noted(recording: Any) -> None:
    recording.tracer.record_process()
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.read())
        return httpx.Response(200, json={"choices": []})

    def parts() -> Iterator[bytes]:
        yield b'{"messages"'
        yield b": []}"

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        client.post("https://api.openai.com/v1/chat/completions", content=parts())

    (call,) = recording.calls()
    assert sent == [b'{"messages": []}']
    assert call.detail.metadata["request"] == "streamed, not kept"
    assert call.head.provider == "openai"


def test_a_stream_that_is_left_when_its_end_is_told_is_not_abandoned(
    provider: Any, recording: Any, reply: Any
) -> None:
    events = provider.reply_to("/v1/messages", b'{"stream": true}').events
    provider.replies.append(reply(events=events[:-1]))
    recording.tracer.record_process()
    ask = {**STREAM, "max_tokens": 9}
    with httpx.stream("POST", f"{provider.url}/v1/messages", json=ask) as response:
        assert any(line == "event: message_delta" for line in response.iter_lines())

    (call,) = recording.calls()
    assert (call.head.finish_reason, call.detail.metadata) == ("end_turn", {})


def test_an_error_reaches_the_host_unchanged_and_bears_its_own_name(recording: Any) -> None:
    recording.tracer.record_process()
    with pytest.raises(httpx.ConnectError):
        httpx.post("http://127.0.0.1:1/v1/chat/completions", json=CHAT)

    (call,) = recording.calls()
    assert call.head.error == "ConnectError"


def test_an_sdk_that_is_not_wrapped_names_its_own_error(recording: Any) -> None:
    recording.tracer.record_process()
    client = openai.OpenAI(api_key="sk-x", base_url="http://127.0.0.1:1/v1", max_retries=1)
    with client, pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(**CHAT)

    (call,) = recording.calls()
    assert (call.head.error, call.head.attempts) == ("APIConnectionError", 2)


def test_closing_leaves_the_libraries_as_they_were(provider: Any, recording: Any) -> None:
    aiohttp = pytest.importorskip("aiohttp")
    botocore = pytest.importorskip("botocore.client")
    methods = [
        (httpx.Client, "send"),
        (httpx2.AsyncClient, "send"),
        (aiohttp.ClientSession, "_request"),
        (botocore.BaseClient, "_make_api_call"),
        (http.client.HTTPConnection, "request"),
        (http.client.HTTPConnection, "getresponse"),
    ]
    before = [vars(kind)[name] for kind, name in methods]
    finders = list(sys.meta_path)
    recording.tracer.record_process()
    assert not set(before) & {vars(kind)[name] for kind, name in methods}

    recording.tracer.close()

    assert [vars(kind)[name] for kind, name in methods] == before
    assert sys.meta_path == finders


def test_a_method_that_somebody_replaced_meanwhile_stays_replaced(
    recording: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = httpx.Client.send
    monkeypatch.setattr(httpx.Client, "send", original)
    recording.tracer.record_process()
    theirs = partial(httpx.Client.send)
    httpx.Client.send = theirs  # type: ignore[method-assign]

    recording.tracer.close()

    assert httpx.Client.send is theirs


def test_a_process_is_named_after_its_script(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/some/where/my_agent.py", "--x"])
    with trace.auto(path=tmp_path) as tracer:
        assert tracer.path == str(tmp_path / "my_agent.ctrace")


def test_an_agent_is_named_where_its_calls_are_made(provider: Any, recording: Any) -> None:
    tracer = recording.tracer
    tracer.record_process(agent="somebody")
    url = f"{provider.url}/v1/chat/completions"

    async def work(agent: str) -> None:
        with tracer.agent(agent):
            async with httpx.AsyncClient() as client:
                await client.post(url, json=CHAT)

    async def both() -> None:
        await asyncio.gather(work("planner"), work("writer"))

    asyncio.run(both())
    httpx.post(url, json=CHAT)
    with tracer.agent("critic"), tracer.step("review"), ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, httpx.post, url, json=CHAT).result()
        pool.submit(httpx.post, url, json=CHAT).result()

    labels = [(call.head.agent, call.head.step) for call in recording.calls()]
    assert sorted(labels[:2]) == [("planner", None), ("writer", None)]
    assert labels[2:] == [("somebody", None), ("critic", "review"), ("critic", "review")]


def test_labels_set_before_a_pool_and_a_thread_are_those_of_calls_in_them(
    provider: Any, recording: Any
) -> None:
    tracer = recording.tracer
    url = f"{provider.url}/v1"
    with openai.OpenAI(api_key="sk-x", base_url=url) as client, ThreadPoolExecutor(1) as pool:
        create = tracer.wrap(client).chat.completions.create
        tracer.mark("outer")
        tracer.tag("rag", ["Capital of France?"])
        pool.submit(create, **CHAT).result()
        thread = Thread(target=create, kwargs=CHAT)
        thread.start()
        thread.join()
        tracer.mark(None)
        pool.submit(create, **CHAT).result()

    calls = recording.calls()
    assert [call.head.step for call in calls] == ["outer", "outer", None]
    assert [call.inputs[0].label for call in calls] == ["rag", "user", "user"]
