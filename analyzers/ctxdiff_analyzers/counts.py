"""Sums of stored token counts, and how far they can be trusted."""

from __future__ import annotations

from ctxdiff_analyzers.timeline import Timeline, Turn

EXACT = "tiktoken"
EXACT_PROVIDER = "openai"
"""The only attribution label whose tokenizer the exact counts are made with."""


def total_tokens(timeline: Timeline, turn: Turn) -> int:
    """Tokens of the turn's input blocks; a block that stands twice counts twice."""
    return sum(map(token_counts(timeline).__getitem__, turn.inputs))


def turn_totals(timeline: Timeline) -> list[int]:
    """`total_tokens` of every turn, oldest first."""
    count = token_counts(timeline).__getitem__
    return timeline.remembered(
        "turn totals", lambda: [sum(map(count, turn.inputs)) for turn in timeline.turns]
    )


def is_approximate(timeline: Timeline, turn: Turn) -> bool:
    """True when a count is an estimate, or was made with a tokenizer not of this provider.

    A stored block has one count, made for the provider that sent it first.
    """
    estimated = _estimated(timeline)
    # Most runs have estimates only, or none.
    if estimated and not estimated.isdisjoint(turn.inputs):
        return True
    return has_foreign_counts(timeline, turn)


def has_foreign_counts(timeline: Timeline, turn: Turn) -> bool:
    """True when a block was counted exactly for OpenAI and this turn went to someone else."""
    if turn.call.provider in (None, EXACT_PROVIDER):
        return False
    return not _exact(timeline).isdisjoint(turn.inputs)


def unmeasured_blocks(timeline: Timeline, turn: Turn) -> int:
    """Inputs whose cost is unknown, so that the total is a floor: images never fetched."""
    unknown = _unmeasured(timeline)
    return sum(i in unknown for i in turn.inputs) if unknown else 0


def token_counts(timeline: Timeline) -> list[int]:
    """The stored token count of every block, by index."""
    return timeline.known("token counts", lambda: [block.token_count for block in timeline.blocks])


def _estimated(timeline: Timeline) -> frozenset[int]:
    return timeline.known(
        "estimated",
        lambda: frozenset(i for i, b in enumerate(timeline.blocks) if b.token_method != EXACT),
    )


def _exact(timeline: Timeline) -> frozenset[int]:
    # The count of an empty text is 0 for everybody.
    return timeline.known(
        "exact",
        lambda: frozenset(
            i for i, b in enumerate(timeline.blocks) if b.token_method == EXACT and not b.is_empty
        ),
    )


def _unmeasured(timeline: Timeline) -> frozenset[int]:
    return timeline.known(
        "unmeasured",
        lambda: frozenset(
            i
            for i, b in enumerate(timeline.blocks)
            if b.token_method != EXACT and b.token_count == 0 and not b.is_empty
        ),
    )
