"""Frames of AWS event streams, whole, torn and damaged."""

import json
import struct
from base64 import b64encode
from zlib import crc32

import pytest
from ctxdiff_capture.decoders.eventstream import Frame, frames, stream_events
from hypothesis import given
from hypothesis import strategies as st


def header(name, value):
    kind, body = value if isinstance(value, tuple) else (7, value.encode())
    size = struct.pack(">H", len(body)) if kind in (6, 7) else b""
    return bytes([len(name.encode())]) + name.encode() + bytes([kind]) + size + body


def frame(headers, payload):
    head = b"".join(header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", len(head) + len(payload) + 16, len(head))
    start = prelude + struct.pack(">I", crc32(prelude)) + head + payload
    return start + struct.pack(">I", crc32(start))


NAMES = st.text(min_size=1, max_size=20)
FRAMES = st.lists(
    st.builds(Frame, st.dictionaries(NAMES, st.text(max_size=40), max_size=3), st.binary()),
    max_size=5,
)


@given(FRAMES)
def test_what_was_framed_is_read_back(listed):
    assert list(frames(b"".join(frame(f.headers, f.payload) for f in listed))) == listed


@given(FRAMES, st.integers(0, 400))
def test_of_a_torn_stream_the_whole_frames_are_read(listed, cut):
    parts = [frame(f.headers, f.payload) for f in listed]
    stream = b"".join(parts)[:cut]
    whole = [n for n in range(len(parts) + 1) if len(b"".join(parts[:n])) <= len(stream)][-1]
    assert list(frames(stream)) == listed[:whole]


@given(FRAMES.filter(len), st.data())
def test_nothing_is_read_from_where_a_byte_was_changed(listed, data):
    parts = [frame(f.headers, f.payload) for f in listed]
    stream = bytearray(b"".join(parts))
    at = data.draw(st.integers(0, len(stream) - 1))
    stream[at] ^= data.draw(st.integers(1, 255))
    damaged = next(n for n in range(len(parts)) if at < len(b"".join(parts[: n + 1])))
    assert list(frames(bytes(stream))) == listed[:damaged]


@given(st.binary(max_size=200))
def test_no_bytes_raise(data):
    assert list(frames(data)) == [] or len(data) >= 16
    prelude = struct.pack(">II", len(data) + 16, len(data))
    framed = prelude + struct.pack(">I", crc32(prelude)) + data
    assert len(list(frames(framed + struct.pack(">I", crc32(framed))))) <= 1


def test_headers_of_other_types_are_passed_over():
    others = {"a": (0, b""), "b": (2, b"\1"), "c": (3, b"\0\1"), "d": (4, b"\0\0\0\1")}
    more = {"e": (5, b"8 bytes!"), "f": (6, b"xyz"), "g": (8, b"8 bytes!"), "h": (9, b"u" * 16)}
    data = frame({**others, ":event-type": "x", **more}, b"{}")
    assert list(frames(data)) == [Frame({":event-type": "x"}, b"{}")]


CHUNK = json.dumps({"bytes": b64encode(b'{"generation": "Hi"}').decode(), "p": "ab"}).encode()


@pytest.mark.parametrize(
    ("headers", "payload", "event"),
    [
        ({":message-type": "event", ":event-type": "messageStop"}, b'{"stopReason": "x"}',
         {"messageStop": {"stopReason": "x"}}),
        ({":message-type": "event", ":event-type": "chunk"}, CHUNK, {"generation": "Hi"}),
        ({":message-type": "event", ":event-type": "chunk"}, b"[]", {}),
        ({":message-type": "event", ":event-type": "chunk"}, b'{"bytes": "%"}', {}),
        ({":message-type": "exception", ":exception-type": "throttlingException"},
         b'{"message": "slow"}',
         {"exception": {"type": "ThrottlingException", "message": "slow"}}),
        ({":message-type": "error", ":error-code": "InternalFailure", ":error-message": "boom"},
         b"", {"exception": {"type": "InternalFailure", "message": "boom"}}),
    ],
)  # fmt: skip
def test_a_frame_is_the_event_that_the_sdk_gives(headers, payload, event):
    assert list(stream_events(frame(headers, payload))) == [event]
