"""A provider on loopback that speaks the real wire shapes and keeps the bytes it received."""

from __future__ import annotations

import gzip
import json
import struct
import threading
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from ctxdiff_capture import Tracer, read, trace
from ctxdiff_capture.model import CallDetail, CallHead, Placement

ANSWER = {"answer": "Paris"}
TEXT = json.dumps(ANSWER)

DATA = Path(__file__).parent / "data"
# What each provider answers, whole; `TEXT` is the words of every answer.
WHOLE: dict[str, dict[str, Any]] = json.loads((DATA / "answers.json").read_text())
CHAT, MESSAGE, RESPONSE = WHOLE["chat"], WHOLE["message"], WHOLE["response"]
GEMINI, CONVERSE = WHOLE["gemini"], WHOLE["converse"]
AWS_STREAM = {"content-type": "application/vnd.amazon.eventstream"}


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


def response_events() -> tuple[bytes, ...]:
    events: list[dict[str, Any]] = [
        {
            "type": "response.created",
            "response": {**RESPONSE, "status": "in_progress", "output": []},
        },
        {"type": "response.output_item.done", "output_index": 0, "item": RESPONSE["output"][0]},
        {"type": "response.completed", "response": RESPONSE},
    ]
    return tuple(
        f"event: {e['type']}\ndata: {json.dumps({**e, 'sequence_number': n})}\n\n".encode()
        for n, e in enumerate(events)
    )


def gemini_events() -> tuple[bytes, ...]:
    def part(text: str, **more: Any) -> dict[str, Any]:
        content = {"role": "model", "parts": [{"text": text}]}
        return {**GEMINI, "candidates": [{"content": content, "index": 0, **more}]}

    half = len(TEXT) // 2
    chunks = (part(TEXT[:half]), part(TEXT[half:], finishReason="STOP"))
    return tuple(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks)


def aws_frame(kind: str, payload: dict[str, Any]) -> bytes:
    """An event of Amazon's binary streams."""
    names = (
        (":event-type", kind),
        (":message-type", "event"),
        (":content-type", "application/json"),
    )
    head = b"".join(
        bytes([len(n)]) + n.encode() + b"\7" + struct.pack(">H", len(v)) + v.encode()
        for n, v in names
    )
    body = json.dumps(payload).encode()
    start = struct.pack(">II", 16 + len(head) + len(body), len(head))
    message = start + struct.pack(">I", crc32(start)) + head + body
    return message + struct.pack(">I", crc32(message))


def converse_events() -> tuple[bytes, ...]:
    half = len(TEXT) // 2
    return (
        aws_frame("messageStart", {"role": "assistant"}),
        *(
            aws_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": part}})
            for part in (TEXT[:half], TEXT[half:])
        ),
        aws_frame("contentBlockStop", {"contentBlockIndex": 0}),
        aws_frame("messageStop", {"stopReason": "end_turn"}),
        aws_frame("metadata", {"usage": CONVERSE["usage"], "metrics": CONVERSE["metrics"]}),
    )


def invoke_events() -> tuple[bytes, ...]:
    events = (event.partition(b"data: ")[2].strip() for event in message_events())
    return tuple(aws_frame("chunk", {"bytes": b64encode(event).decode()}) for event in events)


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


ANSWERS: dict[str, tuple[dict[str, Any] | None, tuple[bytes, ...] | None, dict[str, str]]] = {
    "/chat/completions": (CHAT, chat_events(), {}),
    "/responses": (RESPONSE, response_events(), {}),
    "/messages": (MESSAGE, message_events(), {}),
    ":rawPredict": (MESSAGE, None, {}),
    ":streamRawPredict": (None, message_events(), {}),
    ":generateContent": (GEMINI, None, {}),
    ":streamGenerateContent": (None, gemini_events(), {}),
    "/converse": (CONVERSE, None, {}),
    "/converse-stream": (None, converse_events(), AWS_STREAM),
    "/invoke": (MESSAGE, None, {}),
    "/invoke-with-response-stream": (None, invoke_events(), AWS_STREAM),
}
"""By the end of the path: the whole answer, its events, headers of the events."""


class Provider:
    """Answers like the provider of the path; `replies` come first."""

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
                body = self.rfile.read(int(self.headers["content-length"] or 0))
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
        path = path.partition("?")[0]
        whole, events, headers = next(
            (answer for end, answer in ANSWERS.items() if path.endswith(end)), ANSWERS["/messages"]
        )
        if whole is None or (events and json.loads(body).get("stream")):
            return Reply(events=events, headers=headers, compress=self.compress)
        return Reply(json.dumps(whole).encode(), compress=self.compress)

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
    kind = reply.headers.get("content-type")
    if reply.events is None:
        if kind is None:
            handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(reply.body) + (9 if reply.cut else 0)))
        handler.end_headers()
        if reply.gate:
            reply.gate.wait(20)
        handler.wfile.write(reply.body)
    else:
        if kind is None:
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

    def session_provider(self) -> str:
        """The label of the session that `calls()` has closed."""
        reader = read(self.path)
        try:
            (session,) = reader.sessions()
        finally:
            reader.close()
        return session.provider


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
