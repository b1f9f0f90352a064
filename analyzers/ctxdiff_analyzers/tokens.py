"""Where the tokens of a turn go, and what the provider billed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxdiff_capture.model import Usage

from ctxdiff_analyzers.timeline import Timeline, Turn

UNLABELED = "(unlabeled)"
"""Bucket name of the turns without an agent."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A label's share of one turn."""

    label: str
    """Captured text."""
    tokens: int
    block_count: int
    pct: float
    """Of the turn's total, 0.0 to 100.0 with one decimal."""


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """The tokens of one turn's input blocks."""

    seq: int
    agent: str | None
    step: str | None
    total_tokens: int
    """A block that stands twice counts twice."""
    approximate: bool
    """True when any count is an estimate, or was made for another provider's tokenizer."""
    unmeasured_blocks: int
    """Blocks whose cost is unknown; when not 0 the total is a floor."""
    slices: tuple[Slice, ...]
    """Largest first; ties in order of first appearance."""
    usage: Usage
    """As the provider billed it."""
    reconciliation_delta: int | None
    """Billed prompt tokens minus `total_tokens`; None when nothing was billed."""


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """Sums over an agent's calls that reported usage."""

    agent: str
    """`(unlabeled)` for None."""
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class UsageRollup:
    """What the provider billed over a scope."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    calls_with_usage: int
    calls_total: int
    by_agent: tuple[AgentUsage, ...] | None
    """In order of first appearance; None with fewer than two distinct agents."""
    streamed_without_usage: int
    """Streamed calls that could have asked for usage (`stream_options.include_usage`), did not,
    and so have none."""


def turn_tokens(timeline: Timeline, turn: Turn) -> TurnTokens:
    """The tokens of one turn by label."""
    raise NotImplementedError


def all_turn_tokens(timeline: Timeline) -> tuple[TurnTokens, ...]:
    """`turn_tokens` of every turn, oldest first."""
    raise NotImplementedError


def turn_totals(timeline: Timeline) -> list[int]:
    """Input tokens of every turn, oldest first."""
    raise NotImplementedError


def peak(turns: Sequence[TurnTokens]) -> TurnTokens | None:
    """The turn with the largest total, the earliest among equals; None without turns."""
    raise NotImplementedError


def usage_rollup(timeline: Timeline) -> UsageRollup:
    """Sums of the provider's own numbers over the timeline."""
    raise NotImplementedError


def tokens_by_agent(timeline: Timeline) -> Mapping[str, int] | None:
    """Sum of turn totals per agent (`(unlabeled)` for None); None with fewer than two agents."""
    raise NotImplementedError
