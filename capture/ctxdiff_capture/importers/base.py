"""What every importer gives: a store full of calls, and a report of what could not be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LineError:
    """A line of a log that was left out."""

    line: int
    """1 is the first line of the file."""
    problem: str
    """What is wrong with it, without captured text."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    calls: int
    """Calls written; a retry is part of its call."""
    sessions: int
    errors: tuple[LineError, ...] = ()
