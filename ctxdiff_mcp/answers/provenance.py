"""The answer to "where did the values of this turn's tool calls come from?"."""

from __future__ import annotations

from dataclasses import dataclass

from ctxdiff_analyzers.departures import departure
from ctxdiff_analyzers.provenance import Origin, Where, origins

from ctxdiff_mcp.answers.asking import OPEN, Ask, Unanswerable
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import BlockRef, RunRef
from ctxdiff_mcp.answers.search import Left, left_of
from ctxdiff_mcp.answers.select import find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.captured import Captured, Name


@dataclass(frozen=True, slots=True)
class OriginRow:
    """One value of a tool call, and the block that it came from."""

    tool: Captured
    path: Captured
    """`order.items[0].sku`"""
    value: Captured
    where: Where
    block: BlockRef | None
    """The latest that has it; None where there is none."""
    position: int | None
    """In the turn's input, where it is there."""
    first_seen: int | None
    last_seen: int | None
    left: Left | None
    """How it left, where it is not there any more."""


@dataclass(frozen=True, slots=True)
class Origins:
    """The values of one turn's tool calls."""

    run: RunRef
    turn: int
    agent: Name | None
    rows: tuple[OriginRow, ...]
    """In order of the calls; empty where the turn called no tool with values to look for."""


def provenance(
    source: Source, run: str, turn: int, *, agent: str | None = None, ask: Ask = OPEN
) -> Origins:
    """Where the values of the tool calls that answer `turn` came from.

    Raises:
        Unanswerable: a selector fits nothing or several things, or texts may not be looked at.
        StoreError: the file went away or cannot be read.
    """
    if not ask.by_text:
        raise Unanswerable("not_in_redact_mode")
    opened = find_run(source, run, ask)
    with opened.lock:
        this = find_turn(opened, turn, find_scope(opened, agent, ask))
        found = origins(opened.timeline, this, opened.find_text)
        return Origins(
            opened.ref,
            turn,
            opened.agent(this.agent),
            tuple(_row(opened, one) for one in found),
        )


def _row(run: OpenRun, one: Origin) -> OriginRow:
    left = None
    if one.content_hash is not None and one.left_at is not None:
        block = run.index_of(one.content_hash)
        left = left_of(run, departure(run.timeline, block, one.left_at))
    return OriginRow(
        tool=Captured(one.argument.tool),
        path=Captured(one.argument.path),
        value=Captured(one.argument.value),
        where=one.where,
        block=None if one.content_hash is None else run.block(one.content_hash),
        position=one.position,
        first_seen=one.first_seen,
        last_seen=one.last_seen,
        left=left,
    )
