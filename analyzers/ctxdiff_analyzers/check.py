"""Thresholds over a run, for a gate in continuous integration. Results only; texts elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers.timeline import Timeline

AssertionName: TypeAlias = Literal[
    "max-context",
    "max-context-pct",
    "require-stable-prefix",
    "no-dead-schemas",
    "no-tagged-eviction",
    "max-growth",
    "max-growth-pct",
]
Vacuous: TypeAlias = Literal[
    "fewer_than_two_turns",
    "no_same_agent_pair",
    "no_schemas",
    "no_names",
    "nothing_tagged",
    "all_pairs_start_empty",
]
Why: TypeAlias = Literal["over", "unmeasured", "break", "unused", "evicted", "undecided"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What is asserted; None or False is not asked for."""

    max_context: int | None = None
    max_context_pct: float | None = None
    context_window: int | None = None
    require_stable_prefix: bool = False
    no_dead_schemas: bool = False
    no_tagged_eviction: bool = False
    max_growth: int | None = None
    max_growth_pct: float | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """One offending turn, pair, tool, block or group of breaks."""

    why: Why
    seq: int | None = None
    """The turn; the newer one of a pair. None for a tool."""
    seq_old: int | None = None
    agent: str | None = None
    value: float | None = None
    """Tokens, percent, growth or unmeasured blocks, as the assertion measures."""
    excess: float | None = None
    """`value` minus the limit, for `over`."""
    name: str | None = None
    """Tool, tag or label of the culprit. Captured text."""
    content_hash: str | None = None
    count: int | None = None
    """Breaks in the group."""
    denominator: int | None = None
    """Pairs that could have broken."""
    approximate: bool = False


@dataclass(frozen=True, slots=True)
class HighWater:
    """The largest value met."""

    value: float
    seq: int
    agent: str | None
    approximate: bool


@dataclass(frozen=True, slots=True)
class Assertion:
    """The result of one assertion."""

    name: AssertionName
    passed: bool
    violations: tuple[Violation, ...]
    """Over-limit rows first, then unmeasured ones."""
    vacuous: Vacuous | None
    """Why a pass says nothing, or None when something was measured."""
    limit: float | None
    high_water: HighWater | None
    measured: int
    """Turns, pairs, tools or tagged blocks that were looked at."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """All assertions that were asked for, in fixed order."""

    turns_analyzed: int
    assertions: tuple[Assertion, ...]

    @property
    def passed(self) -> bool:
        """True when there were turns and every assertion holds."""
        return self.turns_analyzed > 0 and all(a.passed for a in self.assertions)


def check(timeline: Timeline, thresholds: Thresholds) -> CheckResult:
    """Hold a timeline against thresholds.

    Raises:
        ValueError: nothing is asserted, a limit is out of range, or the percentage has no window.
    """
    raise NotImplementedError
