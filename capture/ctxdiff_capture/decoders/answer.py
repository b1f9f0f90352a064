"""What came back: the answer's JSON and how the call failed, the same for every surface."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ctxdiff_capture.decoders.sse import json_events
from ctxdiff_capture.model import CallError, Exchange, Json

LONGEST_MESSAGE = 2_000
"""Characters kept of an error's text."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response in its folded, non-streamed form."""

    body: Mapping[str, Json] = field(default_factory=dict)
    """Empty when none came or it is no JSON object."""
    error: CallError | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """A surface's way of reading answers."""

    events: Callable[[list[dict[str, Json]]], tuple[dict[str, Json], CallError | None]]
    """Folds a stream's events into the non-streamed form, and the error that one of them told."""
    error_type: Callable[[int], str]
    """The class that the provider's SDK raises for an HTTP status from 400 up."""
    cut: Callable[[bytes], Iterable[dict[str, Json]]] = json_events
    """Cuts a stream into its events."""
    starts: tuple[bytes, ...] = (b"data:", b"event:")
    """What a stream begins with, whatever its content type says."""


def read_answer(exchange: Exchange, fold: Fold) -> Answer:
    """The answer of `exchange`, of a broken stream what had come.

    An error that the exchange brings along names the type; what the body says of it is added.
    """
    data = exchange.response or b""
    body, told = _body(data, fold, is_stream=exchange.is_event_stream)
    if exchange.status is not None and exchange.status >= 400:
        message = error_message(body) or (told.message if told else None) or _start_of(data)
        told = CallError(fold.error_type(exchange.status), message, exchange.status)
        body = {}
    brought = exchange.error
    if brought is None:
        return Answer(body, told or (None if body else _unreadable(exchange)))
    message = told.message if told and brought.message is None else brought.message
    status = exchange.status if brought.status is None else brought.status
    return Answer(body, replace(brought, message=message, status=status))


def _unreadable(exchange: Exchange) -> CallError | None:
    """The error of an answer that came whole and is no JSON: a gateway's page, as a rule."""
    start = _start_of(exchange.response or b"")
    # An encoding that we cannot undo says nothing of the answer, nor does a stream that was let go.
    partial = exchange.is_event_stream or {"content_encoding", "stream"} & exchange.metadata.keys()
    if start is None or partial:
        return None
    try:
        json.loads(exchange.response or b"", strict=False)
    except (ValueError, RecursionError):
        return CallError("UnreadableAnswer", f"the answer is no JSON: {start}", exchange.status)
    return None


def error_message(body: Json) -> str | None:
    """The text of an error body: `error.message`, else `message`, else `error` itself."""
    if not isinstance(body, Mapping):
        return None
    error = body.get("error")
    inner = error.get("message") if isinstance(error, Mapping) else error
    found = (text for text in (inner, body.get("message"), body.get("detail")) if text)
    return next((text[:LONGEST_MESSAGE] for text in found if isinstance(text, str)), None)


def _body(data: bytes, fold: Fold, *, is_stream: bool) -> tuple[dict[str, Json], CallError | None]:
    # A refused stream is answered with plain JSON, so the bytes decide before the label does.
    if not is_stream or data.lstrip()[:1] == b"{":
        value = _json(data)
        if value or not data.startswith(fold.starts):
            return value, None
    return fold.events(list(fold.cut(data)))


def _json(data: bytes) -> dict[str, Json]:
    try:
        # Raw line ends in a text are no JSON, and yet what the host was sent.
        value = json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _start_of(data: bytes) -> str | None:
    return data[: LONGEST_MESSAGE * 4].decode("utf-8", "replace")[:LONGEST_MESSAGE].strip() or None
