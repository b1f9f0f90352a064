"""Thresholds over a run, for a gate in continuous integration. Results only; texts elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ctxdiff_analyzers.counts import EXACT, is_approximate, turn_totals, unmeasured_blocks
from ctxdiff_analyzers.evictions import evictions
from ctxdiff_analyzers.growth import growth_pairs
from ctxdiff_analyzers.prefix import prefix_report
from ctxdiff_analyzers.schemas import schema_use
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.window import percent

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
    """Hold a timeline against thresholds; a timeline without turns gets no assertions.

    Raises:
        ValueError: nothing is asserted, a limit is out of range, or the percentage has no window.
    """
    _validate(thresholds)
    t = thresholds
    asked: list[tuple[bool, Callable[[], Assertion]]] = [
        (t.max_context is not None, lambda: _max_context(timeline, t)),
        (t.max_context_pct is not None, lambda: _max_context_pct(timeline, t)),
        (t.require_stable_prefix, lambda: _stable_prefix(timeline)),
        (t.no_dead_schemas, lambda: _dead_schemas(timeline)),
        (t.no_tagged_eviction, lambda: _tagged_eviction(timeline)),
        (t.max_growth is not None, lambda: _growth(timeline, "max-growth", t.max_growth or 0)),
        (
            t.max_growth_pct is not None,
            lambda: _growth(timeline, "max-growth-pct", t.max_growth_pct or 0.0),
        ),
    ]
    turns = len(timeline.turns)
    return CheckResult(turns, tuple(ask() for wanted, ask in asked if wanted and turns))


def _validate(t: Thresholds) -> None:
    if t == Thresholds(context_window=t.context_window):
        raise ValueError("no assertion is asked for")
    positive = {
        "max_context": t.max_context,
        "max_context_pct": t.max_context_pct,
        "context_window": t.context_window,
    }
    for name, value in positive.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, not {value!r}")
    for name, value in {"max_growth": t.max_growth, "max_growth_pct": t.max_growth_pct}.items():
        if value is not None and not value >= 0:
            raise ValueError(f"{name} must be 0 or more, not {value!r}")
    if t.max_context_pct is not None and t.context_window is None:
        raise ValueError("max_context_pct needs context_window")


@dataclass(frozen=True, slots=True)
class _Measure:
    """What a budget assertion looks at: one turn, or one pair of turns."""

    value: float
    over: float | None
    """By how much the limit is exceeded; None when it is not."""
    turn: Turn
    old: Turn | None
    unmeasured: int
    approximate: bool


def _budget(name: AssertionName, limit: float, measures: Sequence[_Measure]) -> Assertion:
    """A pass or failure over measured turns or pairs; one that is a floor cannot pass."""
    over = [_violation("over", m, m.value) for m in measures if m.over is not None]
    floors = [
        _violation("unmeasured", m, m.unmeasured)
        for m in measures
        if m.over is None and m.unmeasured
    ]
    top = max(measures, key=lambda m: m.value, default=None)
    return Assertion(
        name,
        not over and not floors,
        (*over, *floors),
        None,
        limit,
        HighWater(top.value, top.turn.seq, top.turn.agent, top.approximate) if top else None,
        len(measures),
    )


def _violation(why: Why, m: _Measure, value: float) -> Violation:
    return Violation(
        why,
        m.turn.seq,
        None if m.old is None else m.old.seq,
        m.turn.agent,
        value,
        m.over,
        approximate=m.approximate,
    )


def _max_context(timeline: Timeline, t: Thresholds) -> Assertion:
    limit = t.max_context or 0
    totals = zip(timeline.turns, turn_totals(timeline), strict=True)
    return _budget(
        "max-context",
        limit,
        [
            _of_turn(timeline, turn, total, total - limit if total > limit else None)
            for turn, total in totals
        ],
    )


def _max_context_pct(timeline: Timeline, t: Thresholds) -> Assertion:
    limit, window = t.max_context_pct or 0.0, t.context_window or 1
    measures = []
    for turn, total in zip(timeline.turns, turn_totals(timeline), strict=True):
        pct = percent(total, window)
        # The budget is compared exactly, the percentage is what is shown.
        over = pct - limit if total > window * limit / 100 else None
        measures.append(_of_turn(timeline, turn, pct, over))
    return _budget("max-context-pct", limit, measures)


def _of_turn(timeline: Timeline, turn: Turn, value: float, over: float | None) -> _Measure:
    unmeasured = unmeasured_blocks(timeline, turn)
    return _Measure(value, over, turn, None, unmeasured, is_approximate(timeline, turn))


def _growth(timeline: Timeline, name: AssertionName, limit: float) -> Assertion:
    pairs = growth_pairs(timeline)
    measures = []
    for pair in pairs:
        value = pair.growth if name == "max-growth" else pair.growth_pct
        if value is None:
            continue
        over = value - limit if value > limit else None
        measures.append(
            _Measure(value, over, pair.new, pair.old, pair.unmeasured_blocks, pair.approximate)
        )
    result = _budget(name, limit, measures)
    if not pairs:
        return replace(result, vacuous=_no_pairs(timeline))
    return result if measures else replace(result, vacuous="all_pairs_start_empty")


def _stable_prefix(timeline: Timeline) -> Assertion:
    report = prefix_report(timeline)
    rows = tuple(
        Violation(
            "break",
            group.first.seq_new,
            group.first.seq_old,
            group.agent,
            group.divergent_position,
            name=group.culprit_label,
            content_hash=group.first.content_hash,
            count=group.count,
            denominator=group.denominator,
            approximate=report.approximate,
        )
        for group in report.groups
    )
    vacuous = None if report.pairs_analyzed else _no_pairs(timeline)
    return Assertion(
        "require-stable-prefix", not rows, rows, vacuous, None, None, report.pairs_analyzed
    )


def _dead_schemas(timeline: Timeline) -> Assertion:
    use = schema_use(timeline)
    rows = tuple(
        Violation(
            "undecided" if use.verdict == "undecided" else "unused",
            value=tool.tokens,
            name=tool.name,
            content_hash=tool.content_hash,
            approximate=use.approximate,
        )
        for tool in use.unused
    )
    vacuous: Vacuous | None = None
    if use.verdict in ("no_schemas", "no_names"):
        vacuous = "no_schemas" if use.verdict == "no_schemas" else "no_names"
    return Assertion("no-dead-schemas", not rows, rows, vacuous, None, None, len(use.registered))


def _tagged_eviction(timeline: Timeline) -> Assertion:
    report = evictions(timeline)
    rows = tuple(
        Violation(
            "evicted",
            event.evicted_turn,
            event.last_seen_turn,
            event.agent,
            event.tokens,
            name=event.label,
            content_hash=event.content_hash,
            approximate=event.token_method != EXACT,
        )
        for event in report.events
    )
    vacuous: Vacuous | None = None
    if not report.tagged_blocks:
        vacuous = "nothing_tagged"
    elif not report.pairs_analyzed:
        vacuous = _no_pairs(timeline)
    return Assertion(
        "no-tagged-eviction", not rows, rows, vacuous, None, None, report.tagged_blocks
    )


def _no_pairs(timeline: Timeline) -> Vacuous:
    return "fewer_than_two_turns" if len(timeline.turns) < 2 else "no_same_agent_pair"
