"""The wire: the one place where messages enter and leave the process, each a line of JSON.

What the SDK leaves open is closed here. It repeats a caller's words in its errors, drops a request
that it cannot read without an answer, and takes ids and lines of any size. An id is the one thing
of the caller's that must come back: it is short, and leaves in ASCII.
"""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Callable, Collection
from typing import Any, BinaryIO, TypeAlias

Json: TypeAlias = Any

MAX_LINE_BYTES = 1_000_000
MAX_ID_BYTES = 128
"""Of an id as it is written in JSON."""
MAX_ID = 2**63

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
UNSUPPORTED_VERSION, CLOSED = -32022, -32000
WORDS: dict[int, str] = {
    PARSE_ERROR: "the line is no JSON, or too long",
    INVALID_REQUEST: "the message is no request of JSON-RPC 2.0",
    METHOD_NOT_FOUND: "no such method; there are tools/list and tools/call",
    INVALID_PARAMS: "the parameters do not fit the method",
    INTERNAL_ERROR: "internal error",
    UNSUPPORTED_VERSION: "this version of the protocol is not supported",
    CLOSED: "the connection is closed",
}
"""What an error says, by its code; of any other code it says that of an internal error."""

_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class Reader(io.TextIOWrapper):
    """Lines from a client. What is no message is answered, and the next line is read.

    Args:
        stream: the client's bytes.
        validate: raises when a text is no message, as the SDK judges.
        answer: takes the answer to a line that is no message.
    """

    def __init__(
        self,
        stream: BinaryIO,
        validate: Callable[[str], object],
        answer: Callable[[str], object],
    ) -> None:
        super().__init__(stream, encoding="utf-8")
        self._stream, self._validate, self._answer = stream, validate, answer

    def readline(self, _: int = -1, /) -> str:  # type: ignore[override]  # as in typeshed
        """The next message; empty at the end of input."""
        while line := self._stream.readline(MAX_LINE_BYTES + 1):
            if len(line) > MAX_LINE_BYTES:
                self._skip(line)
                self._answer(error(None, PARSE_ERROR))
            elif line.strip():
                text = _paired(line)
                refused = refusal(text, self._validate)
                if refused is None:
                    return text
                self._answer(refused)
        return ""

    def _skip(self, line: bytes) -> None:
        """Read on to the end of a line that is too long."""
        while line and not line.endswith(b"\n"):
            line = self._stream.readline(MAX_LINE_BYTES)


class Writer(io.TextIOWrapper):
    """Messages to a client: no error repeats its words, no result is above the cap.

    Args:
        stream: takes bytes.
        most: bytes of a tool's result, its line end included.
        kept: messages of errors that are our own, in fixed words.
        too_large: the text that stands for a result above `most`.
    """

    def __init__(self, stream: BinaryIO, most: int, kept: Collection[str], too_large: str) -> None:
        # The second net under unpaired surrogates: a question mark instead of a dead server.
        super().__init__(stream, encoding="utf-8", errors="replace", newline="\n")
        self._most, self._kept, self._too_large = most, kept, too_large
        self._lock = threading.Lock()

    def write(self, text: str, /) -> int:
        """Send one message; `text` is its JSON and a line end."""
        line = self._outgoing(text)
        with self._lock:  # the reader answers from a thread of its own
            super().write(line)
            super().flush()
        return len(text)

    def _outgoing(self, text: str) -> str:
        message = json.loads(text)
        own_id = message.get("id")
        if "error" in message:
            return error(own_id, message["error"], self._kept)
        result = message.get("result")
        is_answer = isinstance(result, dict) and "content" in result
        if is_answer and len(text.encode("utf-8", "replace")) > self._most:
            result = {"content": [{"type": "text", "text": self._too_large}], "isError": True}
            return _answered(own_id, "result", result)
        if isinstance(own_id, str) and not own_id.isascii():
            return _answered(own_id, "result", result)
        return text


def refusal(text: str, validate: Callable[[str], object]) -> str | None:
    """The answer to a line that is no message; None for one that is, or that none awaits."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return error(None, PARSE_ERROR)
    if not isinstance(message, dict):
        return error(None, INVALID_REQUEST)
    if "method" not in message or "id" not in message:
        return None
    if not _is_id(message["id"]):
        return error(None, INVALID_REQUEST)
    try:
        validate(text)
    except Exception:  # noqa: BLE001  # whatever it is, the client waits for an answer
        return error(message["id"], INVALID_REQUEST)
    return None


def error(own_id: Json, what: int | dict[str, Json], kept: Collection[str] = ()) -> str:
    """An error in fixed words, with its line end.

    Args:
        own_id: of the request; None when it cannot be told.
        what: a code, or the error as the SDK makes it.
        kept: messages that may stand.
    """
    made: dict[str, Json] = {"code": what, "message": ""} if isinstance(what, int) else what
    code = made["code"] if made["code"] in WORDS else INTERNAL_ERROR
    message = made["message"] if made["message"] in kept else WORDS[code]
    body: dict[str, Json] = {"code": code, "message": message}
    data = made.get("data")
    if code == UNSUPPORTED_VERSION and isinstance(data, dict):
        body["data"] = _versions(data)
    return _answered(own_id, "error", body)


def _answered(own_id: Json, key: str, value: Json) -> str:
    spelled = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f'{{"jsonrpc":"2.0","id":{json.dumps(own_id)},"{key}":{spelled}}}\n'


def _paired(line: bytes) -> str:
    """The line as text. Half a surrogate pair, which the SDK refuses, becomes a question mark."""
    text = line.decode("utf-8", "replace")
    if "\\ud" not in text and "\\uD" not in text:
        return text
    try:
        again = json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
    return again.encode("utf-8", "replace").decode("utf-8")


def _versions(data: dict[str, Json]) -> dict[str, Json]:
    """What a client needs to choose another version; the one that it asked for is its own word."""
    asked = data.get("requested")
    is_date = isinstance(asked, str) and _VERSION.fullmatch(asked)
    return {"supported": data.get("supported", []), "requested": asked if is_date else "unknown"}


def _is_id(value: Json) -> bool:
    if isinstance(value, str):
        return len(json.dumps(value)) <= MAX_ID_BYTES
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_ID
