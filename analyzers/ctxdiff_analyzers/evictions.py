"""Tagged blocks that left an agent's context and never came back."""

from __future__ import annotations

from dataclasses import dataclass

from ctxdiff_analyzers.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Eviction:
    """A tagged block that is gone for good."""

    label: str
    """The tag. Captured text."""
    agent: str | None
    tagged_turn: int
    entered_turn: int
    last_seen_turn: int
    evicted_turn: int
    tokens: int
    token_method: str
    role: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Evictions:
    """All tagged blocks lost in a timeline."""

    pairs_analyzed: int
    agents_analyzed: int | None
    """None when the timeline has fewer than two distinct agents."""
    tagged_blocks: int
    """Distinct (agent, block) that was tagged at least once."""
    events: tuple[Eviction, ...]
    """Ascending by (evicted turn, entered turn, content hash)."""


def evictions(timeline: Timeline) -> Evictions:
    """Tagged blocks lost between neighbouring turns of the same agent.

    A tag holds for the content from then on. A block is lost when its hash is gone for good and
    no edited form of it stands in the next turn.
    """
    raise NotImplementedError
