"""Whether the sessions of one file begin alike enough to share a cache entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ctxdiff_analyzers.cache.cross import CrossBreak, FirstCall, cross_breaks
from ctxdiff_capture.errors import StoreError

from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.places import place
from ctxdiff_mcp.answers.refs import RunRef
from ctxdiff_mcp.answers.source import Listed, Source
from ctxdiff_mcp.gate.captured import Captured

MOST_SESSIONS = 12
"""Sessions of a file that are compared: the asked one and those that started nearest before."""


@dataclass(frozen=True, slots=True)
class SessionBreak:
    """Two sessions whose first calls begin alike and part before the conversation."""

    earlier: RunRef
    later: RunRef
    section: str
    cause: str | None
    path: str | None
    first_difference: int | None
    reusable: tuple[str, ...]
    shared_tokens: int
    lost_tokens: int
    gap_s: int | None
    excerpts: tuple[Captured, ...]
    _origins: Callable[[], tuple[Captured, ...]] = field(repr=False, compare=False)

    def origins(self) -> tuple[Captured, ...]:
        """The texts that the excerpts were cut from, whole."""
        return self._origins()


def session_breaks(source: Source, run: Listed) -> tuple[SessionBreak, ...]:
    """Breaks between the first calls of the run and of the sessions around it in its file."""
    siblings = [one for one in source.listing().runs if one.file.path == run.file.path]
    at = next(k for k, one in enumerate(siblings) if one.session.id == run.session.id)
    # Newest first; the asked one may be the first session of all.
    near = siblings[max(0, at - 1) : at + MOST_SESSIONS][::-1]
    opened = [(one, first) for one in near if (first := _first(source, one)) is not None]
    calls = [FirstCall(held.timeline, held.timeline.turns[0]) for _, held in opened]
    found = cross_breaks(calls) if len(calls) > 1 else ()
    mine = run.session.id
    return tuple(
        _row(opened, one)
        for one in found
        if mine in (opened[one.first][0].session.id, opened[one.second][0].session.id)
    )


def _first(source: Source, run: Listed) -> OpenRun | None:
    """The run with its first turn; None where it has none that can be read."""
    try:
        held = source.open(run, only=(1,))
    except StoreError:
        return None
    return held if held.timeline.turns else None


def _row(opened: list[tuple[Listed, OpenRun]], one: CrossBreak) -> SessionBreak:
    sides = opened[one.first], opened[one.second]

    def origins() -> tuple[Captured, ...]:
        return tuple(
            Captured(held.text(held.recording.blocks[block].content_hash))
            for _, held in sides
            for block in held.timeline.turns[0].inputs
            if held.recording.blocks[block].role in ("system", "developer")
        )

    return SessionBreak(
        earlier=sides[0][0].ref,
        later=sides[1][0].ref,
        section=one.section,
        cause=one.cause,
        path=place(one.place.path),
        first_difference=one.place.first_difference,
        reusable=one.reusable,
        shared_tokens=one.shared_tokens,
        lost_tokens=one.lost_tokens,
        gap_s=None if one.gap_s is None else round(one.gap_s),
        excerpts=tuple(map(Captured, one.place.excerpts)),
        _origins=origins,
    )
