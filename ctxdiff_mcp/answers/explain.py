"""The answer to "what did the model see, what had changed, and what follows from it?"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers import explain as explaining
from ctxdiff_analyzers.findings import Code
from ctxdiff_analyzers.ranking import NEEDED, tier
from ctxdiff_analyzers.suspects import Suspect, broken_turns
from ctxdiff_analyzers.timeline import Timeline
from ctxdiff_analyzers.window import Fill

from ctxdiff_mcp.answers.asking import OPEN, Ask
from ctxdiff_mcp.answers.diff import Diff, diff_answer
from ctxdiff_mcp.answers.findings import FindingRow, finding_rows
from ctxdiff_mcp.answers.refs import RunRef
from ctxdiff_mcp.answers.select import find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.answers.stages import Removed, removed
from ctxdiff_mcp.answers.turns import Outcome, TurnRow, outcome, turn_row
from ctxdiff_mcp.gate.captured import Name

ChosenBy: TypeAlias = Literal[
    "asked",
    "failed",
    "cut_off",
    "refused",
    "tool_failed",
    "tagged_block_lost",
    "context_lost",
    "changed",
    "last",
]
"""Why this turn: the caller named it; or it is the first that broke: its call failed, its answer
was cut off or refused, something went wrong with a tool, a tagged block or other context was lost
or altered, or settings changed; or it is the last one because nothing speaks of a fault."""
MOST_OTHERS = 4
"""Other broken turns that are named."""

ASKED: ChosenBy = "asked"


@dataclass(frozen=True, slots=True)
class BrokenTurn:
    """A turn that broke, with the code of its most telling finding."""

    turn: int
    agent: Name | None
    code: Code


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
    also_broken: tuple[BrokenTurn, ...]
    """Where the turn was chosen: later turns that broke too, in order."""
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
        broken: list[Suspect] = []
        if turn is not None:
            seq, chosen_by = turn, ASKED
        elif ask.by_text:
            broken = broken_turns(opened.timeline, scope, window)
            seq, chosen_by = _first(broken, scope)
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
            also_broken=tuple(
                BrokenTurn(one.turn, opened.agent(one.finding.agent), one.finding.code)
                for one in broken
                if one.turn != seq
            )[:MOST_OTHERS],
            removed=removed(opened, this, ask),
        )


def _first(broken: list[Suspect], scope: Timeline) -> tuple[int, ChosenBy]:
    """The earliest broken turn and what broke it; the last turn where none did."""
    if not broken:
        return scope.turns[-1].seq, "last"
    finding = broken[0].finding
    reasons: dict[Code, ChosenBy] = {
        "call_failed": "failed",
        "output_truncated": "cut_off",
        "output_refused": "refused",
    }
    if finding.code.startswith("tool_") and finding.code != "tool_result_truncated":
        reason: ChosenBy = "tool_failed"
    elif finding.code == "context_evicted" and finding.evidence.names:
        reason = "tagged_block_lost"
    elif tier(finding) == NEEDED:
        reason = reasons.get(finding.code, "context_lost")
    else:
        reason = "changed"
    return broken[0].turn, reason


def first_failed(scope: Timeline) -> tuple[int, ChosenBy]:
    """The first turn that failed, or the last one: a choice that follows from no text."""
    for turn in scope.turns:
        if turn.call.error is not None:
            return turn.seq, "failed"
    return scope.turns[-1].seq, "last"
