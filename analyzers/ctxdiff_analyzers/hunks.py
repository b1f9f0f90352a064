"""What changed inside a block's text: a difference under a budget, and the short form to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Op: TypeAlias = Literal["equal", "delete", "insert"]
Granularity: TypeAlias = Literal["characters", "words", "lines", "coarse"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work a difference may take, and how much of it is shown."""

    operations: int = 60_000
    """Steps of the matcher over the whole text; what is left then is one replaced piece."""
    context_chars: int = 40
    """Equal text shown on each side of a change, in code points."""
    max_chars: int = 2_000
    """Code points shown in all segments together, at most."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of one operation; offsets are code points. Spans tile both texts in order."""

    op: Op
    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The whole difference of two texts."""

    spans: tuple[Span, ...]
    """equal and delete spans tile the old text, equal and insert spans the new one."""
    equal_chars: int
    deleted_chars: int
    inserted_chars: int
    first_diff_char: int | None
    """Offset of the first difference, counted in the old text; None when the texts are equal."""
    granularity: Granularity
    """The coarsest unit that had to be used anywhere: `characters` is the finest."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a hunk as shown. Captured text."""

    op: Op
    text: str
    omitted: int = 0
    """Code points of this run that were left out: of an equal run in front of, or between the
    shown ends of the text; of a changed run behind it."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """The short form of a difference: changes with bounded context around them."""

    segments: tuple[Segment, ...]
    equal_chars: int
    deleted_chars: int
    inserted_chars: int
    first_diff_char: int | None
    granularity: Granularity
    truncated: bool
    """True when later changes are not shown at all."""


def text_diff(old: str, new: str, budget: Budget | None = None) -> TextDiff:
    """How `old` became `new`, as fine as the budget allows."""
    raise NotImplementedError


def hunk(old: str, new: str, budget: Budget | None = None) -> Hunk:
    """How `old` became `new`, shortened to `budget.max_chars` with context around each change."""
    raise NotImplementedError
