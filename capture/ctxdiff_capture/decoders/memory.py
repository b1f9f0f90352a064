"""What the last calls held, so that a growing conversation is not worked out anew each turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias
from weakref import WeakKeyDictionary

from ctxdiff_capture.decoders.markers import Breakpoint
from ctxdiff_capture.decoders.seen import SeenLists
from ctxdiff_capture.model import Placement
from ctxdiff_capture.tokens.counter import Counter

MOST_CHARACTERS = 32_000_000
"""Raw JSON remembered per counter; the oldest leaves first."""


@dataclass(frozen=True, slots=True)
class Made:
    """What one element of a request became."""

    placements: tuple[Placement, ...]
    breakpoints: tuple[tuple[int, Breakpoint], ...] = ()
    """Index into `placements`, with paths from the body's root."""


Key: TypeAlias = tuple[str, str, str]
"""Provider, path of the element, its raw JSON."""


class Memory:
    """Elements already worked out. Safe to share between threads."""

    def __init__(self) -> None:
        self._made: dict[Key, Made] = {}
        self._characters = 0
        self._lock = Lock()
        self.lists = SeenLists()
        """What the last bodies held."""

    def get(self, key: Key, make: Callable[[], Made]) -> Made:
        """What is remembered under `key`, else what `make` gives."""
        known = self._made.get(key)
        if known is not None:
            return known
        made = make()
        with self._lock:
            if key not in self._made:
                self._made[key] = made
                self._characters += len(key[2])
            while self._characters > MOST_CHARACTERS:
                oldest = next(iter(self._made))
                del self._made[oldest]
                self._characters -= len(oldest[2])
        return made


_memories: WeakKeyDictionary[Counter, Memory] = WeakKeyDictionary()
_lock = Lock()


def memory_of(count: Counter) -> Memory:
    """The memory that goes with a counter: token counts are part of what is remembered."""
    try:
        with _lock:
            return _memories.setdefault(count, Memory())
    except TypeError:  # a counter without weak references or hash: nothing is remembered
        return Memory()
