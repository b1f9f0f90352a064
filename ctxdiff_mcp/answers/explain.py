"""The answer to "what did the model see, what had changed, and what follows from it?"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers import explain as explaining
from ctxdiff_analyzers.evictions import evictions
from ctxdiff_analyzers.finish import is_cut_off, was_declined
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.window import Fill

from ctxdiff_mcp.answers.asking import OPEN, Ask
from ctxdiff_mcp.answers.diff import Diff, diff_answer
from ctxdiff_mcp.answers.findings import FindingRow, finding_rows
from ctxdiff_mcp.answers.refs import RunRef
from ctxdiff_mcp.answers.select import find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.answers.stages import Removed, removed
from ctxdiff_mcp.answers.turns import Outcome, TurnRow, outcome, turn_row

ChosenBy: TypeAlias = Literal[
    "asked", "failed", "cut_off", "refused", "tagged_block_lost", "context_lost", "last"
]
"""Why this turn: the caller named it, or it is the first that failed, whose answer was cut off or
refused, that lost a tagged block, or whose loss of context is a finding of high severity; or the
last one because none of these happened."""
MOST_CANDIDATES = 5
"""Turns that are explained in search of a telling one."""

ASKED: ChosenBy = "asked"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One turn explained."""

    run: RunRef
    turn: int
    chosen_by: ChosenBy
    turns_total: int
    """Of the run, all agents."""
    tokens: TurnRow
    outcome: Outcome
    window: Fill | None
    """None when no window was stated."""
    diff: Diff | None
    """From the same agent's previous turn; None for its first."""
    findings: tuple[FindingRow, ...]
    """Most telling first; empty for a healthy turn."""
    removed: Removed | None
    """What the program's own optimiser kept from this turn; None where it told of nothing."""


def explain(
    source: Source,
    run: str,
    turn: int | None = None,
    *,
    agent: str | None = None,
    window: int | None = None,
    ask: Ask = OPEN,
) -> Explanation:
    """Explain a turn; without one, the turn that most likely broke first.

    `window` is the size of the model's context window in tokens, as the user states it.

    Raises:
        Unanswerable: a selector fits nothing or several things.
        StoreError: the file went away or cannot be read.
        ValueError: `window` is not positive.
    """
    opened = find_run(source, run, ask)
    with opened.lock:
        scope = find_scope(opened, agent, ask)
        if turn is not None:
            seq, chosen_by = turn, ASKED
        elif ask.by_text:
            seq, chosen_by = suspect(opened.timeline, scope)
        else:
            seq, chosen_by = first_failed(scope)
        this = find_turn(opened, seq, scope)
        found = explaining.explain(opened.timeline, seq, window=window)
        return Explanation(
            run=opened.ref,
            turn=seq,
            chosen_by=chosen_by,
            turns_total=len(opened.timeline.turns),
            tokens=turn_row(opened, found.tokens),
            outcome=outcome(this),
            window=found.window,
            diff=None if found.diff is None else diff_answer(found.diff, opened, opened),
            findings=finding_rows(opened, found.findings),
            removed=removed(opened, this, ask),
        )


def suspect(run: Timeline, scope: Timeline) -> tuple[int, ChosenBy]:
    """The turn of `scope` that most likely broke first, and why it is suspected."""
    signs: list[tuple[int, ChosenBy]] = []
    for turn in scope.turns:
        sign = _sign(turn)
        if sign is not None:
            signs.append((turn.seq, sign))
            break
    lost = evictions(scope).events
    if lost:
        signs.append((lost[0].evicted_turn, "tagged_block_lost"))
    if not signs:
        signs += _telling_losses(run, scope)
    return min(signs, default=(scope.turns[-1].seq, "last"), key=lambda sign: sign[0])


def first_failed(scope: Timeline) -> tuple[int, ChosenBy]:
    """The first turn that failed, or the last one: a choice that follows from no text."""
    for turn in scope.turns:
        if turn.call.error is not None:
            return turn.seq, "failed"
    return scope.turns[-1].seq, "last"


def _sign(turn: Turn) -> ChosenBy | None:
    """What a call's own record says against it."""
    if turn.call.error is not None:
        return "failed"
    if is_cut_off(turn.call):
        return "cut_off"
    return "refused" if was_declined(turn.call) else None


def _telling_losses(run: Timeline, scope: Timeline) -> list[tuple[int, ChosenBy]]:
    """The first turn of few candidates that has a finding of high severity."""
    candidates = sorted(seq for group in scope.groups().values() for seq in _losing_turns(group))
    for seq in candidates[:MOST_CANDIDATES]:
        findings = explaining.explain(run, seq).findings
        if any(finding.severity == "high" for finding in findings):
            return [(seq, "context_lost")]
    return []


def _losing_turns(group: Timeline) -> list[int]:
    """The first turns at which a block of the turn before is gone for good."""
    last = {block: at for at, turn in enumerate(group.turns) for block in turn.inputs}
    gone = sorted({at + 1 for at in last.values() if at + 1 < len(group.turns)})
    return [group.turns[at].seq for at in gone[:MOST_CANDIDATES]]
