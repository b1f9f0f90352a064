"""The frame around captured text, and the word that makes it this result's own."""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Attributes: TypeAlias = Sequence[tuple[str, int | str]]
"""(`block`, `9c1e44aa`), (`role`, `tool`), (`turn`, 8): integers, handles and known words only."""

ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
NONCE_CHARS = 10
PLACEHOLDER = "x" * NONCE_CHARS
MOST_CHARS = 120
"""Of the opening and the closing line together, line ends included."""
DISPENSABLE = ("secrets", "turn", "escapes", "role", "finding")
"""Attributes that a frame does without, in this order, where it would cost more."""

_HANDLE = re.compile(
    r"[a-zA-Z][0-9]{1,9}|[0-9a-f]{8}|[0-9]{1,18}-[0-9]{1,18}/[0-9]{1,18}", re.ASCII
)
_KNOWN = frozenset(
    (
        *("system", "developer", "user", "assistant", "tool", "function", "model", "other"),
        *("kept", "removed", "added", "held", "sent", "candidate", "reason"),
        *("first", "second", "old", "new", "text", "sessions", "lines"),
    )
)


@dataclass(frozen=True, slots=True)
class Framed:
    """A cleaned piece of captured text with the words of its opening line.

    Raises:
        ValueError: a word is neither an integer nor a handle nor known.
    """

    attributes: Attributes
    shown: str
    """Cleaned."""

    def __post_init__(self) -> None:
        for key, value in self.attributes:
            if isinstance(value, str) and value not in _KNOWN and not _HANDLE.fullmatch(value):
                raise ValueError(f"the word of `{key}` may not stand in a frame")


def fresh_nonce(contents: Sequence[str]) -> str:
    """Ten characters that occur in none of the contents, however they are folded."""
    folded = [unicodedata.normalize("NFKC", content).casefold() for content in contents]
    while True:
        nonce = "".join(secrets.choice(ALPHABET) for _ in range(NONCE_CHARS))
        if not any(nonce in content for content in folded):
            return nonce


def frame(item: Framed, nonce: str, number: int, total: int) -> str:
    """The piece between its opening and closing line."""
    closing = f"⟦end {nonce} {number}⟧"
    attributes = list(item.attributes)
    opening = _opening(nonce, number, total, attributes)
    for name in DISPENSABLE:
        if len(opening) + len(closing) + len("\n\n\n") <= MOST_CHARS:
            break
        attributes = [one for one in attributes if one[0] != name]
        opening = _opening(nonce, number, total, attributes)
    return f"{opening}\n{item.shown}\n{closing}\n"


def _opening(nonce: str, number: int, total: int, attributes: Attributes) -> str:
    words = "".join(f" {key}={value}" for key, value in attributes)
    return f"⟦captured {nonce} {number}/{total}{words}⟧"
