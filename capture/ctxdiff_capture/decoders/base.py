"""What a decoder of one provider surface is."""

from __future__ import annotations

from typing import Protocol

from ctxdiff_capture.model import Call, Exchange
from ctxdiff_capture.tokens.counter import Counter


class Decoder(Protocol):
    """Turns an exchange of one surface into a call. Never raises for what is in the bytes."""

    def __call__(self, exchange: Exchange, *, seq: int, call_id: str, count: Counter) -> Call:
        """All that can be told of `exchange`."""
