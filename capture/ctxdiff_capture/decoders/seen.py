"""Lists that earlier bodies held: a conversation that grew is parsed from where it grew."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from ctxdiff_capture.decoders.digests import Digests
from ctxdiff_capture.model import Json

_LISTS = 32
"""Conversations and tool lists that are remembered; more agents than this take turns."""
_LONGEST = 2_000_000
"""Characters of a list that is remembered."""
_MOST_CHARACTERS = 4_000_000
"""Characters of all lists that are remembered; each is held in four forms."""


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
    pieces: tuple[bytes, ...]
    """The bytes of `text`, cut behind each element: one object in all bodies that hold it."""

    def first(self, count: int) -> ListRead:
        """The list as if it ended behind that many elements, one or more."""
        return ListRead(
            self.text[: self.ends[count - 1]],
            self.elements[:count],
            self.ends[:count],
            self.pieces[:count],
        )


class SeenLists:
    """The lists read last, by their first two elements. Safe to share between threads."""

    def __init__(self) -> None:
        self.digests = Digests()
        """Of whole bodies."""
        self._by_start: dict[tuple[str, str], ListRead] = {}
        self._characters = 0
        self._lock = Lock()

    def common(self, start: tuple[str, str], text: str, at: int) -> ListRead | None:
        """What a remembered list and the one at `at` begin with alike; None when that is nothing.

        Args:
            start: the JSON of the list's first two elements.
            text: the body.
            at: index in `text` behind the list's bracket.
        """
        seen = self._by_start.get(start)
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
        return seen.first(alike) if alike else None

    def remember(self, read: ListRead, known: int) -> None:
        """Keep a list for the next body; its first `known` elements came from here."""
        elements = read.elements
        # A number might go on in the next body where it ends in this one; objects cannot.
        is_safe = all(element.raw.endswith("}") for element in elements[known:])
        if len(elements) < 2 or not is_safe or len(read.text) > _LONGEST:
            return
        with self._lock:
            self._forget((elements[0].raw, elements[1].raw))
            self._by_start[elements[0].raw, elements[1].raw] = read
            self._characters += len(read.text)
            while len(self._by_start) > _LISTS or self._characters > _MOST_CHARACTERS:
                self._forget(next(iter(self._by_start)))

    def _forget(self, start: tuple[str, str]) -> None:
        old = self._by_start.pop(start, None)
        if old is not None:
            self._characters -= len(old.text)
