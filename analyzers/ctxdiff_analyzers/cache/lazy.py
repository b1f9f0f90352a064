"""A property that is worked out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801  it reads as `property` does
    """Like `functools.cached_property`, for objects of one thread.

    Before Python 3.12 the other's lock costs more than what is worked out here.
    """

    def __init__(self, work: Callable[[Any], Value]) -> None:
        self._work = work
        self.__doc__ = work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, holder: Any, owner: type | None = None) -> Value:
        value = self._work(holder)
        holder.__dict__[self._name] = value
        return value
