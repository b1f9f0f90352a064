"""Raw answers: however a program reads them, they are what they are without us; and bounded."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import urllib.request
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from ctxdiff_capture.wire import flight

requests = pytest.importorskip("requests")
urllib3 = pytest.importorskip("urllib3", minversion="2")

STREAM = {
    "model": "gpt-4o",
    "messages": [{"role": "user", "content": "Capital of France?"}],
    "stream": True,
    "stream_options": {"include_usage": True},
}
PATH = "/v1/chat/completions"
TEXT = '{"answer": "Paris"}'


def ask(url: str) -> Any:
    return requests.post(url + PATH, json=STREAM, stream=True)


def within(raw: Any) -> Any:
    with raw as itself:
        return itself.read(), raw.closed


READINGS: dict[str, Callable[[Any], Any]] = {
    "read": lambda raw: raw.read(),
    "read(n)": lambda raw: list(iter(lambda: raw.read(17), b"")),
    "read1": lambda raw: b"".join(iter(raw.read1, b"")),
    "readline": lambda raw: list(iter(raw.readline, b"")),
    "readlines": lambda raw: raw.readlines(),
    "iteration": list,
    "with": within,
    "stream": lambda raw: list(raw.stream(9)),
    "read_chunked": lambda raw: list(raw.read_chunked()),
    "data": lambda raw: raw.data,
    "TextIOWrapper": lambda raw: list(io.TextIOWrapper(raw)),
}


@pytest.mark.parametrize("reading", READINGS)
def test_a_raw_answer_read_in_any_way_is_the_hosts_and_is_recorded_whole(
    provider: Any, recording: Any, reading: str
) -> None:
    with ask(provider.url) as untapped:
        expected = READINGS[reading](untapped.raw)
    recording.tracer.record_process()
    with ask(provider.url) as response:
        found = READINGS[reading](response.raw)

    (call,) = recording.calls()
    assert (found, type(response.raw)) == (expected, type(untapped.raw))
    assert (call.head.finish_reason, call.head.error, call.detail.metadata) == ("stop", None, {})
    assert [place.block.text for place in call.outputs] == [TEXT]


def test_a_stream_that_breaks_keeps_what_came(provider: Any, recording: Any, reply: Any) -> None:
    events = provider.reply_to(PATH, b'{"stream": true}').events
    provider.replies.append(reply(events=events[:2], cut=True))
    recording.tracer.record_process()
    with pytest.raises(requests.exceptions.ChunkedEncodingError), ask(provider.url) as response:
        list(response.iter_lines())

    (call,) = recording.calls()
    assert call.head.error == "ProtocolError"
    assert [place.block.text for place in call.outputs] == ['{"answer"']


def test_an_answer_that_an_adapter_made_up_is_read_as_without_us(recording: Any) -> None:
    class Adapter(requests.adapters.BaseAdapter):  # type: ignore[misc, name-defined]
        def send(self, request: Any, **_: Any) -> Any:
            response = requests.Response()
            response.status_code, response.url, response.request = 200, request.url, request
            response.raw = io.BytesIO(b'data: {"id": "1"}\n\ndata: [DONE]\n\n')
            return response

        def close(self) -> None:
            """Nothing is open."""

    def read() -> Any:
        with requests.Session() as session:
            session.mount("made://", Adapter())
            raw = session.post("made://up" + PATH, json=STREAM, stream=True).raw
            with raw as itself:
                return list(itself), itself.closed

    expected = read()
    recording.tracer.record_process()
    assert read() == expected
    assert len(recording.calls()) == 1


def by_requests(url: str, gate: threading.Event) -> bytes:
    with ask(url) as response:
        chunks = response.raw.stream(4096)
        whole: bytes = next(chunks)
        gate.set()
        return whole + b"".join(chunks)


def by_httpx(url: str, gate: threading.Event) -> bytes:
    with httpx2.Client() as client, client.stream("POST", url + PATH, json=STREAM) as response:
        chunks = response.iter_bytes()
        whole = next(chunks)
        gate.set()
        return whole + b"".join(chunks)


def by_urllib(url: str, gate: threading.Event) -> bytes:
    request = urllib.request.Request(url + PATH, json.dumps(STREAM).encode())
    with urllib.request.urlopen(request) as response:
        whole: bytes = response.readline()
        gate.set()
        return whole + b"".join(response)


def by_aiohttp(url: str, gate: threading.Event) -> bytes:
    aiohttp = pytest.importorskip("aiohttp")

    async def read() -> bytes:
        async with (
            aiohttp.ClientSession() as session,
            session.post(url + PATH, json=STREAM) as response,
        ):
            whole: bytes = await response.content.readany()
            gate.set()
            return whole + await response.content.read()

    return asyncio.run(read())


@pytest.mark.parametrize("way", [by_requests, by_httpx, by_urllib, by_aiohttp])
def test_of_an_answer_without_end_a_bounded_part_is_kept(
    provider: Any, recording: Any, reply: Any, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    monkeypatch.setattr(flight, "MOST_ANSWER_BYTES", 1)
    events = provider.reply_to(PATH, b'{"stream": true}').events
    gate = threading.Event()
    provider.replies.append(reply(events=events, gate=gate))
    recording.tracer.record_process()

    assert way(provider.url, gate) == b"".join(events)
    (call,) = recording.calls()
    assert (call.head.error, call.head.finish_reason) == (None, None)
    assert call.detail.metadata == {"answer": "only its first 64 MB were kept"}
