"""Troubles of SQLite that may pass: how they are known, and how long is waited for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

ATTEMPTS = 6
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 0.5


def pauses(attempts: int = ATTEMPTS) -> Iterator[float | None]:
    """The seconds to wait behind each attempt that fails; None behind the last one."""
    pause = _FIRST_PAUSE_SECONDS
    for _ in range(attempts - 1):
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
    yield None


def is_lock(error: sqlite3.Error) -> bool:
    """Whether another program holds a lock."""
    return _says(error, "locked", "busy")


def is_of_the_disk(error: sqlite3.Error) -> bool:
    """Whether the disk is full or fails, and nothing is known of the file.

    A limit on the size of files looks like a bad disk.
    """
    return _says(error, "is full", "disk I/O error")


def _says(error: sqlite3.Error, *words: str) -> bool:
    # By their words: Python has the numbers since 3.11.
    return isinstance(error, sqlite3.OperationalError) and any(word in str(error) for word in words)
