"""What the last calls held, so that a growing conversation is not worked out anew each turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import TypeAlias
from weakref import WeakKeyDictionary

from ctxdiff_capture.decoders.markers import Breakpoint
from ctxdiff_capture.decoders.seen import Element, SeenLists
from ctxdiff_capture.model import Json, Placement
from ctxdiff_capture.tokens.counter import Counter

MOST_CHARACTERS = 16_000_000
"""JSON and texts remembered per counter; the oldest leaves first."""
_LONG = 4_096
"""Characters of JSON from which an element is known by its digest: pictures are long."""
_LISTS = 32
_LONGEST = 2_000_000
_CHARACTERS_OF_LISTS = 4_000_000
"""Whole lists remembered, the JSON of each and of all together."""


@dataclass(frozen=True, slots=True)
class Made:
    """What one element of a request became."""

    placements: tuple[Placement, ...]
    breakpoints: tuple[tuple[int, Breakpoint], ...] = ()
    """Index into `placements`, -1 for the block before them, with paths from the body's root."""


@dataclass(frozen=True, slots=True)
class _ListMade:
    """What a whole list became."""

    elements: tuple[Element, ...]
    made: Made
    characters: int


_NOTHING = _ListMade((), Made(()), 0)
_Key: TypeAlias = tuple[str, str, str | bytes]
_Work: TypeAlias = Callable[[Json, str], Made]


class Memory:
    """Elements already worked out. Safe to share between threads."""

    def __init__(self) -> None:
        self._made: dict[_Key, Made] = {}
        self._characters = 0
        self._lists_made: dict[tuple[str, ...], _ListMade] = {}
        self._characters_of_lists = 0
        self._lock = Lock()
        self.lists = SeenLists()
        """What the last bodies held."""

    def get(self, provider: str, path: str, raw: str, make: Callable[[], Made]) -> Made:
        """What the element `raw` at `path` became, remembered or else made now."""
        known_by = (
            raw if len(raw) < _LONG else sha256(raw.encode("utf-8", "surrogatepass")).digest()
        )
        key = (provider, path, known_by)
        known = self._made.get(key)
        if known is not None:
            return known
        made = make()
        with self._lock:
            if key not in self._made:
                self._made[key] = made
                self._characters += _weight(key, made)
            while self._characters > MOST_CHARACTERS:
                oldest = next(iter(self._made))
                self._characters -= _weight(oldest, self._made.pop(oldest))
        return made

    def of_list(self, provider: str, kind: str, elements: tuple[Element, ...], work: _Work) -> Made:
        """What the list under `kind` became, its elements in order, as one.

        Args:
            provider: what else decides the outcome: the surface and who is asked.
            kind: the member of the body that holds the list.
            elements: the list.
            work: makes one element, given its value and its JSON pointer.
        """
        start = (provider, kind, *(element.raw for element in elements[:2]))
        known = self._lists_made.get(start, _NOTHING)
        # Elements that came from `SeenLists` are the very same, so this compares no text.
        if elements[: len(known.elements)] != known.elements:
            known = _NOTHING
        placements: list[Placement] = []
        points = list(known.made.breakpoints)
        base = len(known.made.placements)
        characters = known.characters
        for index in range(len(known.elements), len(elements)):
            element = elements[index]
            made = self._of_element(provider, f"/{kind}/{index}", element, work)
            points += [(base + len(placements) + i, point) for i, point in made.breakpoints]
            placements += made.placements
            characters += len(element.raw)
        whole = Made((*known.made.placements, *placements), tuple(points))
        self._remember_list(start, _ListMade(elements, whole, characters))
        return whole

    def _of_element(self, provider: str, path: str, element: Element, work: _Work) -> Made:
        return self.get(provider, path, element.raw, lambda: work(element.value, path))

    def _remember_list(self, start: tuple[str, ...], made: _ListMade) -> None:
        if len(made.elements) < 2 or made.characters > _LONGEST:
            return
        with self._lock:
            lists = self._lists_made
            old = lists.pop(start, _NOTHING)
            lists[start] = made
            self._characters_of_lists += made.characters - old.characters
            while len(lists) > _LISTS or self._characters_of_lists > _CHARACTERS_OF_LISTS:
                self._characters_of_lists -= lists.pop(next(iter(lists))).characters


def _weight(key: _Key, made: Made) -> int:
    return len(key[2]) + sum(len(placement.block.text) for placement in made.placements)


_memories: WeakKeyDictionary[Counter, Memory] = WeakKeyDictionary()
_lock = Lock()


def memory_of(count: Counter) -> Memory:
    """The memory that goes with a counter: token counts are part of what is remembered."""
    try:
        with _lock:
            return _memories.setdefault(count, Memory())
    except TypeError:  # a counter without weak references or hash: nothing is remembered
        return Memory()
