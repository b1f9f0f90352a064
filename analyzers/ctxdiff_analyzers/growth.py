"""How much each turn grew over the same agent's previous one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ctxdiff_analyzers.counts import is_approximate, total_tokens, unmeasured_blocks
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.window import percent


@dataclass(frozen=True, slots=True)
class GrowthPair:
    """Two neighbouring turns of one agent."""

    old: Turn
    new: Turn
    growth: int
    """Tokens of the newer turn minus those of the older; may be negative."""
    growth_pct: float | None
    """Of the older turn, one decimal; None when that had no tokens."""
    unmeasured_blocks: int
    """Of both turns; when not 0 the growth is not known."""
    approximate: bool


def growth_pairs(timeline: Timeline) -> tuple[GrowthPair, ...]:
    """Every neighbouring pair, agent by agent in order of first appearance."""
    return tuple(
        growth(timeline, old, new)
        for mine in timeline.groups().values()
        for old, new in pairwise(mine.turns)
    )


def growth(timeline: Timeline, old: Turn, new: Turn) -> GrowthPair:
    """How much `new` grew over `old`."""
    before, after = total_tokens(timeline, old), total_tokens(timeline, new)
    return GrowthPair(
        old,
        new,
        after - before,
        percent(after - before, before) if before else None,
        unmeasured_blocks(timeline, old) + unmeasured_blocks(timeline, new),
        is_approximate(timeline, old) or is_approximate(timeline, new),
    )
