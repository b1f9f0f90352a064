"""Alignment of two lists of hashable items: which stayed in place, which moved, what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alignment:
    """Equal items paired one to one; the rest is named. Every index occurs exactly once."""

    pairs: tuple[tuple[int, int], ...]
    """(old index, new index) of equal items, ascending by new index."""
    only_old: tuple[int, ...]
    only_new: tuple[int, ...]


def align(old: Sequence[int], new: Sequence[int]) -> Alignment:
    """Pair equal items: those in order first, then moved ones, first come first served."""
    raise NotImplementedError
