"""Stored values and ours: what may go into a column, and what is believed of one.

A file may come from a stranger, and SQLite stores any type in any column: each value is looked at,
and one that cannot be used costs its field and leaves a note, never the session.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ctxdiff_capture.model import Json

MAX_COUNT = 2**48
"""A larger token count or duration is taken for damage."""
MAX_TEXT_BYTES = 64 * 2**20
"""A block with a longer text is left out."""
MAX_FIELD_BYTES = 64 * 2**10
"""Of a text that is no block's: names, ids, messages of errors."""
MAX_JSON_BYTES = 4 * 2**20
"""Of JSON text; what is made of it may take thirty times as much."""
MAX_JSON_DEPTH = 100
"""Arrays and objects within each other; programs that walk them call themselves."""
TOO_LONG = b""
"""What `bounded` gives for a value that is too long: no writer stores an empty blob."""

_SURROGATES = re.compile("[\ud800-\udfff]")


def bounded(column: str, most_bytes: int = MAX_FIELD_BYTES) -> str:
    """SQL for a column's value, or for `TOO_LONG` where it is: it is measured before it is read."""
    return f"case when length(cast({column} as blob)) > {most_bytes} then x'' else {column} end"


def storable(text: str) -> str:
    """`text` with lone surrogates made U+FFFD: a column holds UTF-8, which cannot spell them."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def storable_or_none(text: str | None) -> str | None:
    """`storable`, and None stays None."""
    return None if text is None else storable(text)


def json_text(value: Json) -> str:
    """JSON as ctxdiff writes it: `", "` and `": "`, non-ASCII escaped, NaN allowed."""
    return json.dumps(value)


class Notes:
    """What was left out while reading, in fixed words, counted."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, words: str) -> None:
        """`words` name what was wrong and what was done; they never hold stored text."""
        self._counts[words] += 1

    def lines(self) -> tuple[str, ...]:
        """Each note once with how often it was made, first made first."""
        return tuple(f"{words} ({count}x)" for words, count in self._counts.items())


def text_or_none(value: object) -> str | None:
    """A text column; bytes are decoded, numbers spelled, NULL is None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)


def text(value: object) -> str:
    """A text column; NULL is empty."""
    return text_or_none(value) or ""


def count_or_none(value: object, what: str, notes: Notes) -> int | None:
    """A number of 0 or more from an integer column, else None with a note."""
    if value is None:
        return None
    if type(value) is int and 0 <= value <= MAX_COUNT:
        return value
    notes.add(f"{what} is no usable number and was left out")
    return None


def token_count(value: object, notes: Notes) -> int:
    """A block's token count; 0 with a note where it cannot be one."""
    if type(value) is int and 0 <= value <= MAX_COUNT:
        return value
    notes.add("a token count is no usable number and was read as 0")
    return 0


def parsed(value: object) -> Json:
    """The JSON of a column.

    Raises:
        ValueError: it is not JSON, too long, or nested too deeply to be used.
    """
    if not isinstance(value, (str, bytes)):
        raise ValueError("not JSON text")  # noqa: TRY004 - one error for all that is not JSON
    if len(value) > MAX_JSON_BYTES:
        raise ValueError("too long")
    plain = text(value)
    try:
        result = json.loads(plain, parse_int=_PARSE_INT)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if plain.count("[") + plain.count("{") > MAX_JSON_DEPTH:
        _check_depth(result)
    return result


def _check_depth(value: Json) -> None:
    """Raise ValueError when arrays and objects stand within more than `MAX_JSON_DEPTH` others."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return
    raise ValueError("nested too deeply")


def _short_int(digits: str) -> int:
    if len(digits) > 4_300:
        raise ValueError("too many digits")
    return int(digits)


_PARSE_INT = None if hasattr(sys, "set_int_max_str_digits") else _short_int
"""The limit that Python itself has since 3.10.7, as the time grows with the square."""


class JsonColumns:
    """Parses JSON columns; equal texts are parsed once, as most calls repeat their parameters."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._seen: dict[str, Mapping[str, Any] | None] = {}

    def mapping(self, value: object, what: str) -> Mapping[str, Any] | None:
        """A JSON object, or None for NULL; None with a note for anything else."""
        if value is None:
            return None
        if isinstance(value, str) and value in self._seen:
            return self._seen[value]
        try:
            result = parsed(value)
        except ValueError:
            result = None
        if not isinstance(result, dict):
            self._notes.add(f"{what} is no JSON object and was left out")
            return None
        if isinstance(value, str) and len(self._seen) < 10_000:
            self._seen[value] = result
        return result


def strings(value: object) -> tuple[str, ...]:
    """A JSON array's strings; empty when the column holds anything else."""
    try:
        result = parsed(value)
    except ValueError:
        return ()
    if not isinstance(result, list):
        return ()
    return tuple(item for item in result if isinstance(item, str))
