"""Small integers for content hashes and labels, given to whole columns of a call at once."""

from __future__ import annotations

from array import array
from typing import Any

from ctxdiff_capture.light import light


class Numbering:
    """Small integers for content hashes and labels, in order of first appearance.

    A call that goes on from the last one costs what it has more: a conversation that grows, or a
    window that moves over it, would be numbered once per turn otherwise.
    """

    def __init__(self) -> None:
        self.blocks: dict[str, int] = _Numbers()
        self.labels: dict[tuple[str, str], int] = _Numbers()
        self._hashes = _Column(None, array("i"))
        self._head = ""
        """The hashes, each with its comma, that the last two calls with other ones both began
        with: what stands before a window mostly stays when that moves."""
        self._labels = _LabelColumns(None, None, array("i"))
        self._repeated: dict[tuple[str, str], array[int]] = {}

    def blocks_of(self, hashes: str) -> array[int]:
        """Numbers of one call's blocks, given their hashes with commas between."""
        new = _added(self._hashes.text, hashes)
        if new is not None:
            numbers = self._hashes.numbers + self._of(new)
        else:
            moved = self._moved(hashes)
            numbers = self._anew(hashes) if moved is None else moved
        self._hashes = _Column(hashes, numbers)
        return numbers

    def labels_of(self, labels: str, sources: str) -> array[int]:
        """Numbers of one call's labels, likewise. Both columns have the same number of values."""
        last = self._labels
        if labels == last.labels and sources == last.sources:
            return last.numbers
        new_labels, new_sources = _added(last.labels, labels), _added(last.sources, sources)
        if new_labels is not None and new_sources is not None:
            numbers = last.numbers + self._pairs(new_labels, new_sources)
        else:
            known = self._repeated.get((labels, sources))
            numbers = self._pairs(labels.split(","), sources.split(",")) if known is None else known
            self._repeated[labels, sources] = numbers
        self._labels = _LabelColumns(labels, sources, numbers)
        return numbers

    def _moved(self, hashes: str) -> array[int] | None:
        """Numbers of a call that has the last one's head and then a later part up to its end.

        None when it has not.
        """
        old, start = self._hashes.text, len(self._head)
        if old is None or not hashes.startswith(self._head) or not old.startswith(self._head):
            return None
        behind = hashes[start:]
        at = old.find("," + behind.partition(",")[0], max(0, start - 1)) + 1
        new = _added(old[at:], behind) if at else None
        if new is None:
            return None
        numbers = self._hashes.numbers
        kept = numbers[: self._head.count(",")] + numbers[old.count(",", 0, at) :]
        return kept + self._of(new)

    def _anew(self, hashes: str) -> array[int]:
        """Numbers of a call, one by one; what it has in common with the last is a head."""
        values = hashes.split(",")
        numbers = self._of(values)
        both = zip(numbers, self._hashes.numbers, strict=False)
        shared = next((n for n, (new, old) in enumerate(both) if new != old), 0)
        self._head = "".join(f"{value}," for value in values[:shared])
        return numbers

    def _of(self, hashes: list[str]) -> array[int]:
        return array("i", map(self.blocks.__getitem__, hashes))

    def _pairs(self, labels: list[str], sources: list[str]) -> array[int]:
        return array("i", map(self.labels.__getitem__, zip(labels, sources, strict=True)))


@light(frozen=True, slots=True)
class _Column:
    """The hashes of the last call, None before the first, and their numbers."""

    text: str | None
    numbers: array[int]


@light(frozen=True, slots=True)
class _LabelColumns:
    """The labels of the last call, likewise."""

    labels: str | None
    sources: str | None
    numbers: array[int]


class _Numbers(dict[Any, int]):
    """Gives the next number to a key it has not seen; a hit costs one C call."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def _added(old: str | None, new: str) -> list[str] | None:
    """The values that `new` has behind those of `old`; None when it does not start with those."""
    if old is None or not new.startswith(old):
        return None
    if len(new) == len(old):
        return []
    return new[len(old) + 1 :].split(",") if new[len(old)] == "," else None
