"""The cache of a whole run: every turn's verdict, repeats put together, predicted and reported."""

from __future__ import annotations

from dataclasses import dataclass

from ctxdiff_capture.light import light

from ctxdiff_analyzers.cache.reusable import predicted
from ctxdiff_analyzers.cache.situation import Situation
from ctxdiff_analyzers.cache.suspects import CacheCode
from ctxdiff_analyzers.cache.verdict import (
    Agreement,
    State,
    Verdict,
    agreement,
    cache_verdict,
    judged,
    lost_tokens,
)
from ctxdiff_analyzers.timeline import Timeline, Turn

MOST_GROUPS = 60
"""Groups that are told of: the first turn of each is looked at closely."""


@light(frozen=True, slots=True)
class CacheRow:
    """One turn in a line."""

    turn: int
    agent: str | None
    state: State
    code: CacheCode | None
    cause: str | None
    predicted: int | None
    read: int | None
    written: int | None
    prompt: int | None
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """Turns of one agent with the same cause in the same part of the request."""

    agent: str | None
    code: CacheCode
    cause: str | None
    turns: tuple[int, ...]
    """Ascending."""
    lost_tokens: int
    """Of all of them; what is not known counts as 0."""
    lost_is_billed: bool
    first: Verdict
    """With its place and both texts."""


@dataclass(frozen=True, slots=True)
class CacheReport:
    """What the provider's cache did in a selection of turns."""

    rows: tuple[CacheRow, ...]
    """One per turn, ascending."""
    groups: tuple[CacheGroup, ...]
    """The dearest first."""
    providers: tuple[str, ...]
    """Whose rules were used, in order of first use."""
    reported: int
    """Turns of which the provider reports what it read from its cache."""
    agreed: int
    """Of those with a prediction, turns where it and the report agree."""
    compared: int
    """Turns with both."""


def cache_report(whole: Timeline, scope: Timeline) -> CacheReport:
    """The verdicts of the turns of `scope`, a selection from `whole`."""
    return scope.remembered("cache report", lambda: _report(whole, scope))


@light(frozen=True, slots=True)
class _Judged:
    row: CacheRow
    section: str | None
    lost_tokens: int
    lost_is_billed: bool
    provider: str


def _report(whole: Timeline, scope: Timeline) -> CacheReport:
    all_of_them = [_judged(whole, turn) for turn in scope.turns]
    members: dict[tuple[object, ...], list[_Judged]] = {}
    for one in all_of_them:
        if one.row.code is not None:
            key = (one.row.agent, one.row.code, one.row.cause, one.section)
            members.setdefault(key, []).append(one)
    dearest = sorted(members.values(), key=_lost, reverse=True)
    rows = tuple(one.row for one in all_of_them)
    both = [row for row in rows if row.agreement != "not_reported"]
    return CacheReport(
        rows=rows,
        groups=tuple(_group(whole, mine) for mine in dearest[:MOST_GROUPS]),
        providers=tuple(dict.fromkeys(one.provider for one in all_of_them)),
        reported=sum(row.read is not None for row in rows),
        agreed=sum(row.agreement == "agrees" for row in both),
        compared=len(both),
    )


def _judged(whole: Timeline, turn: Turn) -> _Judged:
    """The verdict on a turn without its evidence, which a run of thousands cannot read."""
    case = Situation(whole, turn, closely=False)
    state, found = judged(case)
    expected = predicted(case, found)
    lost, billed = lost_tokens(case, found, expected)
    told = case.told
    row = CacheRow(
        turn=turn.seq,
        agent=turn.agent,
        state=state,
        code=None if found is None else found.code,
        cause=None if found is None else found.cause,
        predicted=expected,
        read=told.read,
        written=told.written,
        prompt=told.prompt,
        agreement=agreement(case, expected),
    )
    section = None if found is None else found.section
    return _Judged(row, section, lost or 0, billed, case.rules.name)


def _group(whole: Timeline, mine: list[_Judged]) -> CacheGroup:
    first = mine[0].row
    turn = whole.turn(first.turn)
    assert turn is not None
    assert first.code is not None
    return CacheGroup(
        agent=first.agent,
        code=first.code,
        cause=first.cause,
        turns=tuple(one.row.turn for one in mine),
        lost_tokens=_lost(mine),
        lost_is_billed=all(one.lost_is_billed for one in mine),
        first=cache_verdict(whole, turn),
    )


def _lost(mine: list[_Judged]) -> int:
    return sum(one.lost_tokens for one in mine)
