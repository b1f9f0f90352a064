"""Bedrock, Gemini and aiohttp: retries, failures, broken and abandoned streams."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable
from typing import Any

import pytest

aiohttp = pytest.importorskip("aiohttp")
boto3 = pytest.importorskip("boto3")
urllib3 = pytest.importorskip("urllib3")
botocore = pytest.importorskip("botocore.exceptions")

ASK = {
    "modelId": "amazon.nova-lite-v1:0",
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp")


def bedrock(url: str, **config: Any) -> Any:
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="AKIAX",
        aws_secret_access_key="secret",
        config=botocore_config(**config),
    )


def botocore_config(**config: Any) -> Any:
    from botocore.config import Config

    return Config(retries={"max_attempts": config.pop("retries", 0)}, **config)


def gemini(url: str, **http: Any) -> Any:
    genai = pytest.importorskip("google.genai", reason="google-genai needs Python 3.11")
    return genai.Client(api_key="AIza-x", http_options={"base_url": url, **http})


def aws_failure(reply: Any, status: int, **more: Any) -> Any:
    return reply(b'{"message": "try later"}', status, headers={"content-type": "application/json"})


# Bedrock


def test_retries_of_botocore_are_attempts_of_one_call(
    provider: Any, recording: Any, reply: Any
) -> None:
    provider.replies.append(aws_failure(reply, 500))
    client = recording.tracer.wrap(bedrock(provider.url, retries=1))
    client.converse(**ASK)
    client.converse(**ASK)

    calls = recording.calls()
    assert [(c.head.seq, c.head.attempts, c.head.error) for c in calls] == [
        (1, 2, None),
        (2, 1, None),
    ]
    assert [a.status for a in calls[0].detail.attempts] == [500, 200]


def test_a_refusal_of_bedrock_reaches_the_host_and_the_trace(
    provider: Any, recording: Any, reply: Any
) -> None:
    provider.replies.append(aws_failure(reply, 400))
    client = recording.tracer.wrap(bedrock(provider.url))
    with pytest.raises(botocore.ClientError):
        client.converse(**ASK)

    (call,) = recording.calls()
    assert (call.head.error_status, call.head.error_message) == (400, "try later")


def test_a_bedrock_that_cannot_be_reached_is_recorded_once(recording: Any) -> None:
    client = recording.tracer.wrap(bedrock("http://127.0.0.1:1", retries=1))
    with pytest.raises(botocore.EndpointConnectionError):
        client.converse(**ASK)

    (call,) = recording.calls()
    assert (call.head.error, call.head.attempts) == ("EndpointConnectionError", 2)


def test_a_bedrock_stream_that_breaks_keeps_what_came(
    provider: Any, recording: Any, reply: Any
) -> None:
    whole = provider.reply_to("/model/m/converse-stream", b"{}")
    provider.replies.append(reply(events=whole.events[:2], headers=whole.headers, cut=True))
    stream = recording.tracer.wrap(bedrock(provider.url)).converse_stream(**ASK)["stream"]
    with pytest.raises(urllib3.exceptions.ProtocolError):
        list(stream)

    (call,) = recording.calls()
    assert call.head.error == "ProtocolError"
    assert [place.block.text for place in call.outputs] == ['{"answer"']


# A stream that nobody closes leaves its socket to the garbage collector, recorded or not.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("leave", ["close", "drop"])
def test_a_bedrock_stream_that_is_left_is_recorded_as_abandoned(
    provider: Any, recording: Any, leave: str
) -> None:
    answer = recording.tracer.wrap(bedrock(provider.url)).converse_stream(**ASK)
    events = iter(answer["stream"])
    next(events)
    if leave == "close":
        answer["stream"].close()
    del answer, events
    gc.collect()

    (call,) = recording.calls()
    assert (call.head.error, call.detail.metadata) == (None, {"stream": "abandoned"})


def test_handlers_of_the_host_and_its_stubs_work_as_before(provider: Any, recording: Any) -> None:
    from botocore.awsrequest import AWSResponse

    class Body:
        def stream(self, **_: Any) -> Any:
            yield json.dumps({"stopReason": "end_turn", "usage": {}}).encode()

    def stub(request: Any, **_: Any) -> Any:
        return AWSResponse(request.url, 200, {}, Body())

    client = bedrock(provider.url)
    client.meta.events.register("before-send.bedrock-runtime.Converse", stub)
    assert recording.tracer.wrap(client).converse(**ASK)["stopReason"] == "end_turn"

    (call,) = recording.calls()
    assert (call.head.finish_reason, provider.bodies) == ("end_turn", [])


def test_a_wrapped_bedrock_client_is_used_like_the_client(provider: Any, recording: Any) -> None:
    client = bedrock(provider.url)
    wrapped = recording.tracer.wrap(recording.tracer.wrap(client, agent="a"), agent="b")
    wrapped.converse(**ASK)
    client.converse(**ASK)

    assert type(wrapped) is type(client)
    assert wrapped.meta.region_name == "us-east-1"
    assert isinstance(wrapped.exceptions.ThrottlingException, type)
    assert not wrapped.can_paginate("converse")
    assert [call.head.agent for call in recording.calls()] == ["b"]


def test_another_service_of_aws_is_refused(recording: Any) -> None:
    stranger = boto3.client(
        "s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    with pytest.raises(ValueError, match=r"botocore\.client\.S3; supported are .*bedrock-runtime"):
        recording.tracer.wrap(stranger)


# Gemini


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("how", ["wrapped", "process"])
def test_retries_of_gemini_are_attempts_of_one_call(
    provider: Any, recording: Any, fail: Any, is_async: bool, how: str
) -> None:
    provider.replies.append(fail(503))
    retry = {"attempts": 2, "initial_delay": 0.001, "jitter": 0, "http_status_codes": [503]}
    client = gemini(provider.url, retry_options=retry)
    if how == "process":
        recording.tracer.record_process()
    asked = recording.tracer.wrap(client) if how == "wrapped" else client

    async def ask() -> None:
        await asked.aio.models.generate_content(model="gemini-x", contents="hi")
        await client.aio.aclose()

    if is_async:
        asyncio.run(ask())
    else:
        asked.models.generate_content(model="gemini-x", contents="hi")
        asked.models.generate_content(model="gemini-x", contents="hi")
    client.close()

    first, *more = recording.calls()
    assert [a.status for a in first.detail.attempts] == [503, 200]
    assert [call.head.attempts for call in more] == ([] if is_async else [1])


def test_a_refusal_of_gemini_reaches_the_host_and_the_trace(
    provider: Any, recording: Any, reply: Any
) -> None:
    error = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}
    provider.replies.append(reply(json.dumps(error).encode(), 429))
    with gemini(provider.url) as client, pytest.raises(Exception, match="429 RESOURCE") as raised:
        recording.tracer.wrap(client).models.generate_content(model="gemini-x", contents="hi")

    (call,) = recording.calls()
    head = call.head
    assert type(raised.value).__name__ == head.error == "ClientError"
    assert (head.error_status, head.error_message) == (429, "quota")


def test_a_gemini_client_that_only_its_wrapped_copy_holds_stays_usable(
    provider: Any, recording: Any
) -> None:
    wrapped = recording.tracer.wrap(gemini(provider.url))
    gc.collect()
    wrapped.models.generate_content(model="gemini-x", contents="hi")

    assert type(wrapped).__name__ == "Client"
    assert len(recording.calls()) == 1


@pytest.mark.parametrize("options", [{}, {"async_client_args": {"trust_env": False}}])
def test_the_asynchronous_half_of_a_gemini_client_outlives_its_client(
    provider: Any, recording: Any, options: Any
) -> None:
    async def ask() -> set[str]:
        half = recording.tracer.wrap(gemini(provider.url, **options)).aio
        texts = set()
        for _ in range(3):
            gc.collect()
            answer = await half.models.generate_content(model="gemini-x", contents="hi")
            texts.add(answer.text)
        await half.aclose()
        return texts

    assert len(asyncio.run(ask())) == 1
    assert len(recording.calls()) == 3


def test_the_asynchronous_half_of_a_gemini_client_can_be_wrapped(
    provider: Any, recording: Any
) -> None:
    async def ask() -> None:
        async with gemini(provider.url).aio as client:
            wrapped = recording.tracer.wrap(client, agent="a")
            await wrapped.models.generate_content(model="gemini-x", contents="hi")
            await client.models.generate_content(model="gemini-x", contents="hi")

    asyncio.run(ask())

    assert [call.head.agent for call in recording.calls()] == ["a"]


def test_a_resource_of_a_gemini_client_cannot_be_wrapped_alone(recording: Any) -> None:
    with (
        gemini("http://127.0.0.1:1") as client,
        pytest.raises(ValueError, match="Models; supported"),
    ):
        recording.tracer.wrap(client.models)


def test_dropping_the_wrapped_copy_leaves_the_gemini_client_usable(
    provider: Any, recording: Any
) -> None:
    with gemini(provider.url) as client:
        recording.tracer.wrap(client).models.generate_content(model="gemini-x", contents="hi")
        gc.collect()
        client.models.generate_content(model="gemini-x", contents="hi")

    assert (len(provider.bodies), len(recording.calls())) == (2, 1)


def test_a_chat_of_a_wrapped_gemini_client_is_recorded_turn_by_turn(
    provider: Any, recording: Any
) -> None:
    with gemini(provider.url) as client:
        chat = recording.tracer.wrap(client).chats.create(model="gemini-x")
        chat.send_message("one")
        chat.send_message("two")

    first, second = recording.calls()
    history = [place.block.content_hash for place in second.inputs]
    assert history[:2] == [p.block.content_hash for p in (*first.inputs, *first.outputs)]
    assert len(history) == 3


# aiohttp


async def asked(url: str, **options: Any) -> Any:
    async with aiohttp.ClientSession() as session, session.post(url, **options) as response:
        return await response.json()


@pytest.mark.parametrize(
    "options",
    [
        {"json": CHAT},
        {"data": json.dumps(CHAT)},
        {"data": json.dumps(CHAT).encode()},
        {"data": aiohttp.BytesPayload(json.dumps(CHAT).encode())},
    ],
    ids=["json", "text", "bytes", "payload"],
)
def test_a_body_of_any_form_is_recorded_as_sent(
    provider: Any, recording: Any, options: Any
) -> None:
    recording.tracer.record_process()
    asyncio.run(asked(f"{provider.url}/v1/chat/completions", **options))

    (call,) = recording.calls()
    assert call.request == provider.bodies[0] == json.dumps(CHAT).encode()


def test_a_session_with_an_address_of_its_own_is_recorded(provider: Any, recording: Any) -> None:
    async def ask() -> None:
        async with aiohttp.ClientSession(provider.url, raise_for_status=True) as session:
            await (await session.post("/v1/chat/completions", json=CHAT)).read()

    recording.tracer.record_process()
    asyncio.run(ask())

    (call,) = recording.calls()
    assert call.detail.endpoint == f"{provider.url}/v1/chat/completions"


def test_a_status_that_aiohttp_raises_is_recorded_with_it(
    provider: Any, recording: Any, fail: Any
) -> None:
    async def ask() -> None:
        async with aiohttp.ClientSession(raise_for_status=True) as session:
            await session.post(f"{provider.url}/v1/chat/completions", json=CHAT)

    provider.replies.append(fail(429))
    recording.tracer.record_process()
    with pytest.raises(aiohttp.ClientResponseError):
        asyncio.run(ask())

    (call,) = recording.calls()
    assert (call.head.error, call.head.error_status) == ("ClientResponseError", 429)


async def first_line(response: Any) -> None:
    await response.content.readline()


async def cancelled(response: Any) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(response.read(), 0.05)


@pytest.mark.parametrize("leave", [first_line, cancelled], ids=lambda leave: leave.__name__)
def test_an_aiohttp_stream_that_is_left_is_recorded_as_abandoned(
    provider: Any, recording: Any, reply: Any, leave: Callable[[Any], Any]
) -> None:
    import threading

    gate = threading.Event()
    events = provider.reply_to("/chat/completions", b'{"stream": true}').events
    provider.replies.append(reply(events=events, gate=gate))

    async def ask() -> None:
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{provider.url}/v1/chat/completions", json=CHAT) as response:
                await leave(response)
            gate.set()

    recording.tracer.record_process()
    asyncio.run(ask())

    (call,) = recording.calls()
    assert (call.head.error, call.detail.metadata) == (None, {"stream": "abandoned"})


def test_an_aiohttp_stream_that_breaks_keeps_what_came(
    provider: Any, recording: Any, reply: Any
) -> None:
    events = provider.reply_to("/chat/completions", b'{"stream": true}').events
    provider.replies.append(reply(events=events[:2], cut=True))

    async def ask() -> None:
        await asked(f"{provider.url}/v1/chat/completions", json=CHAT)

    recording.tracer.record_process()
    with pytest.raises(aiohttp.ClientPayloadError):
        asyncio.run(ask())

    (call,) = recording.calls()
    assert call.head.error == "ClientPayloadError"
    assert [place.block.text for place in call.outputs] == ['{"answer"']


def test_a_cancelled_request_of_aiohttp_is_recorded(
    provider: Any, recording: Any, reply: Any
) -> None:
    async def ask() -> None:
        task = asyncio.create_task(asked(f"{provider.url}/v1/chat/completions", json=CHAT))
        await asyncio.to_thread(provider.arrived.acquire)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    import threading

    gate = threading.Event()
    provider.replies.append(reply(b"{}", gate=gate))
    recording.tracer.record_process()
    asyncio.run(ask())
    gate.set()

    (call,) = recording.calls()
    assert call.head.seq == 1


def test_a_faulty_recorder_leaves_every_library_alone(
    provider: Any, recording: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctxdiff_capture import guard

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(guard, "strict", False)
    recording.tracer.record_process()
    for name in ("started", "ended"):
        monkeypatch.setattr(type(recording.tracer), name, fail)
    url = f"{provider.url}/v1/chat/completions"

    assert asyncio.run(asked(url, json=CHAT))["id"] == "chatcmpl-1"
    assert len(list(bedrock(provider.url).converse_stream(**ASK)["stream"])) == 6
