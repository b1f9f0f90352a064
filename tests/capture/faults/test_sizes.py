"""Very many calls, very large ones, and texts that are no proper text."""

from __future__ import annotations

import base64
import json
import logging
import struct
import threading
import zlib
from pathlib import Path
from typing import Any

import httpx2
import pytest
from ctxdiff_capture import read, trace
from ctxdiff_capture.model import CallHead
from ctxdiff_capture.recorder.inbox import MAX_BYTES

OK = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
    ],
}
URL = "https://api.openai.com/v1/chat/completions"
JSON = {"content-type": "application/json"}


class Provider:
    """Answers at once and keeps the bytes that it got last."""

    def __init__(self) -> None:
        self.got = b""
        self.answer = json.dumps(OK).encode()
        self.client = httpx2.Client(transport=httpx2.MockTransport(self.reply))

    def reply(self, request: httpx2.Request) -> httpx2.Response:
        self.got = request.content
        return httpx2.Response(200, content=self.answer, headers=JSON)

    def ask(self, body: bytes) -> bytes:
        return self.client.post(URL, content=body, headers=JSON).content


@pytest.fixture
def provider() -> Any:
    made = Provider()
    yield made
    made.client.close()


def recorded(provider: Provider, path: Path, *bodies: bytes) -> list[CallHead]:
    """Ask each of `bodies`, which must arrive as they are; the calls of the trace."""
    with trace.auto("sizes", path=path) as tracer:
        for body in bodies:
            assert provider.ask(body) == provider.answer
            assert provider.got == body
        # Closing gives up after 30 s, which a machine that is busy with other things may need.
        assert any(tracer.flush() for _ in range(10))
    reader = read(path)
    calls = list(reader.load(reader.sessions()[0].id).calls)
    requests = [reader.request(call.id) for call in calls]
    reader.close()
    assert requests == list(bodies)
    return calls


def body_of(*content: Any, **more: Any) -> bytes:
    messages = [{"role": "user", "content": part} for part in content]
    return json.dumps({"model": "gpt-4o", "messages": messages, **more}).encode()


@pytest.mark.fault("burst")
def test_of_a_burst_each_call_is_stored_or_counted(
    provider: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """50,000 calls as fast as eight threads can submit them, and a queue bounded by bytes."""
    threads, each = 8, 6250
    seen = Exchanges()
    with trace.init("burst", path=tmp_path / "t.ctrace") as tracer:

        def many(thread: int) -> None:
            for number in range(each):
                tracer.submit(seen.numbered(thread * each + number))

        workers = [threading.Thread(target=many, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    reader = read(tmp_path / "t.ctrace")
    session = reader.sessions()[0].id
    kept = reader.load(session).calls
    lost = reader.losses(session)
    reader.close()
    assert len(kept) + sum(lost.values()) == threads * each
    assert len(kept) > MAX_BYTES // 8192
    said = [record.getMessage() for record in caplog.records if record.name == "ctxdiff"]
    assert len(said) == (2 if lost else 0)


class Exchanges:
    """Exchanges that differ in one number."""

    def numbered(self, number: int) -> Any:
        from ctxdiff_capture.model import Exchange

        return Exchange(
            surface="openai.chat",
            provider="openai",
            request=body_of(f"question {number % 100}"),
            response=json.dumps(OK).encode(),
            status=200,
            started_at="2026-11-30T10:00:00.000000+00:00",
        )


@pytest.mark.fault("64 MB prompt")
def test_a_prompt_of_64_megabytes_is_kept_byte_for_byte(provider: Provider, tmp_path: Path) -> None:
    text = "".join(f"line {i:07} of a log\n" for i in range(64 * 2**20 // 22))

    (call,) = recorded(provider, tmp_path / "t.ctrace", body_of(text))

    assert (call.error, call.finish_reason) == (None, "stop")


def picture(number: int) -> str:
    """A PNG of 64 by 64 points as a data URL."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = bytes([0, *(number % 256,) * 64]) * 64
    head = struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
    png += chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(png).decode()


@pytest.mark.fault("200 images")
def test_two_hundred_images_in_one_call_are_blocks_of_their_own(
    provider: Provider, tmp_path: Path
) -> None:
    parts = [{"type": "image_url", "image_url": {"url": picture(i)}} for i in range(200)]
    path = tmp_path / "t.ctrace"

    (call,) = recorded(provider, path, body_of([{"type": "text", "text": "which?"}, *parts]))

    reader = read(path)
    kinds = [placement.block.kind for placement in reader.inputs(call.id)][1:]
    reader.close()
    assert kinds == ["image"] * 200


@pytest.mark.fault("10,000 tools")
def test_ten_thousand_tools_in_one_call_are_blocks_of_their_own(
    provider: Provider, tmp_path: Path
) -> None:
    tools = [
        {"type": "function", "function": {"name": f"tool_{i}", "parameters": {"type": "object"}}}
        for i in range(10_000)
    ]
    path = tmp_path / "t.ctrace"

    (call,) = recorded(provider, path, body_of("use one", tools=tools))

    reader = read(path)
    texts = {p.block.text for p in reader.inputs(call.id) if '"tool_' in p.block.text}
    count = len(reader.inputs(call.id))
    reader.close()
    assert (count, len(texts)) == (10_001, 10_000)


ODD = {
    "lone surrogates": r'{"model":"gpt-4o","messages":[{"role":"user","content":"a\ud83d b \udc00"}]}',
    "NUL": r'{"model":"gpt-4o","messages":[{"role":"user","content":"a\u0000b"}]}',
    "NaN": '{"model":"gpt-4o","temperature":NaN,"top_p":-Infinity,'
    '"messages":[{"role":"user","content":"n"}]}',
}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(ODD["lone surrogates"], marks=pytest.mark.fault("lone surrogates")),
        pytest.param(ODD["NUL"], marks=pytest.mark.fault("NUL")),
        pytest.param(ODD["NaN"], marks=pytest.mark.fault("NaN")),
    ],
    ids=ODD,
)
def test_odd_text_arrives_and_is_kept_as_it_was_sent(
    provider: Provider, tmp_path: Path, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    (call,) = recorded(provider, tmp_path / "t.ctrace", body.encode())

    assert (call.error, call.finish_reason) == (None, "stop")
    assert not [r for r in caplog.records if r.name == "ctxdiff" and r.levelno >= logging.WARNING]


@pytest.mark.fault("no JSON")
def test_a_request_that_is_no_json_is_kept_as_it_was_sent(
    provider: Provider, tmp_path: Path
) -> None:
    (call,) = recorded(provider, tmp_path / "t.ctrace", b"\xff\xfe no json")

    assert call.finish_reason == "stop"
