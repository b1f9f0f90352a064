"""Exchanges as the tap would hand them over."""

import json

import pytest
from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.model import Exchange
from ctxdiff_capture.tokens.counter import TokenCounter

STARTED = "2026-11-30T11:39:03.079952+00:00"


def _bytes(value):
    return value if isinstance(value, bytes | None) else json.dumps(value).encode()


@pytest.fixture(scope="session")
def counter():
    return TokenCounter()


@pytest.fixture(scope="session")
def decoded(counter):
    """Decodes a request and a response, each given as a value or as bytes."""

    def call(request, response=None, *, surface="openai.chat", **known):
        known.setdefault("provider", surface.partition(".")[0])
        known.setdefault("started_at", STARTED)
        exchange = Exchange(surface, _bytes(request), response=_bytes(response), **known)
        return decode(exchange, seq=1, call_id="c" * 32, count=counter)

    return call
