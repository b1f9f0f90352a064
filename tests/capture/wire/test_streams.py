"""Streams that end early, break off, are cancelled or dropped: recorded once, seen at once."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from typing import Any

import httpx2
import openai
import pytest

ASK = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "stream": True}


@pytest.fixture
def client(provider: Any, recording: Any) -> Any:
    with openai.OpenAI(api_key="k", base_url=provider.url + "/v1", max_retries=0) as client:
        yield recording.tracer.wrap(client)


def chunk(text: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**body, "choices": [choice]}).encode() + b"\n\n"


def texts(call: Any) -> list[str]:
    return [placement.block.text for placement in call.outputs]


def test_a_chunk_reaches_the_host_before_the_next_one_is_sent(
    client: Any, provider: Any, recording: Any, reply: Any
) -> None:
    gate = threading.Event()
    provider.replies.append(reply(events=(chunk("one"), chunk(" two")), gate=gate))

    stream = client.chat.completions.create(**ASK)
    first = next(stream)
    gate.set()

    assert first.choices[0].delta.content == "one"
    assert [c.choices[0].delta.content for c in stream] == [" two"]
    assert [texts(call) for call in recording.calls()] == [["one two"]]


@pytest.mark.parametrize("leave", ["close", "with", "drop"])
def test_a_stream_that_the_host_leaves_is_recorded_as_far_as_it_came(
    client: Any, provider: Any, recording: Any, reply: Any, leave: str
) -> None:
    gate = threading.Event()
    provider.replies.append(reply(events=(chunk("one"), chunk(" two")), gate=gate))

    stream = client.chat.completions.create(**ASK)
    next(stream)
    if leave == "close":
        stream.close()
    elif leave == "with":
        with stream, pytest.raises(KeyError):
            raise KeyError("the host's own fault")
    del stream
    gc.collect()
    gate.set()

    (call,) = recording.calls()
    assert (texts(call), call.head.error) == (["one"], None)
    assert call.detail.metadata["stream"] == "abandoned"


def test_a_stream_that_is_read_to_its_last_event_and_closed_is_not_abandoned(
    client: Any, recording: Any
) -> None:
    with client.chat.completions.create(**ASK) as stream:
        for part in stream:
            if part.choices and part.choices[0].finish_reason:
                break
        list(stream)

    (call,) = recording.calls()
    assert (call.head.finish_reason, dict(call.detail.metadata)) == ("stop", {})


def test_a_connection_that_breaks_reaches_the_host_and_the_trace(
    client: Any, provider: Any, recording: Any, reply: Any
) -> None:
    provider.replies.append(reply(events=(chunk("one"),), cut=True))

    with pytest.raises(openai.APIConnectionError) as caught:
        list(client.chat.completions.create(**ASK))

    assert isinstance(caught.value.__cause__, httpx2.RemoteProtocolError)
    (call,) = recording.calls()
    assert (texts(call), call.head.error) == (["one"], "APIConnectionError")
    assert call.head.error_message is not None
    assert call.head.error_message.startswith("RemoteProtocolError: ")


def test_a_cancelled_stream_is_recorded_and_stays_cancelled(
    provider: Any, recording: Any, reply: Any
) -> None:
    gate = threading.Event()
    provider.replies.append(reply(events=(chunk("one"), chunk(" two")), gate=gate))

    async def run() -> None:
        base_url = provider.url + "/v1"
        async with openai.AsyncOpenAI(api_key="k", base_url=base_url) as client:
            came = asyncio.Event()

            async def read() -> None:
                stream = await recording.tracer.wrap(client).chat.completions.create(**ASK)
                async for _ in stream:
                    came.set()

            task = asyncio.create_task(read())
            await came.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    gate.set()

    (call,) = recording.calls()
    assert (texts(call), call.head.error) == (["one"], "CancelledError")


def test_a_request_that_is_cancelled_before_its_answer_is_recorded(
    provider: Any, recording: Any, reply: Any
) -> None:
    gate = threading.Event()
    provider.replies.append(reply(b"{}", gate=gate))
    ask = {**ASK, "stream": False}

    async def run() -> None:
        base_url = provider.url + "/v1"
        async with openai.AsyncOpenAI(api_key="k", base_url=base_url) as client:
            asked = recording.tracer.wrap(client).chat.completions.create(**ask)
            task = asyncio.create_task(asked)
            await asyncio.to_thread(provider.arrived.acquire, timeout=20)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    gate.set()

    (call,) = recording.calls()
    assert (call.head.error, call.head.error_status) == ("CancelledError", None)
    assert call.request == provider.bodies[0]


def test_an_interrupt_from_the_keyboard_is_recorded_and_goes_on(recording: Any) -> None:
    def interrupt(request: httpx2.Request) -> httpx2.Response:
        raise KeyboardInterrupt

    transport = httpx2.MockTransport(interrupt)
    client = openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport))

    with pytest.raises(KeyboardInterrupt), client:
        recording.tracer.wrap(client).chat.completions.create(**ASK)

    assert [call.head.error for call in recording.calls()] == ["KeyboardInterrupt"]


def test_closing_the_tracer_stores_an_answer_that_is_still_coming(
    client: Any, provider: Any, recording: Any, reply: Any
) -> None:
    gate = threading.Event()
    provider.replies.append(reply(events=(chunk("one"), chunk(" two")), gate=gate))

    stream = client.chat.completions.create(**ASK)
    next(stream)
    (call,) = recording.calls()
    gate.set()

    assert (texts(call), call.head.error) == (["one"], "Unfinished")
    assert [c.choices[0].delta.content for c in stream] == [" two"]


def test_what_the_host_changes_while_the_answer_comes_is_not_in_the_record(
    client: Any, provider: Any, recording: Any
) -> None:
    messages = [{"role": "user", "content": "hi"}]

    stream = client.chat.completions.create(model="gpt-4o", messages=messages, stream=True)
    next(stream)
    messages[0]["content"] = "later"
    list(stream)

    (call,) = recording.calls()
    assert [placement.block.text for placement in call.inputs] == ["hi"]


def test_a_stream_keeps_the_labels_of_the_moment_when_it_was_asked_for(
    client: Any, provider: Any, recording: Any
) -> None:
    tracer = recording.tracer
    tracer.tag("rag", "hi")
    with tracer.step("search"):
        stream = client.chat.completions.create(**ASK)
    client.chat.completions.create(**{**ASK, "stream": False})
    list(stream)

    first, second = recording.calls()
    assert (first.head.step, first.inputs[0].label) == ("search", "rag")
    assert (second.head.step, second.inputs[0].label) == (None, "user")
