"""What the model saw at one turn, what had changed, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from ctxdiff_analyzers.diff import TurnDiff
from ctxdiff_analyzers.findings import Finding
from ctxdiff_analyzers.timeline import Timeline
from ctxdiff_analyzers.tokens import TurnTokens
from ctxdiff_analyzers.window import Fill


@dataclass(frozen=True, slots=True)
class Explanation:
    """One turn explained."""

    seq: int
    agent: str | None
    tokens: TurnTokens
    previous: int | None
    """The same agent's turn before this one; None for its first."""
    diff: TurnDiff | None
    """From `previous` to this turn; None for the agent's first."""
    window: Fill | None
    """None when no window was stated."""
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
    raise NotImplementedError
