"""Frames of `application/vnd.amazon.eventstream`, from bytes that may have broken off.

A frame is its length (4 bytes, big-endian), the length of its headers, a CRC-32 of these eight
bytes, the headers, the payload, and a CRC-32 of all before it. A header is name length (1), name,
type (1), value. Source: the AWS event stream specification of Smithy, read 2026-08, and frames as
botocore 1.44 reads them.
"""

from __future__ import annotations

import json
import struct
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from zlib import crc32

from ctxdiff_capture.model import Json

STARTS = (b"\0",)
"""What a stream of frames begins with: no frame is as long as 16 MB."""
EXCEPTION = "exception"
"""Under what an event tells that the stream failed."""
_read = json.JSONDecoder(strict=False).decode
_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I")
_LONGEST = 2**24
"""Bytes of a frame that is believed."""
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Type of a header to the bytes of its value; the other types say their length."""
_BYTES, _TEXT = 6, 7


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of a stream."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Those whose value is a text: `:event-type`, `:message-type`, `:exception-type`, ..."""
    payload: bytes = b""


def frames(stream: bytes) -> Iterator[Frame]:
    """The whole frames of `stream`, in order, up to the first that is torn or damaged."""
    at = 0
    while at + _PRELUDE.size <= len(stream):
        length, headers_length, checksum = _PRELUDE.unpack_from(stream, at)
        end = at + length
        is_sound = _PRELUDE.size + headers_length + _CHECKSUM.size <= length < _LONGEST
        if not is_sound or end > len(stream) or crc32(stream[at : at + 8]) != checksum:
            return
        body_end = end - _CHECKSUM.size
        if crc32(stream[at:body_end]) != _CHECKSUM.unpack_from(stream, body_end)[0]:
            return
        headers_end = at + _PRELUDE.size + headers_length
        headers = _headers(stream[at + _PRELUDE.size : headers_end])
        if headers is None:
            return
        yield Frame(headers, stream[headers_end:body_end])
        at = end


def stream_events(stream: bytes) -> Iterator[dict[str, Json]]:
    """The frames as `{event type: payload}`, as the AWS SDKs give them.

    A `chunk` of InvokeModel is given as the JSON of the model that it carries, an error as
    `{"exception": {"type": "ThrottlingException", "message": ...}}`.
    """
    for frame in frames(stream):
        headers, payload = frame.headers, _json_object(frame.payload)
        kind = headers.get(":event-type")
        failure = headers.get(":exception-type") or headers.get(":error-code")
        if headers.get(":message-type") in ("exception", "error"):
            name = (failure or "error")[:1].upper() + (failure or "error")[1:]
            message = payload.get("message") or headers.get(":error-message")
            yield {EXCEPTION: {"type": name, "message": message}}
        elif kind == "chunk":
            inner = payload.get("bytes")
            yield _json_object(_from_base64(inner)) if isinstance(inner, str) else {}
        elif kind:
            yield {kind: payload}


def _headers(data: bytes) -> dict[str, str] | None:
    """The headers that are texts; None when the bytes are no headers."""
    found: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name = data[at + 1 : name_end].decode("utf-8", "replace")
            kind, at = data[name_end], name_end + 1
            size = _FIXED.get(kind)
            if size is None:
                if kind not in (_BYTES, _TEXT):
                    return None
                size, at = int.from_bytes(data[at : at + 2], "big"), at + 2
            value, at = data[at : at + size], at + size
            if kind == _TEXT:
                found[name] = value.decode("utf-8", "replace")
    except IndexError:
        return None
    return found if at == len(data) else None


def _json_object(data: bytes) -> dict[str, Json]:
    try:
        value = _read(data.decode())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _from_base64(text: str) -> bytes:
    try:
        return b64decode(text)
    except ValueError:
        return b""
