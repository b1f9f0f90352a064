"""Which decoder reads which surface."""

from __future__ import annotations

from ctxdiff_capture.decoders import (
    anthropic,
    bedrock_converse,
    bedrock_invoke,
    gemini,
    openai_chat,
    openai_responses,
)
from ctxdiff_capture.decoders.assemble import undecoded
from ctxdiff_capture.decoders.base import Decoder
from ctxdiff_capture.model import Call, Exchange
from ctxdiff_capture.tokens.counter import Counter

DECODERS: dict[str, Decoder] = {
    "anthropic.messages": anthropic.decode,
    "bedrock.converse": bedrock_converse.decode,
    "bedrock.invoke_model": bedrock_invoke.decode,
    "gemini.generate_content": gemini.decode,
    "openai.chat": openai_chat.decode,
    "openai.responses": openai_responses.decode,
}
"""By surface; a new provider is one new file and one line here."""


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
    decoder = DECODERS.get(exchange.surface)
    if decoder is None:
        raise ValueError(f"no decoder for {exchange.surface!r}; there is {sorted(DECODERS)}")
    try:
        return decoder(exchange, seq=seq, call_id=call_id, count=count)
    except RecursionError:
        # JSON that the scanner still reads may be too deep for all that comes after it.
        return undecoded(exchange, seq=seq, call_id=call_id)
