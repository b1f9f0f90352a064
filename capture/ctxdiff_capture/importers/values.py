"""What importers find in a log, and what an import did."""

from __future__ import annotations

from dataclasses import dataclass

from ctxdiff_capture.model import Exchange


@dataclass(frozen=True, slots=True)
class ImportedCall:
    """A call read from a log."""

    line: int
    """1 is the first line of the file."""
    exchange: Exchange
    session: str | None = None
    """Calls with the same text belong to one session; None is the file's own."""
    attempt: int = 1
    """2 and up are retries of an earlier call."""
    at: int = 0
    """Bytes of the log before the line."""


@dataclass(frozen=True, slots=True)
class LineError:
    """A line of a log that was left out."""

    line: int
    """1 is the first line of the file."""
    problem: str
    """What is wrong with it; may quote a name from the log."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    calls: int
    """Calls written; a retry is part of its call."""
    sessions: int
    errors: tuple[LineError, ...] = ()
