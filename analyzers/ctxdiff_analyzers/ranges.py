"""Whether two tool calls ask for pieces of one thing, and how far the pieces overlap."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_START = re.compile(r"(?:^|_)(?:start|offset|from|begin|first|skip|since)(?:_|$)", re.IGNORECASE)
_END = re.compile(r"(?:^|_)(?:end|to|until|last|stop|through)(?:_|$)", re.IGNORECASE)
_LENGTH = re.compile(
    r"(?:^|_)(?:limit|count|length|lines|size|num|number|n|max)(?:_|$)", re.IGNORECASE
)
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SPELLED = re.compile(r"\s*(\d+)\s*(?:-|:|,|\.\.|–)\s*(\d+)\s*")  # noqa: RUF001 - an en dash
EVERYTHING = float("inf")


def same_target(one: str, other: str) -> bool:
    """True for two different calls (`pairing.Call.key`) that differ in what piece they ask for."""
    first, second = _parsed(one), _parsed(other)
    return (
        one != other
        and first is not None
        and second is not None
        and first[0] == second[0]
        and bool(_rest(first[1]))
        and _rest(first[1]) == _rest(second[1])
    )


def overlap(one: str, other: str) -> float:
    """Share of the smaller piece that both calls ask for: 0.0 to 1.0; 0.0 where no range is told.

    A call without a range asks for everything.
    """
    if not same_target(one, other):
        return 0.0
    first, second = _range(_parsed(one)), _range(_parsed(other))
    common = min(first[1], second[1]) - max(first[0], second[0])
    smaller = min(first[1] - first[0], second[1] - second[0])
    if smaller <= 0 or common <= 0 or smaller == EVERYTHING:
        return 0.0
    return common / smaller


def _parsed(key: str) -> tuple[str, Mapping[str, Any]] | None:
    name, _, spelled = key.partition(" ")
    try:
        arguments = json.loads(spelled)
    except (ValueError, RecursionError):
        return None
    return (name, arguments) if isinstance(arguments, dict) else None


def _rest(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if not _is_bound(name, value)}


def _is_bound(name: str, value: Any) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        spelled = _WORD_START.sub("_", name)
        return any(kind.search(spelled) for kind in (_START, _END, _LENGTH))
    return _pair(value) is not None


def _pair(value: Any) -> tuple[float, float] | None:
    if isinstance(value, str) and (found := _SPELLED.fullmatch(value)):
        return float(found[1]), float(found[2])
    if isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value):
        return float(value[0]), float(value[1])
    return None


def _range(call: tuple[str, Mapping[str, Any]] | None) -> tuple[float, float]:
    """From the first to behind the last piece."""
    start, end, length = 0.0, EVERYTHING, None
    for name, value in (call[1] if call else {}).items():
        pair = _pair(value)
        if pair is not None:
            return pair[0], pair[1] + 1
        if not _is_bound(name, value):
            continue
        spelled = _WORD_START.sub("_", name)
        if _START.search(spelled):
            start = float(value)
        elif _END.search(spelled):
            end = float(value) + 1
        else:
            length = float(value)
    return (start, end) if length is None else (start, min(end, start + length))
