"""A provider on loopback that speaks the real wire shapes and keeps the bytes it received."""

from __future__ import annotations

import gzip
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture import Tracer, read, trace
from ctxdiff_capture.model import CallDetail, CallHead, Placement

ANSWER = {"answer": "Paris"}
TEXT = json.dumps(ANSWER)

CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-2024-08-06",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": TEXT, "refusal": None},
        }
    ],
    "usage": {"prompt_tokens": 21, "completion_tokens": 5, "total_tokens": 26},
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-of-tests",
    "content": [{"type": "text", "text": TEXT}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 12, "output_tokens": 6, "cache_read_input_tokens": 900},
}


def chat_chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4o-2024-08-06",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def chat_events() -> tuple[bytes, ...]:
    half = len(TEXT) // 2
    usage = {**chat_chunk({}), "choices": [], "usage": CHAT["usage"]}
    chunks = [
        chat_chunk({"role": "assistant", "content": ""}),
        chat_chunk({"content": TEXT[:half]}),
        chat_chunk({"content": TEXT[half:]}),
        chat_chunk({}, "stop"),
        usage,
    ]
    lines = [json.dumps(chunk).encode() for chunk in chunks]
    return tuple(b"data: " + line + b"\n\n" for line in [*lines, b"[DONE]"])


def message_events() -> tuple[bytes, ...]:
    half = len(TEXT) // 2
    start = {**MESSAGE, "content": [], "stop_reason": None}
    start["usage"] = {"input_tokens": 12, "output_tokens": 1, "cache_read_input_tokens": 900}
    block = {"type": "text", "text": ""}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": part},
            }
            for part in (TEXT[:half], TEXT[half:])
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 6},
        },
        {"type": "message_stop"},
    ]
    return tuple(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )


@dataclass(frozen=True)
class Reply:
    """What the provider answers to one request."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    events: tuple[bytes, ...] | None = None
    compress: bool = False
    cut: bool = False
    """The connection breaks after the body or the events."""
    gate: threading.Event | None = None
    """Waited for before the body, or before the second event."""


def failure(status: int, message: str = "try later", **headers: str) -> Reply:
    error = {"type": "error", "error": {"type": "some_error", "message": message}}
    return Reply(json.dumps(error).encode(), status, headers={"retry-after-ms": "1", **headers})


class Provider:
    """Answers like OpenAI or Anthropic, by path; `replies` come first."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.replies: deque[Reply] = deque()
        self.compress = False
        self.arrived = threading.Semaphore(0)
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                provider.bodies.append(body)
                provider.paths.append(self.path)
                provider.arrived.release()
                _send(self, provider.reply_to(self.path, body))

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """A client that goes away early is what some tests are about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def reply_to(self, path: str, body: bytes) -> Reply:
        if self.replies:
            return self.replies.popleft()
        is_chat = path.partition("?")[0].endswith("/chat/completions")
        if json.loads(body).get("stream"):
            events = chat_events() if is_chat else message_events()
            return Reply(events=events, compress=self.compress)
        return Reply(json.dumps(CHAT if is_chat else MESSAGE).encode(), compress=self.compress)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _send(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    events = reply.events
    if reply.compress:
        whole = gzip.compress(reply.body if events is None else b"".join(events))
        third = len(whole) // 3 or 1
        pieces = tuple(whole[i : i + third] for i in range(0, len(whole), third))
        reply = replace(reply, body=whole, events=None if events is None else pieces)
    handler.send_response(reply.status)
    handler.send_header("x-request-id", "req_1")
    handler.send_header("request-id", "req_1")
    if reply.compress:
        handler.send_header("content-encoding", "gzip")
    for name, value in reply.headers.items():
        handler.send_header(name.replace("_", "-"), value)
    if reply.events is None:
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(reply.body) + (9 if reply.cut else 0)))
        handler.end_headers()
        if reply.gate:
            reply.gate.wait(20)
        handler.wfile.write(reply.body)
    else:
        handler.send_header("content-type", "text/event-stream; charset=utf-8")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for number, event in enumerate(reply.events):
            if number == 1 and reply.gate:
                reply.gate.wait(20)
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            handler.wfile.flush()
        if not reply.cut:
            handler.wfile.write(b"0\r\n\r\n")
    handler.wfile.flush()
    if reply.cut:
        handler.close_connection = True


@dataclass(frozen=True)
class Seen:
    """One stored call with everything that belongs to it."""

    head: CallHead
    detail: CallDetail
    inputs: tuple[Placement, ...]
    outputs: tuple[Placement, ...]
    request: bytes | None


class Recording:
    """A tracer on a file of its own; `calls()` closes it and reads the file."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.tracer: Tracer = trace.init("test", path=path, **options)

    def calls(self) -> list[Seen]:
        self.tracer.close()
        reader = read(self.path)
        try:
            return [
                Seen(
                    call,
                    reader.detail(call.id),
                    reader.inputs(call.id),
                    reader.outputs(call.id),
                    reader.request(call.id),
                )
                for session in reader.sessions()
                for call in reader.load(session.id).calls
            ]
        finally:
            reader.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    provider = Provider()
    yield provider
    provider.close()


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    recording = Recording(tmp_path / "run.ctrace")
    yield recording
    recording.tracer.close()


@pytest.fixture
def new_recording(tmp_path: Path) -> Iterator[Callable[..., Recording]]:
    """Makes recordings with options of `trace.init`."""
    with ExitStack() as stack:

        def make(name: str = "other", **options: Any) -> Recording:
            made = Recording(tmp_path / f"{name}.ctrace", **options)
            stack.callback(made.tracer.close)
            return made

        yield make


@pytest.fixture
def fail() -> Callable[..., Reply]:
    return failure


@pytest.fixture
def reply() -> type[Reply]:
    return Reply
