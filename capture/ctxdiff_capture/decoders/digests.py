"""SHA-256 of request bodies: what a body has in common with the last one is not hashed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from operator import eq
from typing import Any

_MOST_BYTES = 2_000_000
"""A longer body is not remembered."""


@dataclass(frozen=True, slots=True)
class _Hashed:
    """The last body, and the state of the hash behind the first `count` of its pieces."""

    pieces: Sequence[bytes] = ()
    count: int = 0
    state: Any = field(default_factory=sha256)


class Digests:
    """Digests of one body after another. Safe to share between threads."""

    def __init__(self) -> None:
        self._last = _Hashed()

    def of(self, pieces: Sequence[bytes], size_bytes: int) -> str:
        """SHA-256 of the pieces together, which have that size, as 64 lower-case hex digits."""
        last = self._last
        same = list(map(eq, last.pieces, pieces))
        common = same.index(False) if False in same else len(same)
        if last.count > common:
            last = _Hashed()
        state = last.state.copy()
        state.update(b"".join(pieces[last.count : common]))
        is_small = size_bytes <= _MOST_BYTES
        self._last = _Hashed(pieces, common, state.copy()) if is_small else _Hashed()
        state.update(b"".join(pieces[common:]))
        return str(state.hexdigest())
