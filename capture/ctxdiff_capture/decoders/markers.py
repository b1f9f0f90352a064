"""Cache breakpoints: where a request asks the provider to keep its prefix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ctxdiff_capture.model import Json

_NESTING = ("content", "source")
_DEEPEST = 4
"""A result in a message, a document in a result, its source, its content."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A `cache_control` inside one value."""

    path: str
    """JSON pointer from the value to it."""
    ttl: str | None


def breakpoints(value: Json, path: str = "", depth: int = 0) -> Iterator[Breakpoint]:
    """The breakpoints of a part, a tool or a system entry, nested content included."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return
    control = value.get("cache_control")
    if isinstance(control, Mapping):
        ttl = control.get("ttl")
        yield Breakpoint(f"{path}/cache_control", ttl if isinstance(ttl, str) else None)
    for key in _NESTING:
        inner = value.get(key)
        if isinstance(inner, list):
            for index, item in enumerate(inner):
                yield from breakpoints(item, f"{path}/{key}/{index}", depth + 1)
        else:
            yield from breakpoints(inner, f"{path}/{key}", depth + 1)
