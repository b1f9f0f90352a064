"""The answer to "where do the tokens go?"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from ctxdiff_analyzers.counts import turn_totals
from ctxdiff_analyzers.evictions import Eviction, evictions
from ctxdiff_analyzers.schemas import Verdict, schema_use
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.tokens import UNLABELED, UsageRollup, turn_tokens, usage_rollup
from ctxdiff_analyzers.tokens import tokens_by_agent as sums_by_agent
from ctxdiff_analyzers.window import Fill, window_fill

from ctxdiff_mcp.answers.asking import OPEN, Ask
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import BlockRef, RunRef
from ctxdiff_mcp.answers.select import find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.answers.turns import TurnRow, turn_row
from ctxdiff_mcp.gate.captured import Captured, Name


@dataclass(frozen=True, slots=True)
class AgentTokens:
    """One agent's share of the scope."""

    agent: Name | None
    """None for the turns without an agent."""
    tokens: int
    """Sum of its turns' totals."""
    input_tokens: int | None
    """As billed; None when none of its calls reported usage."""
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class Billed:
    """What the provider billed over the scope."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    calls_with_usage: int
    calls_total: int
    streamed_without_usage: int


@dataclass(frozen=True, slots=True)
class LostBlock:
    """A tagged block that is gone for good."""

    label: Name
    agent: Name | None
    block: BlockRef
    tagged_turn: int
    entered_turn: int
    last_seen_turn: int
    evicted_turn: int


@dataclass(frozen=True, slots=True)
class UnusedSchema:
    """A tool that is offered and never called."""

    name: Captured
    tokens: int
    block: BlockRef


@dataclass(frozen=True, slots=True)
class Schemas:
    """Offered tools against called ones."""

    verdict: Verdict
    registered: int
    """Distinct tool names offered."""
    unreadable: int
    unused: tuple[UnusedSchema, ...]
    unused_tokens_per_call: int
    pct_of_avg_context: float
    calls_analyzed: int
    exact: bool
    unanswered_final_turn: bool


class TurnRows(Sequence[TurnRow]):
    """The rows of some turns, each worked out when it is looked at: an answer shows a page."""

    def __init__(self, run: OpenRun, scope: Timeline, turns: Sequence[Turn]) -> None:
        self._run = run
        self._scope = scope
        self._turns = turns

    def __len__(self) -> int:
        return len(self._turns)

    @overload
    def __getitem__(self, at: int) -> TurnRow: ...
    @overload
    def __getitem__(self, at: slice) -> TurnRows: ...
    def __getitem__(self, at: int | slice) -> TurnRow | TurnRows:
        if isinstance(at, slice):
            return TurnRows(self._run, self._scope, self._turns[at])
        with self._run.lock:
            return turn_row(self._run, turn_tokens(self._scope, self._turns[at]))


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a run, or of one turn of it."""

    run: RunRef
    agent: Name | None
    """The agent asked about; None for all."""
    turn: int | None
    """The turn asked about; None for all."""
    turns: TurnRows
    """Oldest first; the one asked about, or all."""
    window: int | None
    """Size of the model's context window in tokens, as the user states it."""
    peak: TurnRow
    """Over all turns of the scope."""
    by_agent: tuple[AgentTokens, ...]
    """In order of first appearance; empty with fewer than two agents."""
    billed: Billed
    schemas: Schemas
    lost: tuple[LostBlock, ...]
    """Tagged blocks lost in the scope; only those lost at `turn` when that is given."""

    def fill(self, row: TurnRow) -> Fill | None:
        """How full the window was at that turn; None when no window was stated."""
        return None if self.window is None else window_fill(row.total_tokens, self.window)


def tokens(
    source: Source,
    run: str,
    turn: int | None = None,
    *,
    agent: str | None = None,
    window: int | None = None,
    ask: Ask = OPEN,
) -> Tokens:
    """Where the tokens of a run, an agent or a turn go.

    Raises:
        Unanswerable: a selector fits nothing or several things.
        StoreError: the file went away or cannot be read.
        ValueError: `window` is not positive.
    """
    if window is not None and window <= 0:
        raise ValueError(f"a window of {window!r} tokens")
    opened = find_run(source, run, ask)
    with opened.lock:
        scope = find_scope(opened, agent, ask)
        shown = scope.turns if turn is None else (find_turn(opened, turn, scope),)
        totals = turn_totals(scope)
        largest = scope.turns[max(range(len(totals)), key=totals.__getitem__)]
        sums = sums_by_agent(scope)
        usage = usage_rollup(scope)
        lost = [one for one in evictions(scope).events if turn in (None, one.evicted_turn)]
        return Tokens(
            run=opened.ref,
            agent=None if agent is None else opened.agent(scope.turns[0].agent),
            turn=turn,
            turns=TurnRows(opened, scope, shown),
            window=window,
            peak=turn_row(opened, turn_tokens(scope, largest)),
            by_agent=_by_agent(opened, sums, usage) if sums is not None else (),
            billed=_billed(usage),
            schemas=_schemas(opened, scope),
            lost=tuple(_lost(opened, event) for event in lost),
        )


def _by_agent(run: OpenRun, sums: Mapping[str, int], usage: UsageRollup) -> tuple[AgentTokens, ...]:
    billed = {one.agent: one for one in usage.by_agent or ()}
    rows = []
    for agent, total in sums.items():
        own = billed.get(agent)
        rows.append(
            AgentTokens(
                agent=None if agent == UNLABELED else run.agent(agent),
                tokens=total,
                input_tokens=None if own is None else own.input_tokens,
                output_tokens=None if own is None else own.output_tokens,
            )
        )
    return tuple(rows)


def _billed(usage: UsageRollup) -> Billed:
    return Billed(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        calls_with_usage=usage.calls_with_usage,
        calls_total=usage.calls_total,
        streamed_without_usage=usage.streamed_without_usage,
    )


def _schemas(run: OpenRun, scope: Timeline) -> Schemas:
    use = schema_use(scope)
    return Schemas(
        verdict=use.verdict,
        registered=len(use.registered),
        unreadable=use.unreadable,
        unused=tuple(
            UnusedSchema(Captured(tool.name), tool.tokens, run.block(tool.content_hash))
            for tool in use.unused
        ),
        unused_tokens_per_call=use.unused_tokens_per_call,
        pct_of_avg_context=use.pct_of_avg_context,
        calls_analyzed=use.calls_analyzed,
        exact=not use.approximate,
        unanswered_final_turn=use.unanswered_final_turn,
    )


def _lost(run: OpenRun, event: Eviction) -> LostBlock:
    return LostBlock(
        label=run.label(event.label),
        agent=run.agent(event.agent),
        block=run.block(event.content_hash),
        tagged_turn=event.tagged_turn,
        entered_turn=event.entered_turn,
        last_seen_turn=event.last_seen_turn,
        evicted_turn=event.evicted_turn,
    )
