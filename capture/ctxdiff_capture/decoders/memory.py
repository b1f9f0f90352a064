"""What the last calls held, so that a growing conversation is not worked out anew each turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import TypeAlias
from weakref import WeakKeyDictionary

from ctxdiff_capture.decoders.markers import Breakpoint
from ctxdiff_capture.decoders.seen import SeenLists
from ctxdiff_capture.model import Placement
from ctxdiff_capture.tokens.counter import Counter

MOST_CHARACTERS = 16_000_000
"""JSON and texts remembered per counter; the oldest leaves first."""
_LONG = 4_096
"""Characters of JSON from which an element is known by its digest: pictures are long."""


@dataclass(frozen=True, slots=True)
class Made:
    """What one element of a request became."""

    placements: tuple[Placement, ...]
    breakpoints: tuple[tuple[int, Breakpoint], ...] = ()
    """Index into `placements`, -1 for the block before them, with paths from the body's root."""


_Key: TypeAlias = tuple[str, str, str | bytes]


class Memory:
    """Elements already worked out. Safe to share between threads."""

    def __init__(self) -> None:
        self._made: dict[_Key, Made] = {}
        self._characters = 0
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
