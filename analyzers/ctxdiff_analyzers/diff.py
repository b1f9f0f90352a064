"""What changed between two turns: blocks added, evicted, modified, moved."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ctxdiff_capture.model import BlockHead

from ctxdiff_analyzers.align import in_order
from ctxdiff_analyzers.counts import is_approximate
from ctxdiff_analyzers.labels import label_of
from ctxdiff_analyzers.matching import Matching, matching
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
    there = other or timeline
    found = matching(old, new, timeline, other)
    maker = _Entries(old, new, timeline, there)
    same = {j: maker.pair("unchanged", i, j) for i, j in found.same}
    edited = {j: maker.pair("modified", i, j) for i, j in found.edited}
    added = {j: maker.added(j) for j in found.new}
    evicted = {i: maker.evicted(i) for i in found.gone}
    return TurnDiff(
        old.seq,
        new.seq,
        old.agent,
        new.agent,
        tuple(_in_reading_order(found, same | edited | added, evicted)),
        Counts(
            len(added),
            len(evicted),
            len(edited),
            len(same),
            sum(entry.is_moved for entry in same.values()),
        ),
        sum(e.tokens for e in (*added.values(), *edited.values()))
        + sum(max(0, _grown(e)) for e in same.values()),
        sum(e.tokens for e in evicted.values())
        + sum(e.tokens_before or 0 for e in edited.values())
        + sum(max(0, -_grown(e)) for e in same.values()),
        sum(e.tokens for e in same.values()),
        maker.approximate(),
    )


@dataclass(frozen=True, slots=True)
class _Entries:
    """Makes the entries of one comparison."""

    old: Turn
    new: Turn
    timeline: Timeline
    there: Timeline

    def approximate(self) -> bool:
        sides = ((self.timeline, self.old), (self.there, self.new))
        return any(is_approximate(timeline, turn) for timeline, turn in sides)

    def pair(self, kind: EntryKind, i: int, j: int) -> Entry:
        before = self.timeline.blocks[self.old.inputs[i]]
        differs = before.content_hash != self.there.blocks[self.new.inputs[j]].content_hash
        return replace(
            self.added(j),
            kind=kind,
            position_old=self.old.positions[i],
            content_hash_before=before.content_hash if differs else None,
            tokens_before=before.token_count if differs else None,
        )

    def added(self, j: int) -> Entry:
        block = self.there.blocks[self.new.inputs[j]]
        label = label_of(self.there, self.new, j)
        return _entry("added", block, label, None, self.new.positions[j])

    def evicted(self, i: int) -> Entry:
        block = self.timeline.blocks[self.old.inputs[i]]
        label = label_of(self.timeline, self.old, i)
        return _entry("evicted", block, label, self.old.positions[i], None)


def _entry(
    kind: EntryKind,
    block: BlockHead,
    label: str,
    position_old: int | None,
    position_new: int | None,
) -> Entry:
    return Entry(
        kind,
        position_old,
        position_new,
        block.content_hash,
        None,
        block.token_count,
        None,
        label,
        block.role,
        block.kind,
        block.token_method,
    )


def _grown(entry: Entry) -> int:
    """Tokens that a block gained by its cache marker."""
    return 0 if entry.tokens_before is None else entry.tokens - entry.tokens_before


def _in_reading_order(
    found: Matching, standing: dict[int, Entry], evicted: dict[int, Entry]
) -> Iterator[Entry]:
    """The new turn's blocks in order; each evicted one behind the neighbour it stood behind."""
    anchors = iter(in_order(sorted(found.same + found.edited, key=lambda pair: pair[1])))
    anchor = next(anchors, None)
    gone = deque(sorted(evicted))
    for j in range(-1, max(standing, default=-1) + 1):
        if j >= 0:
            yield standing[j]
        if anchor is None or anchor[1] != j:
            if j >= 0:
                continue
        else:
            anchor = next(anchors, None)
        # Up to the next block that did not move.
        while gone and (anchor is None or gone[0] < anchor[0]):
            yield evicted[gone.popleft()]
