"""Tagged blocks that left an agent's context and never came back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ctxdiff_analyzers.matching import matching
from ctxdiff_analyzers.timeline import Timeline, Turn


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

    A tag holds for the content from then on, and for an edited form of it. A block is lost when
    its hash is gone for good and no edited form of it stands in the next turn.
    """
    return timeline.remembered("evictions", lambda: _evictions(timeline))


def _evictions(timeline: Timeline) -> Evictions:
    groups = timeline.groups()
    found = [(agent, mine, _tags(mine)) for agent, mine in groups.items()]
    events = [event for agent, mine, tags in found for event in _lost(agent, mine, tags)]
    return Evictions(
        sum(max(0, len(mine.turns) - 1) for mine in groups.values()),
        len(groups) if len(groups) >= 2 else None,
        sum(len(tags) for _, _, tags in found),
        tuple(sorted(events, key=lambda e: (e.evicted_turn, e.entered_turn, e.content_hash))),
    )


@dataclass(frozen=True, slots=True)
class _Tag:
    label: str
    turn: int
    entered: int


def _tags(mine: Timeline) -> dict[int, _Tag]:
    """Tagged block to its first tag."""
    tagged = {i for i, (_, source) in enumerate(mine.label_table) if source == "tagged"}
    first: dict[int, tuple[str, int]] = {}
    for turn in mine.turns if tagged else ():
        if tagged.isdisjoint(turn.labels):
            continue
        for block, label in zip(turn.inputs, turn.labels, strict=True):
            if label in tagged:
                first.setdefault(block, (mine.label_table[label][0], turn.seq))
    entered = mine.present(first.keys())
    return {block: _Tag(*tag, entered[block]) for block, tag in first.items()}


def _lost(agent: str | None, mine: Timeline, tags: Mapping[int, _Tag]) -> Iterator[Eviction]:
    waiting = dict(tags)
    numbers = [turn.seq for turn in mine.turns]
    last = mine.last_seen(tags.keys())
    while waiting:
        block, tag = waiting.popitem()
        at = bisect_left(numbers, last[block])
        if at + 1 == len(numbers):
            continue
        old, new = mine.turns[at], mine.turns[at + 1]
        successor = _successor(mine, old, new, block)
        if successor is None:
            head = mine.blocks[block]
            yield Eviction(
                tag.label,
                agent,
                tag.turn,
                tag.entered,
                old.seq,
                new.seq,
                head.token_count,
                head.token_method,
                head.role,
                head.content_hash,
            )
        elif successor not in tags:
            last |= mine.last_seen([successor])
            waiting[successor] = tag


def _successor(mine: Timeline, old: Turn, new: Turn, block: int) -> int | None:
    """The block of `new` that is an edited form of `block`, or differs by a marker only."""
    found = matching(old, new, mine)
    pairs = (*found.edited, *found.same)
    return next((new.inputs[j] for i, j in pairs if old.inputs[i] == block), None)
