"""The answer to "where did the prefix that a cache could reuse stop matching?"."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ctxdiff_analyzers.cache.report import cache_report
from ctxdiff_analyzers.cache.verdict import cache_verdict
from ctxdiff_analyzers.prefix import Break, BreakGroup, CulpritKind, PrefixReport, prefix_report
from ctxdiff_analyzers.timeline import Timeline
from ctxdiff_analyzers.tokens import usage_rollup

from ctxdiff_mcp.answers.asking import OPEN, Ask
from ctxdiff_mcp.answers.cache_sessions import SessionBreak, session_breaks
from ctxdiff_mcp.answers.cache_verdict import RunCache, VerdictRow, run_cache, verdict_row
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import BlockRef, RunRef
from ctxdiff_mcp.answers.select import find_listed, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.captured import Name


@dataclass(frozen=True, slots=True)
class BreakRow:
    """A turn whose context no longer starts like the same agent's previous one."""

    turn_before: int
    turn: int
    agent: Name | None
    stable_blocks: int
    stable_tokens: int
    position: int
    """Of the first different block, in `turn`."""
    rebilled_tokens: int
    """From there to the end of `turn`, new content included."""
    culprit: CulpritKind
    label: Name
    block: BlockRef
    """Of `turn`; for `evicted` of the turn before."""
    before: BlockRef | None
    """Its earlier form, for `modified`."""
    moved_from: int | None
    moved_to: int | None
    first_diff_char: int | None
    is_dynamic: bool
    """A small part of a longer text differs, as a clock in a prompt does."""


@dataclass(frozen=True, slots=True)
class BreakRows:
    """Breaks with the same agent, culprit, label and position."""

    count: int
    pairs: int
    """Neighbouring turns of that agent: how often it could have broken."""
    first: BreakRow
    turns: tuple[int, ...]
    """The turns at which it broke, ascending."""


@dataclass(frozen=True, slots=True)
class CacheUse:
    """What the provider reports of its cache."""

    prompt_tokens: int
    read_tokens: int
    write_tokens: int
    calls_with_usage: int
    calls_total: int


@dataclass(frozen=True, slots=True)
class Cache:
    """Prefix stability of a run, an agent, or at one turn."""

    run: RunRef
    agent: Name | None
    """The agent asked about; None for all."""
    turn: int | None
    """The turn asked about; None for all."""
    pairs: int
    """Neighbouring turns of the same agent that were compared."""
    agents_analyzed: int | None
    """None with fewer than two agents."""
    stable_prefix_tokens_min: int
    """The shortest stable start of any pair; 0 without pairs."""
    rebilled_tokens: int
    exact: bool
    breaks: tuple[BreakRow, ...]
    """Ascending by turn; only those at `turn` when that is given."""
    groups: tuple[BreakRows, ...]
    """The same breaks, most frequent first."""
    fix_hint: bool
    """True when one volatile value in an early system block explains every break of the scope."""
    use: CacheUse
    verdict: VerdictRow | None
    """On the turn asked about; None for all."""
    verdicts: RunCache | None
    """On all turns; None for one turn."""
    sessions: tuple[SessionBreak, ...] = ()
    """Where this session and others of its file begin alike and part too early."""

    def by_identity(self) -> Cache:
        """The same breaks, grouped by place alone: which block is at fault follows from texts."""
        places: dict[_Place, list[BreakRow]] = {}
        for row in self.breaks:
            agent = None if row.agent is None else row.agent.handle
            place = agent, row.culprit == "reordered", row.position
            places.setdefault(place, []).append(row)
        pairs = {
            None if group.first.agent is None else group.first.agent.handle: group.pairs
            for group in self.groups
        }
        groups = [
            BreakRows(len(rows), pairs[agent], rows[0], tuple(row.turn for row in rows))
            for (agent, _, _), rows in places.items()
        ]
        return replace(self, groups=tuple(sorted(groups, key=lambda one: one.count, reverse=True)))


_Place = tuple[str | None, bool, int]


NO_POSITIONS = PrefixReport(0, None, None, 0, 0, (), (), fix_hint=False, approximate=False)


