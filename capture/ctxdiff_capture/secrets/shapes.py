"""Credentials that say what they are by a literal prefix. The prefixes are data: `shapes.json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("shapes.json")

# A word's start: also right after an escape of JSON or of an address, whose last character is a
# letter or a digit. ASCII: a Chinese letter in front of a key is a boundary.
WORD_START = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})|(?<=\x1b\[0m))"
)


SIGNS = "-_./+\\%"
"""Beside ASCII letters and digits, what prefixes and what follows them are made of."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of credential with one prefix."""

    kind: str
    prefix: str
    source: str
    """Of an expression that matches where the prefix begins."""
    least: int
    """Characters of the shortest match, all of them letters, digits or among `SIGNS`."""
    is_random: bool
    """True when the rest must also look random: the prefix alone says too little."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression. Most are never needed, and a hundred take some time to compile."""
        return _compiled(self.source)


@dataclass(frozen=True, slots=True)
class Names:
    """Under which names programs keep credentials: lower case, words joined by `_`."""

    of_passwords: frozenset[str]
    of_keys: frozenset[str]
    in_addresses: frozenset[str]


@cache
def shapes() -> tuple[Shape, ...]:
    """All of them; an earlier one goes before a later one."""
    data = _data()
    return tuple(
        Shape(
            row["kind"],
            prefix,
            _source(prefix, data["alphabets"][row["alphabet"]], row["min"], row.get("max")),
            len(prefix) + row["min"],
            row.get("is_random", False),
        )
        for row in data["shapes"]
        for prefix in row["prefixes"]
    )


@cache
def names() -> Names:
    """The names."""
    found = _data()["names"]
    return Names(
        frozenset(found["of_passwords"]),
        frozenset(found["of_keys"]),
        frozenset(found["in_addresses"]),
    )


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII)


def _source(prefix: str, alphabet: str, least: int, most: int | None) -> str:
    character = f"[{alphabet}]"
    if "/" in alphabet:  # as JSON and addresses may spell it
        character = rf"(?:{character}|\\/|%2[BFbf])"
    # Nothing follows an open repetition, so that it never goes back: a search is linear.
    rest = f"{character}{{{least},}}" if most is None else f"{character}{{{least},{most}}}"
    end = "" if most is None else f"(?![{alphabet}])"
    return f"{WORD_START}{re.escape(prefix)}{rest}{end}"


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return found
