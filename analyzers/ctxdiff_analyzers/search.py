"""Where given blocks are: when they entered an agent's context and when they left it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from ctxdiff_analyzers.labels import label_of
from ctxdiff_analyzers.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Event:
    """A block came into an agent's input or went out of it."""

    seq: int
    """The first turn that has it, or the first that has it no more."""
    kind: Literal["entered", "left"]


@dataclass(frozen=True, slots=True)
class Appearance:
    """One block in one agent's turns."""

    content_hash: str
    agent: str | None
    label: str | None
    """Its label where it first stood in an input; None when it never did. Captured text."""
    first_seen: int
    last_seen: int
    input_turns: int
    """Turns that have it in the input."""
    output_turns: tuple[int, ...]
    """Turns whose answer it is, ascending."""
    events: tuple[Event, ...]
    """Ascending; of inputs only."""
    positions: tuple[tuple[int, int], ...]
    """(turn, stored position) of its place at each `entered` event."""


def appearances(timeline: Timeline, hashes: Collection[str]) -> tuple[Appearance, ...]:
    """Where the blocks are, one per block and agent, ascending by first turn, then by hash."""
    wanted = frozenset(hashes)
    blocks = frozenset(i for i, b in enumerate(timeline.blocks) if b.content_hash in wanted)
    found = [
        _appearance(timeline, agent, block, trail)
        for agent, mine in timeline.groups().items()
        for block, trail in _trails(mine, blocks).items()
    ]
    return tuple(sorted(found, key=lambda one: (one.first_seen, one.content_hash)))


@dataclass(slots=True)
class _Trail:
    """What was met of one block while walking through an agent's turns."""

    label: str | None = None
    inputs: int = 0
    last: int = 0
    outputs: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    positions: list[tuple[int, int]] = field(default_factory=list)


def _trails(mine: Timeline, blocks: frozenset[int]) -> dict[int, _Trail]:
    trails: defaultdict[int, _Trail] = defaultdict(_Trail)
    before: frozenset[int] = frozenset()
    for turn in mine.turns if blocks else ():
        now = blocks.intersection(turn.inputs)
        for block in sorted(now - before):
            at = turn.inputs.index(block)
            trail = trails[block]
            if trail.label is None:
                trail.label = label_of(mine, turn, at)
            trail.positions.append((turn.seq, turn.positions[at]))
            trail.events.append(Event(turn.seq, "entered"))
        for block in before - now:
            trails[block].events.append(Event(turn.seq, "left"))
        for block in now:
            trails[block].inputs += 1
            trails[block].last = turn.seq
        for block in sorted(blocks.intersection(turn.outputs)):
            trails[block].outputs.append(turn.seq)
        before = now
    return dict(trails)


def _appearance(timeline: Timeline, agent: str | None, block: int, trail: _Trail) -> Appearance:
    firsts = [event.seq for event in trail.events[:1]] + trail.outputs[:1]
    return Appearance(
        timeline.blocks[block].content_hash,
        agent,
        trail.label,
        min(firsts),
        max([trail.last, *trail.outputs[-1:]]),
        trail.inputs,
        tuple(trail.outputs),
        tuple(trail.events),
        tuple(trail.positions),
    )
