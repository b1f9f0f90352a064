"""Undoing the content-encoding of a body that was copied below the HTTP library."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from ctxdiff_capture.wire.flight import MOST_ANSWER_BYTES

_MOST_ENCODINGS = 4
"""One upon the other; nobody needs two."""
_BROTLI_STEP = 64
"""Bytes given to brotli at a time: it can be bounded only in what it gets, not in what it gives."""


def decoded_body(
    raw: bytes, content_encoding: str, most: int = MOST_ANSWER_BYTES + 1
) -> tuple[bytes, str | None]:
    """The body before it was encoded, as far as it came.

    Args:
        raw: the body as it was sent; may be cut off.
        content_encoding: the header's value, encodings in the order in which they were applied.
        most: bytes of the body that are given; a few kilobytes may spell gigabytes.

    Returns:
        The body, and None; or the bytes as they are, and the encoding that could not be undone.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    applied = [name for name in names if name not in ("", "identity")]
    if len(applied) > _MOST_ENCODINGS:
        return raw, content_encoding
    body = raw
    for name in reversed(applied):
        undo = _UNDO.get(name)
        try:
            if undo is None:
                return raw, content_encoding
            body = undo(body, most)
        except Exception:  # noqa: BLE001 - four libraries, each with an error class of its own
            return raw, content_encoding
    return body, None


def joined_pieces(raw: bytes) -> bytes:
    """The body of an answer with `transfer-encoding: chunked`, as far as it came."""
    body, at = bytearray(), 0
    while (end := raw.find(b"\r\n", at)) >= 0:
        try:
            size = int(raw[at:end].partition(b";")[0], 16)
        except ValueError:
            break
        if size <= 0:
            break
        body += raw[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
    return bytes(body)


def _gzip(body: bytes, most: int) -> bytes:
    # 32: a gzip or zlib header, whichever is there; a cut-off body gives what it holds.
    return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, most)


def _deflate(body: bytes, most: int) -> bytes:
    try:
        return _gzip(body, most)
    except zlib.error:  # some servers send deflate without its header
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, most)


# The modules below are there when the host's HTTP library may have asked for their encoding.


def _brotli(body: bytes, most: int) -> bytes:
    decompressor = _first_of("brotli", "brotlicffi").Decompressor()
    # The two packages of that name call it differently.
    undo = getattr(decompressor, "decompress", None) or decompressor.process
    plain = bytearray()
    for at in range(0, len(body), _BROTLI_STEP):
        plain += undo(body[at : at + _BROTLI_STEP])
        if len(plain) >= most:
            break
    return bytes(plain[:most])


def _zstd(body: bytes, most: int) -> bytes:
    module = _first_of("compression.zstd", "backports.zstd", "zstandard")
    decompressor = module.ZstdDecompressor()
    if not hasattr(decompressor, "stream_reader"):
        plain: bytes = decompressor.decompress(body, most)
        return plain
    # zstandard bounds only what is read.
    reader = decompressor.stream_reader(body)
    parts = bytearray()
    while len(parts) < most and (part := reader.read(min(2**20, most - len(parts)))):
        parts += part
    return bytes(parts)


def _first_of(*names: str) -> Any:
    for name in names:
        with suppress(ImportError):
            return import_module(name)
    raise ImportError(names[0])


_UNDO: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
