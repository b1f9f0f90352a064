"""Server-sent events, from the bytes of a stream that may have broken off.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html, read 2026-08.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ctxdiff_capture.model import Json

_read = json.JSONDecoder(strict=False).decode
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream."""

    name: str
    """`message` when the stream gives no other."""
    data: str


def events(stream: bytes) -> Iterator[Event]:
    """The events of `stream`, in order.

    A last event without its closing blank line is given too when it has data: providers end their
    streams so, and of a stream that broke off we want what had come. Bytes that are no UTF-8
    become U+FFFD.
    """
    name, data = "message", list[str]()
    for line in _LINE_END.split(stream.decode("utf-8-sig", "replace")):
        if not line:
            if data:
                yield Event(name, "\n".join(data))
            name, data = "message", []
            continue
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "data":
            data.append(value)
        elif key == "event":
            name = value or "message"
    if data:
        yield Event(name, "\n".join(data))


def json_events(stream: bytes) -> Iterator[dict[str, Json]]:
    """The events whose data is a JSON object; `[DONE]` and a torn last one are left out."""
    for event in events(stream):
        try:
            value = _read(event.data)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
