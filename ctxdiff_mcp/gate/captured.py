"""The type of everything that a trace supplies. Only the gate can turn it into output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn


class Captured:
    """Text that a stranger wrote.

    It cannot be printed, formatted, joined or encoded; equality and hashing work. To show it, hand
    it to the gate: forgetting to do so is then an error, not a leak.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"captured text is a str, not {type(text).__name__}")
        self._text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Captured) and self._text == other._text

    def __hash__(self) -> int:
        return hash((Captured, self._text))

    def __repr__(self) -> str:
        return "Captured(...)"

    def __str__(self) -> NoReturn:
        raise TypeError("captured text leaves through the gate only")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("captured text leaves through the gate only")

    def __reduce__(self) -> NoReturn:
        raise TypeError("captured text leaves through the gate only")


@dataclass(frozen=True, slots=True)
class Name:
    """A short text of the trace, with the handle that stands for it where it may not be shown."""

    text: Captured
    handle: str
    """A letter and an ordinal by first appearance: `a2` an agent, `L1` a label, `r3` a run."""
    parts: tuple[Captured, ...] = ()
    """The names that `text` was joined from with `#`, where it was."""


def captured(text: str | None) -> Captured | None:
    """`text` as captured text; None stays None."""
    return None if text is None else Captured(text)
