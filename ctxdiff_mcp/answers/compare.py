"""The answer to "where do a good run and a bad one part?"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ctxdiff_analyzers.runs.compare import AgentPair, Comparison, compare, counterpart
from ctxdiff_analyzers.runs.differences import Difference, Kind, Side

from ctxdiff_mcp.answers.asking import OPEN, Ask, Unanswerable
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import BlockRef, RunRef
from ctxdiff_mcp.answers.select import find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.captured import Captured, Name, captured

MOST_ROWS = 200
"""Differences that are listed; all are counted."""
BEFORE = 40
"""Code points shown before the first difference."""


@dataclass(frozen=True, slots=True)
class SideRow:
    """What one run has where the other has something else."""

    text: Captured
    """The whole text of the block, or a parameter's value."""
    start: int
    """Where an excerpt begins: a little before the first difference."""
    block: BlockRef | None
    position: int | None
    """In the turn's input; None in an answer, and for what is no block."""


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One difference, at the first turn that has it."""

    kind: Kind
    turn_old: int | None
    turn_new: int | None
    agent: Name | None
    name: Captured | None
    """Of a parameter or tool."""
    first_difference: int | None
    """Code points that both texts begin with."""
    old: SideRow | None
    new: SideRow | None


@dataclass(frozen=True, slots=True)
class AgentsCompared:
    """Two agents whose turns were laid side by side."""

    old: Name | None
    new: Name | None
    turns_old: int
    turns_new: int
    alike: int
    """Aligned turns without a difference."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two runs, or two agents, side by side."""

    run_a: RunRef
    run_b: RunRef
    asked_a: Name | None
    """The agent that was asked for; None for all. Likewise of the other run."""
    asked_b: Name | None
    agents: tuple[AgentsCompared, ...]
    only_old: tuple[Name | None, ...]
    only_new: tuple[Name | None, ...]
    first: DifferenceRow | None
    """None when the runs agree."""
    first_given: DifferenceRow | None
    """Where `first` is something that the model said: the earliest in what it was given."""
    counts: Mapping[Kind, int]
    total: int
    """Differences, all of them."""
    volatile: int
    """Blocks that differ in ids, dates or times only."""
    differences: tuple[DifferenceRow, ...]
    """In order of turns; the first `MOST_ROWS`."""


@dataclass(frozen=True, slots=True)
class ComparedTurn:
    """One turn of a run against the turn of another run that it is aligned with."""

    run: RunRef
    other: RunRef
    """The run that it is compared with."""
    turn: int
    counterpart: int | None
    """The turn of `other`; None where that run has no such turn."""
    first: DifferenceRow | None
    """Where the runs parted, when that was at this turn or before."""
    here: tuple[DifferenceRow, ...]
    """What differs at this turn and did not before."""


def compare_runs(
    source: Source,
    run: str,
    run_b: str | None = None,
    *,
    agent: str | None = None,
    agent_b: str | None = None,
    ask: Ask = OPEN,
) -> Compared:
    """Where `run_b` parts from `run`, or one agent from another.

    Args:
        source: where the runs are.
        run: the run that went well.
        run_b: the other one; None is the same run, and two agents are needed.
        agent: only this agent's turns of `run`.
        agent_b: only this agent's turns of the other; None is `agent`.
        ask: how selectors are read.

    Raises:
        Unanswerable: a selector fits nothing or several things; both sides are the same; or the
            texts may not be looked at.
        StoreError: a file went away or cannot be read.
    """
    old_run, new_run = _both(source, run, run_b, ask)
    return compare_opened(old_run, new_run, agent=agent, agent_b=agent_b, ask=ask)


def compare_opened(
    old_run: OpenRun,
    new_run: OpenRun,
    *,
    agent: str | None = None,
    agent_b: str | None = None,
    ask: Ask = OPEN,
) -> Compared:
    """`compare_runs` of two runs that are open, perhaps from two files.

    Raises:
        Unanswerable: an agent fits nothing or several, or both sides are the same.
    """
    if (agent_b is None or agent is None) and _is_one(old_run, new_run):
        raise Unanswerable("nothing_to_compare")
    old = find_scope(old_run, agent, ask)
    new = find_scope(new_run, agent if agent_b is None else agent_b, ask)
    with old_run.lock, new_run.lock:
        found = compare(old, new)
        asked = (
            None if agent is None else old_run.agent(old.turns[0].agent),
            None if agent_b is None else new_run.agent(new.turns[0].agent),
        )
        return _answer(old_run, new_run, found, asked)


