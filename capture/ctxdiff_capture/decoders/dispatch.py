"""Which decoder reads which surface."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import cast

from ctxdiff_capture.decoders.assemble import undecoded
from ctxdiff_capture.decoders.base import Decoder
from ctxdiff_capture.model import Call, Exchange
from ctxdiff_capture.tokens.counter import Counter

DECODERS = {
    "anthropic.messages": "anthropic",
    "bedrock.converse": "bedrock_converse",
    "bedrock.invoke_model": "bedrock_invoke",
    "gemini.generate_content": "gemini",
    "openai.chat": "openai_chat",
    "openai.responses": "openai_responses",
}
"""The module of each surface; a new provider is one new file and one line here."""


def decode(exchange: Exchange, *, seq: int, call_id: str, count: Counter) -> Call:
    """The call that `exchange` was.

    Never raises for what is in the bytes: a body that is no JSON gives a call without inputs,
    whose metadata says so.

    Args:
        exchange: one request and what came back.
        seq: its number in the session, 1 and up.
        call_id: UUID4 as 32 hex digits.
        count: counts the tokens of each block.

    Raises:
        ValueError: `exchange.surface` has no decoder.
    """
    if exchange.surface not in DECODERS:
        raise ValueError(f"no decoder for {exchange.surface!r}; there is {sorted(DECODERS)}")
    decoder = _decoder_of(exchange.surface)
    try:
        return decoder(exchange, seq=seq, call_id=call_id, count=count)
    except RecursionError:
        # JSON that the scanner still reads may be too deep for all that comes after it.
        return undecoded(exchange, seq=seq, call_id=call_id)


@lru_cache
def _decoder_of(surface: str) -> Decoder:
    """Most programs ask one provider: the decoders of others are never loaded."""
    module = import_module(f"ctxdiff_capture.decoders.{DECODERS[surface]}")
    return cast("Decoder", module.decode)
