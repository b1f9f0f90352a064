"""Dataclasses that are frozen for the type checker alone, for values made by the thousand.

Freezing one at run time makes its making three times as dear: a tenth of what a question about
thousands of turns takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass as light
else:

    def light(*, frozen: bool, slots: bool) -> Callable[[type[T]], type[T]]:
        """As `dataclass` with these options; `frozen` holds because mypy lets nobody assign."""
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["light"]
