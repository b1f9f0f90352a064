"""What the model saw at one turn, what had changed, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ctxdiff_analyzers.detectors import DETECTORS
from ctxdiff_analyzers.detectors.scene import Scene
from ctxdiff_analyzers.diff import TurnDiff, turn_diff
from ctxdiff_analyzers.findings import Code, Finding, Severity
from ctxdiff_analyzers.lineage import predecessor
from ctxdiff_analyzers.matching import Matching, matching
from ctxdiff_analyzers.prefix import prefix_break
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.tokens import TurnTokens, turn_tokens
from ctxdiff_analyzers.window import Fill, window_fill

COSTS: frozenset[Code] = frozenset(
    (
        "cache_break",
        "cache_expired",
        "cache_unused",
        "dead_schemas",
        "growth_spike",
        "usage_missing",
        "call_retried",
    )
)
"""Findings that cost money or time and leave the answer as it is."""
GRAVITY: tuple[Severity, ...] = ("high", "medium", "low")
FIRST: tuple[Code, ...] = ("window_pressure", "call_failed", "output_refused", "output_truncated")
"""Among equally grave ones, how the call ended."""
LAST: tuple[Code, ...] = ("usage_missing", "dead_schemas")
"""What holds for the whole run comes after what happened at the turn."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One turn explained."""

    seq: int
    agent: str | None
    tokens: TurnTokens
    previous: int | None
    """The same agent's turn that this one goes on from; None for its first."""
    diff: TurnDiff | None
    """From `previous` to this turn; None for the agent's first."""
    window: Fill | None
    """Of the billed prompt, or of the blocks where none was billed; None without a window."""
    findings: tuple[Finding, ...]
    """Most telling first; empty for a healthy turn."""


def explain(
    timeline: Timeline, seq: int, agent: str | None = None, window: int | None = None
) -> Explanation:
    """Explain turn `seq`.

    Args:
        timeline: the whole session, all agents.
        seq: the turn's number.
        agent: when given, the turn must be this agent's.
        window: size of the model's context window in tokens, as the user states it.

    Raises:
        ValueError: there is no such turn, it is another agent's, or `window` is not positive.
    """
    turn = timeline.turn(seq)
    if turn is None:
        raise ValueError(f"no turn {seq!r}")
    if agent is not None and turn.agent != agent:
        raise ValueError(f"turn {seq!r} is not of agent {agent!r}")
    mine = timeline.of_agent(turn.agent)
    tokens = turn_tokens(mine, turn)
    previous = predecessor(mine, turn)
    billed = tokens.usage.prompt_tokens
    used = tokens.total_tokens if billed is None else billed
    fill = None if window is None else window_fill(used, window)
    scene = Scene(
        timeline,
        mine,
        turn,
        previous,
        _since(mine, previous, turn),
        None if previous is None else prefix_break(mine, previous, turn),
        fill,
    )
    found = [finding for detector in DETECTORS for finding in detector(scene)]
    return Explanation(
        seq,
        turn.agent,
        tokens,
        None if previous is None else previous.seq,
        None if previous is None else turn_diff(previous, turn, mine),
        fill,
        ranked(found, seq),
    )


def ranked(findings: Iterable[Finding], seq: int) -> tuple[Finding, ...]:
    """Most telling first.

    What removed or falsified something that the model needed comes before what costs money; then
    the graver one, the one that became true at turn `seq`, the larger one.
    """
    return tuple(
        sorted(
            findings,
            key=lambda finding: (
                finding.code in COSTS,
                finding.code in LAST,
                GRAVITY.index(finding.severity),
                finding.turn != seq,
                FIRST.index(finding.code) if finding.code in FIRST else len(FIRST),
                -(finding.tokens or 0),
            ),
        )
    )


def _since(mine: Timeline, previous: Turn | None, turn: Turn) -> Matching:
    if previous is None:
        return Matching((), (), (), tuple(range(len(turn.inputs))))
    return matching(previous, turn, mine)
