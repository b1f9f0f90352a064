"""The answer to "which runs are there?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from ctxdiff_mcp.answers.refs import RunRef, names
from ctxdiff_mcp.answers.source import Listed, Source, Unreadable
from ctxdiff_mcp.gate.captured import Captured, Name


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the list."""

    run: RunRef
    project: Name
    provider: Name
    models: tuple[Name, ...]
    agents: tuple[Name, ...]
    """Named agents in order of first appearance."""
    started_at: str | None
    """`2026-11-30T11:39:03Z`; None when the file says something else."""
    turns: int
    sessions_in_file: bool
    """True when its file holds more sessions than this one."""


@dataclass(frozen=True, slots=True)
class Runs:
    """All readable runs, newest first, and the files that could not be read."""

    rows: Sequence[RunRow]
    """Each made when it is asked for."""
    unreadable: tuple[Unreadable, ...]
    complete: bool
    """False when the folder holds more than is looked at."""
    is_read: bool
    """False when there was no time to read every file: the next list has more."""


def runs(source: Source) -> Runs:
    """Every run of the source, newest first."""
    listing = source.listing()
    return Runs(_Rows(listing.runs), listing.unreadable, listing.complete, listing.is_read)


class _Rows(Sequence[RunRow]):
    """The rows of listed runs: a folder holds thousands, and a page shows few."""

    def __init__(self, listed: Sequence[Listed]) -> None:
        self._listed = listed

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, at: int) -> RunRow: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[RunRow, ...]: ...
    def __getitem__(self, at: int | slice) -> RunRow | tuple[RunRow, ...]:
        numbers = range(len(self._listed))[at]
        if isinstance(numbers, int):
            return _row(self._listed[numbers], numbers + 1)
        return tuple(_row(self._listed[number], number + 1) for number in numbers)


def _row(listed: Listed, number: int) -> RunRow:
    session = listed.session
    return RunRow(
        run=listed.ref,
        project=Name(Captured(session.project), f"p{number}"),
        provider=Name(Captured(session.provider), f"v{number}"),
        models=tuple(names(session.models, "m").values()),
        agents=tuple(names(session.agents, "a").values()),
        started_at=listed.started,
        turns=session.calls,
        sessions_in_file=listed.has_siblings,
    )
