"""Lists that earlier bodies held: a conversation that grew is parsed from where it grew."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from ctxdiff_capture.model import Json

_LISTS = 8
"""Conversations and tool lists that are remembered; more agents than this take turns."""
_LONGEST = 2_000_000
"""Characters of a list that is remembered."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a list in the body."""

    raw: str
    """Its JSON as sent."""
    value: Json


@dataclass(frozen=True, slots=True)
class ListRead:
    """The elements of a list, and where each ends, counted from behind the bracket."""

    text: str
    """From behind the bracket to the end of the last element."""
    elements: tuple[Element, ...]
    ends: Sequence[int]


class SeenLists:
    """The lists read last, by their first element. Safe to share between threads."""

    def __init__(self) -> None:
        self._by_first: dict[str, ListRead] = {}

    def common(self, first: str, text: str, at: int) -> ListRead | None:
        """What a remembered list and the one at `at` begin with alike; None when that is nothing.

        Args:
            first: the JSON of the list's first element.
            text: the body.
            at: index in `text` behind the list's bracket.
        """
        seen = self._by_first.get(first)
        if seen is None:
            return None
        if text.startswith(seen.text, at):
            return seen
        ends = seen.ends
        alike = bisect_left(
            range(len(ends)),
            True,
            key=lambda index: not text.startswith(seen.text[: ends[index]], at),
        )
        if alike == 0:
            return None
        return ListRead(seen.text[: ends[alike - 1]], seen.elements[:alike], ends[:alike])

    def remember(self, read: ListRead) -> None:
        """Keep a list for the next body."""
        # A number might go on in the next body where it ends in this one; objects cannot.
        is_safe = all(element.raw.endswith("}") for element in read.elements)
        if not read.elements or not is_safe or len(read.text) > _LONGEST:
            return
        self._by_first.pop(read.elements[0].raw, None)
        self._by_first[read.elements[0].raw] = read
        while len(self._by_first) > _LISTS:
            self._by_first.pop(next(iter(self._by_first), ""), None)
