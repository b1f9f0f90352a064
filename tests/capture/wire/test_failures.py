"""Errors, retries and credentials."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import httpx2
import openai
import pytest

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
MESSAGE = {**CHAT, "model": "claude-of-tests", "max_tokens": 9}


def chat(provider: Any, recording: Any, **options: Any) -> Any:
    client = openai.OpenAI(api_key="k", base_url=provider.url + "/v1", **options)
    return recording.tracer.wrap(client)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "kind"), [(400, "BadRequestError"), (429, "RateLimitError"), (529, None)]
)
def test_an_http_error_is_recorded_by_the_name_that_the_host_sees(
    provider: Any, recording: Any, fail: Any, status: int, kind: str | None, stream: bool
) -> None:
    provider.replies.append(fail(status, "no such thing"))
    client = anthropic.Anthropic(api_key="k", base_url=provider.url, max_retries=0)

    with client, pytest.raises(anthropic.APIStatusError) as caught:
        recording.tracer.wrap(client).messages.create(**MESSAGE, stream=stream)

    (call,) = recording.calls()
    assert call.head.error == (kind or type(caught.value).__name__)
    assert call.head.error_status == status
    assert "no such thing" in (call.head.error_message or "")
    assert (dict(call.detail.metadata), call.request) == ({}, provider.bodies[0])


def test_an_http_error_inside_a_streamed_raw_response_is_an_error(
    provider: Any, recording: Any, fail: Any
) -> None:
    provider.replies.append(fail(529, "overloaded"))
    client = anthropic.Anthropic(api_key="k", base_url=provider.url, max_retries=0)
    wrapped = recording.tracer.wrap(client)

    with client, pytest.raises(anthropic.APIStatusError):
        wrapped.messages.with_streaming_response.create(**MESSAGE, stream=True).__enter__()

    assert [call.head.error_status for call in recording.calls()] == [529]


@pytest.mark.parametrize("stream", [False, True])
def test_retries_are_attempts_of_one_call(
    provider: Any, recording: Any, fail: Any, stream: bool
) -> None:
    provider.replies += [fail(429, "slow down"), fail(500, "broken")]
    with chat(provider, recording, max_retries=2) as client:
        recording.tracer.tag("rag", "hi")
        answer = client.chat.completions.create(**CHAT, stream=stream)
        list(answer) if stream else None
        client.chat.completions.create(**CHAT)

    first, second = recording.calls()
    assert [a.status for a in first.detail.attempts] == [429, 500, 200]
    assert [a.error.type if a.error else None for a in first.detail.attempts] == [
        "RateLimitError",
        "InternalServerError",
        None,
    ]
    assert (first.head.seq, first.head.error, first.head.attempts) == (1, None, 3)
    assert first.head.started_at == first.detail.attempts[0].started_at
    assert first.inputs[0].label == "rag"
    assert (second.head.seq, second.head.attempts, second.inputs[0].label) == (2, 1, "user")


def test_a_call_whose_retries_all_fail_is_one_call(
    provider: Any, recording: Any, fail: Any
) -> None:
    provider.replies += [fail(500), fail(500), fail(500, "the last")]
    with chat(provider, recording, max_retries=2) as client:
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(**CHAT)
        client.chat.completions.create(**CHAT)

    failed, good = recording.calls()
    assert (failed.head.error, failed.head.attempts) == ("InternalServerError", 3)
    assert "the last" in (failed.head.error_message or "")
    assert (good.head.seq, good.head.error, good.head.attempts) == (2, None, 1)


def test_connections_that_fail_are_retried_as_one_call(recording: Any) -> None:
    causes = [httpx2.ConnectTimeout("too slow"), httpx2.ConnectError("refused")]

    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise causes.pop()

    transport = httpx2.MockTransport(refuse)
    http_client = httpx2.Client(transport=transport)
    client = openai.OpenAI(api_key="k", http_client=http_client, max_retries=1)

    with client, pytest.raises(openai.APITimeoutError) as caught:
        recording.tracer.wrap(client).chat.completions.create(**CHAT)

    (call,) = recording.calls()
    assert isinstance(caught.value.__cause__, httpx2.ConnectTimeout)
    assert [(a.error.type, a.error.message) for a in call.detail.attempts if a.error] == [
        ("APIConnectionError", "ConnectError: refused"),
        ("APITimeoutError", "ConnectTimeout: too slow"),
    ]
    assert call.head.error == "APITimeoutError"


def test_equal_calls_that_are_retried_at_once_are_told_apart(
    provider: Any, recording: Any, fail: Any
) -> None:
    provider.replies += [fail(500) for _ in range(12)]

    async def run() -> None:
        base_url = provider.url + "/v1"
        async with openai.AsyncOpenAI(api_key="k", base_url=base_url, max_retries=12) as client:
            wrapped = recording.tracer.wrap(client)
            await asyncio.gather(*(wrapped.chat.completions.create(**CHAT) for _ in range(6)))

    asyncio.run(run())
    with chat(provider, recording, max_retries=9) as client, ThreadPoolExecutor(6) as pool:
        provider.replies += [fail(500) for _ in range(12)]
        list(pool.map(lambda _: client.chat.completions.create(**CHAT), range(6)))

    calls = recording.calls()
    assert [call.head.seq for call in calls] == list(range(1, 13))
    assert {call.head.error for call in calls} == {None}
    assert sum(len(call.detail.attempts) for call in calls) == 12 + 24
    for call in calls:
        assert [a.number for a in call.detail.attempts] == [
            *range(1, len(call.detail.attempts) + 1)
        ]


KEY = "sk-proj-0123456789abcdef"


def test_credentials_of_headers_and_addresses_are_not_in_the_file(
    provider: Any, recording: Any, fail: Any
) -> None:
    provider.replies += [fail(401, f"Incorrect API key provided: {KEY}")]
    options = {"default_query": {"key": "query-secret-1"}, "max_retries": 0}
    client = openai.OpenAI(api_key=KEY, base_url=provider.url + "/v1", **options)
    headers = {"x-api-key": "other-secret-12", "Cookie": "session=cookie-secret"}

    with client:
        wrapped = recording.tracer.wrap(client)
        with pytest.raises(openai.AuthenticationError):
            wrapped.chat.completions.create(**CHAT, extra_headers=headers)
        wrapped.chat.completions.create(**CHAT, extra_headers=headers)

    failed, good = recording.calls()
    assert failed.head.error_message is not None
    assert "[credential]" in failed.head.error_message
    assert good.detail.endpoint == provider.url + "/v1/chat/completions"
    stored = recording.path.read_bytes()
    for secret in (KEY, "other-secret-12", "cookie-secret", "query-secret-1"):
        assert secret.encode() not in stored


def test_a_password_in_the_address_is_not_in_the_file(provider: Any, recording: Any) -> None:
    address = provider.url.replace("//", "//someone:pass-word-1234@")
    with openai.OpenAI(api_key="k", base_url=address + "/v1") as client:
        recording.tracer.wrap(client).chat.completions.create(**CHAT)

    (call,) = recording.calls()
    assert call.detail.endpoint == provider.url + "/v1/chat/completions"
    for secret in (b"pass-word-1234", b64encode(b"someone:pass-word-1234"), b"someone"):
        assert secret not in recording.path.read_bytes()


def test_a_header_that_the_transport_quotes_in_its_error_is_withheld(
    provider: Any, recording: Any
) -> None:
    client = anthropic.Anthropic(api_key=KEY + "\n", base_url=provider.url, max_retries=0)

    with client, pytest.raises(anthropic.APIConnectionError) as caught:
        recording.tracer.wrap(client).messages.create(**MESSAGE)

    assert KEY in str(caught.value.__cause__)
    (call,) = recording.calls()
    assert call.head.error == "APIConnectionError"
    assert KEY.encode() not in recording.path.read_bytes()


def test_requests_that_ask_no_model_pass_through_unrecorded(provider: Any, recording: Any) -> None:
    with anthropic.Anthropic(api_key="k", base_url=provider.url) as client:
        wrapped = recording.tracer.wrap(client)
        wrapped.messages.count_tokens(model="m", messages=CHAT["messages"])
        wrapped.messages.batches.create(requests=[])

    assert provider.paths == ["/v1/messages/count_tokens", "/v1/messages/batches"]
    assert recording.calls() == []


def test_documented_tool_loops_hash_like_loops_written_with_dicts(
    provider: Any, recording: Any, new_recording: Any, reply: Any
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    turn = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o"}
    choices = [{"index": 0, "finish_reason": "tool_calls", "message": said}]
    result = {"role": "tool", "tool_call_id": "call_1", "content": "42"}

    def loop(record: Any, as_dict: bool) -> list[list[str]]:
        provider.replies.append(reply(json.dumps({**turn, "choices": choices}).encode()))
        messages: list[Any] = [{"role": "user", "content": "hi"}]
        with chat(provider, record) as client:
            answer = client.chat.completions.create(model="gpt-4o", messages=messages)
            messages += [said if as_dict else answer.choices[0].message, result]
            client.chat.completions.create(model="gpt-4o", messages=messages)
        calls = record.calls()
        assert calls[0].outputs[0].block == calls[1].inputs[1].block
        return [[placement.block.content_hash for placement in c.inputs] for c in calls]

    assert loop(recording, as_dict=False) == loop(new_recording(), as_dict=True)


def test_documented_tool_loops_of_anthropic_hash_like_loops_written_with_dicts(
    provider: Any, recording: Any, new_recording: Any, reply: Any
) -> None:
    said = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
    ]
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": said}
    answer |= {"stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "42"}

    def loop(record: Any, as_dict: bool) -> list[list[str]]:
        provider.replies.append(reply(json.dumps(answer).encode()))
        messages: list[Any] = [{"role": "user", "content": "hi"}]
        with anthropic.Anthropic(api_key="k", base_url=provider.url) as client:
            wrapped = record.tracer.wrap(client)
            response = wrapped.messages.create(**{**MESSAGE, "messages": messages})
            content = said if as_dict else response.content
            messages.append({"role": "assistant", "content": content})
            messages.append({"role": "user", "content": [result]})
            wrapped.messages.create(**{**MESSAGE, "messages": messages})
        calls = record.calls()
        outputs = [placement.block for placement in calls[0].outputs]
        assert outputs == [placement.block for placement in calls[1].inputs[1:3]]
        return [[placement.block.content_hash for placement in c.inputs] for c in calls]

    assert loop(recording, as_dict=False) == loop(new_recording(), as_dict=True)
