"""Rows of sections C and D: surfaces beside the usual ones, and facts of a call."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from ctxdiff_capture import read
from ctxdiff_capture.recorder.tracer import Tracer
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.wire.endpoints import surface_of
from ctxdiff_capture.wire.flight import Clock

from tests.capture.wire.conftest import CHAT, Reply, chat_events

ASK: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Which city?"}]}


@dataclass
class Time:
    """A clock that moves when it is told to."""

    ns: int = 1_000_000_000

    def pass_ms(self, milliseconds: int) -> None:
        self.ns += milliseconds * 1_000_000

    @property
    def clock(self) -> Clock:
        return Clock(wall_ns=lambda: self.ns, monotonic_ns=lambda: self.ns)


def client_of(provider: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="none", base_url=f"{provider.url}/v1", max_retries=0)


def test_the_openai_module_itself_is_recorded_with_the_process(
    provider: Any, recording: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "api_key", "none")
    monkeypatch.setattr(openai, "base_url", f"{provider.url}/v1/")
    monkeypatch.setattr(openai, "_client", None)
    recording.tracer.record_process()
    openai.chat.completions.create(**ASK)
    openai._client.close()
    (call,) = recording.calls()
    assert (call.head.surface, call.request) == ("openai.chat", provider.bodies[0])


def test_the_beta_responses_are_recorded(provider: Any, recording: Any) -> None:
    with client_of(provider) as client:
        wrapped = recording.tracer.wrap(client)
        wrapped.beta.responses.create(model="gpt-4o", input="Which city?")
    (call,) = recording.calls()
    assert (call.head.surface, call.request) == ("openai.responses", provider.bodies[0])


@pytest.mark.parametrize(
    "target",
    ["/v1/realtime?model=gpt-realtime", "/v1/responses", "/v1/live", "/v1/threads/t/runs"],
)
def test_what_is_not_asked_by_a_request_is_not_recorded(target: str) -> None:
    method = "POST" if target.endswith("runs") else "GET"  # what a websocket begins with
    assert surface_of(method, target.encode()) is None


def test_calls_at_once_have_the_order_and_times_of_their_start(
    provider: Any, recording: Any
) -> None:
    async def ask() -> None:
        client = openai.AsyncOpenAI(api_key="none", base_url=f"{provider.url}/v1")
        wrapped = recording.tracer.wrap(client)
        first = asyncio.create_task(wrapped.chat.completions.create(**ASK, user="first"))
        await asyncio.to_thread(provider.arrived.acquire)
        await wrapped.chat.completions.create(**ASK, user="second")
        gate.set()
        await first
        await client.close()

    gate = threading.Event()
    provider.replies.append(Reply(json.dumps(CHAT).encode(), gate=gate))
    asyncio.run(ask())

    first, second = (call.head for call in recording.calls())
    assert (first.params["user"], second.params["user"]) == ("first", "second")
    assert first.started_at <= second.started_at
    assert first.latency_ms >= second.latency_ms


def test_a_latency_ends_with_the_last_byte_and_not_with_the_hosts_thoughts(
    provider: Any, tmp_path: Path
) -> None:
    time = Time()
    destination = Destination(path=tmp_path / "p.ctrace")
    with Tracer("p", destination, clock=time.clock) as tracer, client_of(provider) as client:
        stream = tracer.wrap(client).chat.completions.create(**ASK, stream=True)
        time.pass_ms(40)
        next(iter(stream))
        time.pass_ms(90_000)
        stream.close()
        time.pass_ms(90_000)
    reader = read(tmp_path / "p.ctrace")
    (call,) = reader.load(reader.sessions()[0].id).calls
    reader.close()
    assert (call.first_byte_ms, call.latency_ms) == (40, 40)


def test_a_stream_that_an_error_of_the_host_ends_is_no_clean_call(
    provider: Any, recording: Any
) -> None:
    class OfTheHostError(Exception):
        pass

    provider.replies.append(Reply(events=chat_events()[:2], cut=False))

    def ask(client: openai.OpenAI) -> None:
        with client.chat.completions.create(**ASK, stream=True) as stream:
            for _ in stream:
                raise OfTheHostError

    with client_of(provider) as client, pytest.raises(OfTheHostError):
        ask(recording.tracer.wrap(client))
    (call,) = recording.calls()
    assert (call.head.error, call.detail.metadata) == (None, {"stream": "abandoned"})


def test_a_session_and_each_call_name_who_was_asked(provider: Any, recording: Any) -> None:
    with (
        client_of(provider) as first,
        anthropic.Anthropic(api_key="none", base_url=provider.url) as second,
    ):
        recording.tracer.wrap(first).chat.completions.create(**ASK)
        recording.tracer.wrap(second).messages.create(**{**ASK, "model": "m2", "max_tokens": 9})
    assert [call.head.provider for call in recording.calls()] == ["openai-compatible", "anthropic"]
    reader = read(recording.path)
    (session,) = reader.sessions()
    reader.close()
    assert (session.provider, session.models) == ("openai-compatible", ("gpt-4o", "m2"))
