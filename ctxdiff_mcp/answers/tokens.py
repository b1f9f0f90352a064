"""The answer to "where do the tokens go?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from ctxdiff_analyzers.counts import turn_totals
from ctxdiff_analyzers.evictions import Eviction, evictions
from ctxdiff_analyzers.ledger import By, ledger
from ctxdiff_analyzers.prices import PriceList
from ctxdiff_analyzers.reconcile import Reconciliation, reconciliation
from ctxdiff_analyzers.schemas import Verdict, schema_use
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.tokens import streamed_without_usage, tokens_by_agent, turn_tokens
from ctxdiff_analyzers.window import Fill, window_fill

from ctxdiff_mcp.answers.asking import OPEN, Ask
from ctxdiff_mcp.answers.ledger import Bill, bill
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
    turn_count: int
    """Turns of the scope."""
    window: int | None
    """Size of the model's context window in tokens, as the user states it."""
    peak: TurnRow
    """Over all turns of the scope."""
    by_agent: tuple[AgentTokens, ...]
    """In order of first appearance; empty with fewer than two agents."""
    bill: Bill
    """What the provider billed, each call once."""
    reconciliation: Reconciliation
    """Billed prompts against recorded blocks."""
    streamed_without_usage: int
    """Streamed calls that did not ask for usage and have none."""
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
    by: By = "run",
    prices: PriceList | None = None,
    ask: Ask = OPEN,
) -> Tokens:
    """Where the tokens of a run, an agent or a turn go, and what was billed `by` what.

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
        lost = [one for one in evictions(scope).events if turn in (None, one.evicted_turn)]
        return Tokens(
            run=opened.ref,
            agent=None if agent is None else opened.agent(scope.turns[0].agent),
            turn=turn,
            turns=TurnRows(opened, scope, shown),
            turn_count=len(scope.turns),
            window=window,
            peak=turn_row(opened, turn_tokens(scope, largest)),
            by_agent=_by_agent(opened, scope),
            bill=bill(opened, scope, by, prices),
            reconciliation=reconciliation(scope),
            streamed_without_usage=sum(map(streamed_without_usage, scope.turns)),
            schemas=_schemas(opened, scope),
            lost=tuple(_lost(opened, event) for event in lost),
        )


def _by_agent(run: OpenRun, scope: Timeline) -> tuple[AgentTokens, ...]:
    sums = tokens_by_agent(scope)
    if sums is None:
        return ()
    billed = {row.agent: row.tally for row in ledger(scope, "agent").rows}
    return tuple(
        AgentTokens(
            agent=run.agent(agent),
            tokens=total,
            input_tokens=billed[agent].prompt if billed[agent].reported else None,
            output_tokens=billed[agent].output if billed[agent].reported else None,
        )
        for agent, total in sums.items()
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
