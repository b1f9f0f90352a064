"""The frame around captured text, and the word that makes it this result's own."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
NONCE_CHARS = 10
PLACEHOLDER = "x" * NONCE_CHARS


@dataclass(frozen=True, slots=True)
class Framed:
    """A cleaned piece of captured text with the words of its opening line."""

    attributes: str
    """`block=9c1e44aa role=tool chars=0-160/9120`: integers, handles and known words only."""
    shown: str
    """Cleaned."""


def fresh_nonce(contents: Sequence[str]) -> str:
    """Ten characters that occur in none of the contents, however they are folded."""
    folded = [content.casefold() for content in contents]
    while True:
        nonce = "".join(secrets.choice(ALPHABET) for _ in range(NONCE_CHARS))
        if not any(nonce in content for content in folded):
            return nonce


def frame(item: Framed, nonce: str, number: int, total: int) -> str:
    """The piece between its opening and closing line."""
    attributes = f" {item.attributes}" if item.attributes else ""
    return (
        f"⟦captured {nonce} {number}/{total}{attributes}⟧\n{item.shown}\n⟦end {nonce} {number}⟧\n"
    )