def compare_turn(
    source: Source, run: str, turn: int, run_b: str, *, agent: str | None = None, ask: Ask = OPEN
) -> ComparedTurn:
    """How turn `turn` of `run` differs from the run `run_b`, which went well.

    Raises:
        Unanswerable: as `compare_runs`, or there is no such turn.
        StoreError: a file went away or cannot be read.
    """
    good, bad = _both(source, run_b, run, ask)
    return compare_opened_turn(good, bad, turn, agent=agent, ask=ask)


def compare_opened_turn(
    good: OpenRun, bad: OpenRun, turn: int, *, agent: str | None = None, ask: Ask = OPEN
) -> ComparedTurn:
    """`compare_turn` of runs that are open, perhaps from two files.

    Raises:
        Unanswerable: there is no such turn, or both are the same run.
    """
    if _is_one(good, bad):
        raise Unanswerable("nothing_to_compare")
    scope = find_scope(bad, agent, ask)
    find_turn(bad, turn, scope)
    whole = find_scope(good, None, ask)
    with good.lock, bad.lock:
        found = compare(whole, bad.timeline)
        other = counterpart(whole, bad.timeline, turn)
        here = [one for one in found.differences if one.turn_new == turn]
        parted = found.first
        if parted is not None and not _is_by(parted, turn, other):
            parted = None
        return ComparedTurn(
            run=bad.ref,
            other=good.ref,
            turn=turn,
            counterpart=other,
            first=None if parted is None else _row(good, bad, parted),
            here=tuple(_row(good, bad, one) for one in here),
        )


def _is_by(first: Difference, turn: int, counterpart: int | None) -> bool:
    """Whether a difference is there at a turn of the new run, or before."""
    if first.turn_new is not None:
        return first.turn_new <= turn
    return counterpart is None or first.turn_old is None or first.turn_old <= counterpart


def _both(source: Source, run: str, run_b: str | None, ask: Ask) -> tuple[OpenRun, OpenRun]:
    if not ask.by_text:
        raise Unanswerable("not_in_redact_mode")
    old = find_run(source, run, ask)
    return old, old if run_b is None else find_run(source, run_b, ask)


def _is_one(old: OpenRun, new: OpenRun) -> bool:
    """True when both sides are the same run, opened once or twice."""
    return old is new or (old.ref == new.ref and old.recording == new.recording)


def _answer(
    old: OpenRun, new: OpenRun, found: Comparison, asked: tuple[Name | None, Name | None]
) -> Compared:
    return Compared(
        run_a=old.ref,
        run_b=new.ref,
        asked_a=asked[0],
        asked_b=asked[1],
        agents=tuple(_agents(old, new, pair) for pair in found.agents),
        only_old=tuple(map(old.agent, found.only_old)),
        only_new=tuple(map(new.agent, found.only_new)),
        first=None if found.first is None else _row(old, new, found.first),
        first_given=None if found.first_given is None else _row(old, new, found.first_given),
        counts=found.counts,
        total=sum(found.counts.values()),
        volatile=found.volatile,
        differences=tuple(_row(old, new, one) for one in found.differences[:MOST_ROWS]),
    )


def _agents(old: OpenRun, new: OpenRun, pair: AgentPair) -> AgentsCompared:
    return AgentsCompared(
        old=old.agent(pair.old),
        new=new.agent(pair.new),
        turns_old=sum(left is not None for left, _ in pair.turns),
        turns_new=sum(right is not None for _, right in pair.turns),
        alike=pair.alike,
    )


def _row(old: OpenRun, new: OpenRun, one: Difference) -> DifferenceRow:
    owner = new if one.turn_old is None else old
    first = one.first_difference or 0
    return DifferenceRow(
        kind=one.kind,
        turn_old=one.turn_old,
        turn_new=one.turn_new,
        agent=owner.agent(one.agent),
        name=captured(one.name),
        first_difference=one.first_difference,
        old=_side(old, one.old, first),
        new=_side(new, one.new, first),
    )


def _side(run: OpenRun, side: Side | None, first: int) -> SideRow | None:
    if side is None:
        return None
    if side.content_hash is None:
        return SideRow(Captured(side.excerpt), 0, None, None)
    block = run.block(side.content_hash)
    return SideRow(run.text_of(block), max(first - BEFORE, 0), block, side.position)
