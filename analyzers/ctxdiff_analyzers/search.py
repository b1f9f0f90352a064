"""Where given blocks are: when they entered an agent's context and when they left it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

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
    raise NotImplementedError
