"""A few kilobytes that spell gigabytes cost no more memory than an answer may have."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from functools import reduce
from importlib import import_module

import pytest
from ctxdiff_capture.wire import exchange
from ctxdiff_capture.wire.encoding import decoded_body
from ctxdiff_capture.wire.flight import Flight, Invocation

from tests.trust.fuzz.budget import tally


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "raw deflate": raw_deflate,
    "br": lambda data: import_module("brotli").compress(data, quality=5),
    "zstd": lambda data: import_module("zstandard").compress(data),
}


@pytest.mark.parametrize("name", PACKERS)
def test_of_a_body_that_unpacks_without_end_a_bounded_part_is_kept(name: str) -> None:
    if name in ("br", "zstd"):
        pytest.importorskip({"br": "brotli", "zstd": "zstandard"}[name])
    body = b"words of an answer " * 200_000
    packed = PACKERS[name](body)
    encoding = name.removeprefix("raw ")
    with tally("compressed bombs") as tried:
        for most in (1, 1_000, 1_000_001):
            tried.one()
            assert decoded_body(packed, encoding, most) == (body[:most], None)
        assert decoded_body(packed, encoding) == (body, None)


def test_bombs_within_bombs_are_left_as_they_are() -> None:
    with tally("compressed bombs") as tried:
        tried.one()
        layers = 9
        packed = reduce(lambda inner, _: gzip.compress(inner, mtime=0), range(layers), b"x" * 10**6)
        encodings = ", ".join(["gzip"] * layers)
        assert decoded_body(packed, encodings) == (packed, encodings)


def test_an_answer_that_was_cut_when_it_was_unpacked_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange, "MOST_ANSWER_BYTES", 2**20)
    flight = Flight("openai.chat", "openai", b"{}", "http://x/v1/chat/completions", {}, 0, 0)
    flight.invocation = Invocation(1)
    flight.status, flight.response_headers = 200, {"content-encoding": "gzip"}
    flight.chunks = [gzip.compress(b"x" * (3 * 2**20))]
    made = exchange.exchange_of(flight)
    assert made.response == b"x" * 2**20
    assert made.metadata == {"answer": "only its first 1 MB were kept"}
