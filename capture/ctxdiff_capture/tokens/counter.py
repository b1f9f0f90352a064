"""How many tokens a text has: exact where we know the vocabulary, else a marked estimate."""

from __future__ import annotations

from threading import Lock
from typing import Protocol

from ctxdiff_capture.model import TokenMethod
from ctxdiff_capture.tokens.pieces import countable_pieces
from ctxdiff_capture.tokens.vocabulary import o200k

EXACT_PROVIDER = "openai"
"""The only attribution label whose texts are counted with a vocabulary."""
REMEMBERED = 65_536
"""Distinct texts whose count is kept; about 10 MB."""


class Counter(Protocol):
    """Counts the tokens of a block's text."""

    def count(self, text: str, provider: str, content_hash: str) -> tuple[int, TokenMethod]:
        """Tokens of `text` (0 or more) and how they were found.

        Args:
            text: any text, lone surrogates included.
            provider: attribution label of the call.
            content_hash: identity of the text, the key under which the count is remembered.
        """


class Table(Protocol):
    """A vocabulary that counts."""

    def count(self, text: str) -> int | None:
        """Tokens of `text`; None when it cannot tell."""


class TokenCounter:
    """Counts, remembering by content hash. Never raises, never touches the network.

    Args:
        vocabulary: loads the table on first need; texts are estimated where it cannot be loaded.
        remembered: how many counts are kept; the oldest leave first.
    """

    def __init__(self, vocabulary: Table = o200k, *, remembered: int = REMEMBERED) -> None:
        self._vocabulary = vocabulary
        self._remembered = remembered
        self._counts: dict[str, tuple[int, TokenMethod]] = {}
        self._lock = Lock()

    def count(self, text: str, provider: str, content_hash: str) -> tuple[int, TokenMethod]:
        """Tokens of `text` and how they were found. See `Counter`."""
        if provider != EXACT_PROVIDER:
            return estimate(text), "estimate"
        if not text:
            return 0, "tiktoken"
        with self._lock:
            known = self._counts.pop(content_hash, None)
            if known is not None:
                self._counts[content_hash] = known  # a hit moves to the young end
                return known
        counted = self._counted(text)
        with self._lock:
            self._counts[content_hash] = counted
            if len(self._counts) > self._remembered:
                del self._counts[next(iter(self._counts))]
        return counted

    def _counted(self, text: str) -> tuple[int, TokenMethod]:
        tokens = 0
        method: TokenMethod = "tiktoken"
        for piece, is_exact in countable_pieces(text):
            counted = self._vocabulary.count(piece)
            if counted is None or not is_exact:
                method = "estimate"
            tokens += estimate(piece) if counted is None else counted
        return tokens, method


def estimate(text: str) -> int:
    """A quarter of the code points, rounded up; 0 for no text."""
    return -(-len(text) // 4)