def cache(
    source: Source,
    run: str,
    turn: int | None = None,
    *,
    agent: str | None = None,
    ask: Ask = OPEN,
    across: bool = True,
    positions: bool = True,
) -> Cache:
    """What the provider's cache did in a run, an agent's turns, or at one turn.

    `across` compares with the other sessions of the run's file, where the whole run is asked
    about; blocks of redacted runs cannot be told alike. Without `positions` the breaks by position
    are left out, which for a run of thousands are as much work as the verdicts.

    Raises:
        Unanswerable: a selector fits nothing or several things.
        StoreError: the file went away or cannot be read.
    """
    listed = find_listed(source.listing(), run, ask)
    opened = source.open(listed)
    with opened.lock:
        scope = find_scope(opened, agent, ask)
        verdict, verdicts = None, None
        if turn is None:
            verdicts = scope.remembered(
                "answers.cache",
                lambda: run_cache(opened, cache_report(opened.timeline, scope)),
            )
        else:
            asked = find_turn(opened, turn, scope)
            verdict = verdict_row(opened, cache_verdict(opened.timeline, asked))
        report = (
            scope.remembered("answers.prefix", lambda: prefix_report(scope))
            if positions
            else NO_POSITIONS
        )
        members = _members(report.breaks, turn)
        rows = tuple(_row(opened, one) for one in report.breaks if turn in (None, one.seq_new))
        groups = [
            _group(opened, one, members[_key(one.first)])
            for one in report.groups
            if _key(one.first) in members
        ]
        return Cache(
            run=opened.ref,
            agent=None if agent is None else opened.agent(scope.turns[0].agent),
            turn=turn,
            pairs=report.pairs_analyzed,
            agents_analyzed=report.agents_analyzed,
            stable_prefix_tokens_min=report.stable_prefix_tokens_min,
            rebilled_tokens=sum(row.rebilled_tokens for row in rows),
            exact=not report.approximate,
            breaks=rows,
            groups=tuple(sorted(groups, key=lambda one: one.count, reverse=True)),
            fix_hint=report.fix_hint,
            use=_use(scope, turn),
            verdict=verdict,
            verdicts=verdicts,
            sessions=session_breaks(source, listed) if across and turn is None else (),
        )


_Key = tuple[str | None, CulpritKind, str, int]


def _key(one: Break) -> _Key:
    return one.agent, one.culprit_kind, one.culprit_label, one.divergent_position


def _members(breaks: tuple[Break, ...], turn: int | None) -> dict[_Key, list[Break]]:
    found: dict[_Key, list[Break]] = {}
    for one in breaks:
        if turn in (None, one.seq_new):
            found.setdefault(_key(one), []).append(one)
    return found


def _group(run: OpenRun, group: BreakGroup, members: list[Break]) -> BreakRows:
    return BreakRows(
        count=len(members),
        pairs=group.denominator,
        first=_row(run, members[0]),
        turns=tuple(one.seq_new for one in members),
    )


def _row(run: OpenRun, one: Break) -> BreakRow:
    before = one.content_hash_before
    return BreakRow(
        turn_before=one.seq_old,
        turn=one.seq_new,
        agent=run.agent(one.agent),
        stable_blocks=one.stable_blocks,
        stable_tokens=one.stable_tokens,
        position=one.divergent_position,
        rebilled_tokens=one.rebilled_tokens,
        culprit=one.culprit_kind,
        label=run.label(one.culprit_label),
        block=run.block(one.content_hash),
        before=None if before is None else run.block(before),
        moved_from=one.moved_from,
        moved_to=one.moved_to,
        first_diff_char=one.first_diff_char,
        is_dynamic=one.is_dynamic,
    )


def _use(scope: Timeline, turn: int | None) -> CacheUse:
    if turn is None:
        usage = usage_rollup(scope)
        return CacheUse(
            usage.input_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.calls_with_usage,
            usage.calls_total,
        )
    this = scope.turn(turn)
    billed = None if this is None else this.usage
    if billed is None or billed.prompt_tokens is None:
        return CacheUse(0, 0, 0, 0, 1)
    read, written = billed.cache_read_tokens or 0, billed.cache_write_tokens or 0
    return CacheUse(billed.prompt_tokens, read, written, 1, 1)
