"""Every error that a person can meet, in one tree.

    CtxdiffError                problem and remedy, both printed
    ├── StoreError              a trace cannot be read or written
    │   ├── NotATrace           the file is something else, or damaged
    │   │   └── UnsafeTrace     it has what no trace has: views, triggers, odd tables
    │   ├── TooLarge            the file, or a part of it, is larger than is read
    │   │   └── NoMemory        there was no memory left to read it into
    │   ├── UnsupportedVersion  written by a newer program
    │   ├── StoreBusy           another program holds the lock
    │   │   └── UnfinishedChange  a journal lies beside the file
    │   ├── StoreFull           no room is left
    │   ├── EmptyTrace          no session in it
    │   └── TraceNotFound       no such file, session, turn, agent or block
    ├── SelectionError          several answers fit, or the selectors do not go together
    └── ImportFailed            a log cannot be read at all

A programmer's mistake is a `ValueError` or `TypeError` with the value in it.
"""

from __future__ import annotations


class CtxdiffError(Exception):
    """A problem with its remedy.

    Args:
        problem: one line, what and where; no trailing full stop.
        remedy: one line, what to do about it.
    """

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem}: {self.remedy}"


class StoreError(CtxdiffError):
    """A trace cannot be read or written."""


class NotATrace(StoreError):
    """The file is something else, or damaged."""


class UnsafeTrace(NotATrace):
    """The file has what no trace has: views, triggers, tables that are not what they seem."""


class TooLarge(StoreError):
    """The file, or a part of it, is larger than is read."""


class NoMemory(TooLarge):
    """There was no memory left to read it into; there may be some when other runs are closed."""


class UnsupportedVersion(StoreError):
    """The file was written by a newer program."""


class StoreBusy(StoreError):
    """Another program holds the lock on the file."""


class UnfinishedChange(StoreBusy):
    """A journal lies beside the file. It is never played: it could change files elsewhere too."""


class StoreFull(StoreError):
    """No room is left on the disk, or for a file of that size."""


class EmptyTrace(StoreError, ValueError):
    """The file has the tables of a trace and no session."""


class TraceNotFound(StoreError):
    """No such file, session, turn, agent or block."""


class SelectionError(CtxdiffError):
    """Several answers fit, or the selectors do not go together."""


class ImportFailed(CtxdiffError):
    """A log cannot be read at all; single bad lines are reported, not raised."""
