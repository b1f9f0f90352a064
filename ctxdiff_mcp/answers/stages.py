"""The answer to "what did the program hold before this turn, and what became of it?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxdiff_analyzers.diff import Counts, Entry, EntryKind
from ctxdiff_analyzers.stages import stage_diff
from ctxdiff_analyzers.timeline import Turn
from ctxdiff_capture.model import Decision, Placement, Stage

from ctxdiff_mcp.answers.asking import OPEN, Ask
from ctxdiff_mcp.answers.open_run import EXACT
from ctxdiff_mcp.answers.refs import ROLES, RunRef, known
from ctxdiff_mcp.answers.select import find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.captured import Captured, Name, captured

TOOL_RESULT = "tool_result"
"""The stage that holds a tool's raw result and no prompt."""


@dataclass(frozen=True, slots=True)
class StageChange:
    """A block that was held and not sent, put in, or sent otherwise."""

    kind: EntryKind
    role: str
    """One of `ROLES`, or `other`."""
    label: Captured
    tokens: int
    exact: bool
    text: Captured
    """Of the block that was held for `evicted`, otherwise of the one that was sent."""


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage against what was sent."""

    name: Captured
    counts: Counts
    """`evicted` were held and not sent, `added` were put in."""
    tokens_evicted: int
    tokens_added: int
    exact: bool
    changes: tuple[StageChange, ...]


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """What a planner did with one candidate, in the program's words."""

    candidate: Captured
    disposition: Captured
    reason: Captured | None
    rank: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Stages:
    """What was said before one turn, in the order in which it was said."""

    run: RunRef
    turn: int
    agent: Name | None
    stages: tuple[StageRow, ...]
    tool_results: tuple[Captured, ...]
    """Raw results of tools that entered the history cut, redacted or rewritten."""
    decisions: tuple[DecisionRow, ...]


def stages(source: Source, run: str, turn: int, *, ask: Ask = OPEN) -> Stages:
    """What the program held and decided before `turn`.

    Raises:
        Unanswerable: a selector fits nothing or several things.
        StoreError: the file went away or cannot be read.
    """
    opened = find_run(source, run, ask)
    with opened.lock:
        find_scope(opened, None, ask)
        this = find_turn(opened, turn)
        sent = opened.input_placements(this.call.id)
        held = opened.stages(this.call.id)
        decided = opened.decisions(this.call.id)
    return Stages(
        run=opened.ref,
        turn=turn,
        agent=opened.agent(this.agent),
        stages=tuple(_row(this, one, sent) for one in held if one.name != TOOL_RESULT),
        tool_results=_raw_results(held),
        decisions=tuple(map(_decision, decided)),
    )


def _row(turn: Turn, stage: Stage, sent: Sequence[Placement]) -> StageRow:
    found = stage_diff(turn.call, stage.inputs, sent)
    texts = {p.block.content_hash: p.block.text for p in (*stage.inputs, *sent)}
    return StageRow(
        Captured(stage.name),
        found.counts,
        found.tokens_evicted,
        found.tokens_added,
        not found.approximate,
        tuple(_change(entry, texts) for entry in found.entries if entry.kind != "unchanged"),
    )


def _change(entry: Entry, texts: dict[str, str]) -> StageChange:
    return StageChange(
        entry.kind,
        known(entry.role, ROLES),
        Captured(entry.label),
        entry.tokens,
        entry.token_method == EXACT,
        Captured(texts[entry.content_hash]),
    )


def _raw_results(held: Sequence[Stage]) -> tuple[Captured, ...]:
    results = (stage.inputs for stage in held if stage.name == TOOL_RESULT)
    return tuple(Captured(placed.block.text) for inputs in results for placed in inputs)


def _decision(decision: Decision) -> DecisionRow:
    return DecisionRow(
        Captured(decision.candidate),
        Captured(decision.disposition),
        captured(decision.reason),
        decision.rank,
        decision.tokens,
    )
