"""The provider's cache in a run, an agent's turns or at one turn, as answers carry it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ctxdiff_analyzers.cache.report import CacheGroup, CacheReport, CacheRow
from ctxdiff_analyzers.cache.rules import rules_read
from ctxdiff_analyzers.cache.suspects import CacheCode
from ctxdiff_analyzers.cache.verdict import Agreement, State, Verdict
from ctxdiff_analyzers.findings import Certainty
from ctxdiff_capture.light import light

from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.places import place
from ctxdiff_mcp.answers.refs import BlockRef
from ctxdiff_mcp.gate.captured import Captured, Name


@light(frozen=True, slots=True)
class TurnCache:
    """One turn in a line."""

    turn: int
    agent: Name | None
    state: State
    code: CacheCode | None
    cause: str | None
    predicted: int | None
    read: int | None
    written: int | None
    prompt: int | None
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A verdict of `ctxdiff_analyzers.cache.verdict`, field by field."""

    turn: int
    agent: Name | None
    provider: str
    """Whose rules were used: `anthropic`, `openai`, `gemini`, `bedrock`, `other`."""
    state: State
    code: CacheCode | None
    cause: str | None
    against: int | None
    predicted: int | None
    could_be_read: int | None
    read: int | None
    written: int | None
    prompt: int | None
    agreement: Agreement
    lost_tokens: int | None
    lost_is_billed: bool
    section: str | None
    path: str | None
    """In words of the protocol alone, see `answers.places`."""
    first_difference: int | None
    reusable: tuple[str, ...]
    certainty: Certainty
    why: str | None
    source: str | None
    """Where and when the number was read that the verdict rests on."""
    remedy: str | None
    since: int | None
    vendor_reason: str | None
    """What the provider itself says of the miss, one of a closed set."""
    vendor_missed_tokens: int | None
    blocks: tuple[BlockRef, ...]
    positions: tuple[int, ...]
    names: tuple[Captured, ...]
    excerpts: tuple[Captured, ...]
    counts: tuple[tuple[str, int], ...]
    _origins: Callable[[], tuple[Captured, ...]] = field(repr=False, compare=False)

    def origins(self) -> tuple[Captured, ...]:
        """The texts that names and excerpts were cut from, whole."""
        return self._origins()


@dataclass(frozen=True, slots=True)
class CauseRows:
    """Turns of one agent with the same cause in the same part of the request."""

    turns: tuple[int, ...]
    lost_tokens: int
    lost_is_billed: bool
    first: VerdictRow


@dataclass(frozen=True, slots=True)
class RunCache:
    """The verdicts of a selection of turns."""

    turns: tuple[TurnCache, ...]
    """Ascending."""
    causes: tuple[CauseRows, ...]
    """The dearest first."""
    providers: tuple[str, ...]
    rules_read: str
    """When the rules were read: `2026-10`."""
    reported: int
    """Turns of which the provider reports what it read from its cache."""
    compared: int
    """Turns with a prediction and a report."""
    agreed: int
    """Of those, turns where both agree."""


def run_cache(run: OpenRun, report: CacheReport) -> RunCache:
    """The report with the trace's words captured."""
    return RunCache(
        turns=tuple(_turn(run, row) for row in report.rows),
        causes=tuple(_cause(run, group) for group in report.groups),
        providers=report.providers,
        rules_read=rules_read(),
        reported=report.reported,
        compared=report.compared,
        agreed=report.agreed,
    )


def verdict_row(run: OpenRun, one: Verdict) -> VerdictRow:
    """The verdict with the trace's words captured."""
    told = one.reported
    return VerdictRow(
        turn=one.turn,
        agent=run.agent(one.agent),
        provider=one.provider,
        state=one.state,
        code=one.code,
        cause=one.cause,
        against=one.against,
        predicted=one.predicted,
        could_be_read=one.could_be_read,
        read=told.read,
        written=told.written,
        prompt=told.prompt,
        agreement=one.agreement,
        lost_tokens=one.lost_tokens,
        lost_is_billed=one.lost_is_billed,
        section=one.section,
        path=place(one.path),
        first_difference=None if one.place is None else one.place.first_difference,
        reusable=tuple(filter(None, map(place, one.reusable))),
        certainty=one.certainty,
        why=one.why,
        source=one.source,
        remedy=one.remedy,
        since=one.since,
        vendor_reason=None if one.vendor is None else one.vendor.reason,
        vendor_missed_tokens=None if one.vendor is None else one.vendor.missed_tokens,
        blocks=run.blocks(one.content_hashes),
        positions=one.positions,
        names=tuple(map(Captured, one.names)),
        excerpts=tuple(map(Captured, one.excerpts)),
        counts=one.counts,
        _origins=lambda: _origins(run, one),
    )


def _turn(run: OpenRun, row: CacheRow) -> TurnCache:
    return TurnCache(
        row.turn,
        run.agent(row.agent),
        row.state,
        row.code,
        row.cause,
        row.predicted,
        row.read,
        row.written,
        row.prompt,
        row.agreement,
    )


def _cause(run: OpenRun, group: CacheGroup) -> CauseRows:
    return CauseRows(
        group.turns, group.lost_tokens, group.lost_is_billed, verdict_row(run, group.first)
    )


def _origins(run: OpenRun, one: Verdict) -> tuple[Captured, ...]:
    """The blocks at fault, and the values of both calls' parameters."""
    shown = [run.stored_hash(block) for block in run.blocks(one.content_hashes)]
    texts = [run.text(digest) for digest in shown]
    for seq in (one.turn, one.against):
        turn = None if seq is None else run.timeline.turn(seq)
        if turn is not None:
            texts += [str(value) for value in turn.call.params.values()]
            texts += [turn.call.response_model or ""]
    return tuple(Captured(text) for text in texts if text)
