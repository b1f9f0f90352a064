"""What changed between two turns: blocks added, evicted, modified, moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers.timeline import Timeline, Turn

EntryKind: TypeAlias = Literal["added", "evicted", "modified", "unchanged"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One block of either turn. A modified or unchanged entry stands for one block of each."""

    kind: EntryKind
    position_old: int | None
    """The stored position in the old turn; None for `added`."""
    position_new: int | None
    """The stored position in the new turn; None for `evicted`."""
    content_hash: str
    """Of the old block for `evicted`, otherwise of the new one."""
    content_hash_before: str | None
    """Of the old block for `modified`, and for `unchanged` where only a cache marker differs."""
    tokens: int
    tokens_before: int | None
    """Of the old block wherever `content_hash_before` is given."""
    label: str
    """Label on the side that is shown. Captured text."""
    role: str
    block_kind: str
    token_method: str

    @property
    def is_moved(self) -> bool:
        """Unchanged, in another place."""
        return self.kind == "unchanged" and self.position_old != self.position_new


@dataclass(frozen=True, slots=True)
class Counts:
    """Entries by kind; `unchanged_moved` is a part of `unchanged`."""

    added: int
    evicted: int
    modified: int
    unchanged: int
    unchanged_moved: int


@dataclass(frozen=True, slots=True)
class TurnDiff:
    """The difference of two turns. Every block of either turn is in exactly one entry."""

    seq_old: int
    seq_new: int
    agent_old: str | None
    agent_new: str | None
    entries: tuple[Entry, ...]
    """Ascending by position in the new turn; evicted blocks stand where they stood between their
    neighbours of the old turn."""
    counts: Counts
    tokens_added: int
    """Of added blocks and of the new side of modified ones."""
    tokens_evicted: int
    """Of evicted blocks and of the old side of modified ones."""
    unchanged_tokens: int
    approximate: bool
    """True when a count above is not exact."""

    @property
    def net_tokens(self) -> int:
        """`tokens_added - tokens_evicted`: the difference of the two turns' totals."""
        return self.tokens_added - self.tokens_evicted

    @property
    def crosses_agents(self) -> bool:
        """True when the two turns belong to different agents, so that a difference is no change."""
        return self.agent_old != self.agent_new


def turn_diff(old: Turn, new: Turn, timeline: Timeline, other: Timeline | None = None) -> TurnDiff:
    """What changed from `old` to `new`.

    Args:
        old: a turn of `timeline`.
        new: a turn of `other`, or of `timeline` when that is None.
        timeline: the blocks and texts of `old`.
        other: the blocks and texts of `new`, when it comes from another session.
    """
    raise NotImplementedError
