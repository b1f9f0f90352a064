"""What the handles of redact mode stand for. For the human at the machine, never for the protocol.

The numbers are those of the listing and of the open run that redacted answers are made from.
"""

from __future__ import annotations

from dataclasses import dataclass

from ctxdiff_analyzers.content import schema_names

from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import BlockRef, RunRef
from ctxdiff_mcp.answers.source import Listed, Source, Unreadable
from ctxdiff_mcp.gate.captured import Captured, Name

SCHEMA = "tool_schema"


@dataclass(frozen=True, slots=True)
class LegendRun:
    """One run of the listing."""

    run: RunRef
    """Its name carries the handle `r1`."""
    started_at: str | None
    turns: int


@dataclass(frozen=True, slots=True)
class LegendBlock:
    """One block of the session."""

    block: BlockRef
    """Its ordinal is the handle `b1`."""
    first_turn: int | None
    """The first turn that has it, in its input or as its answer."""
    tools: tuple[Captured, ...]
    """The tools that a schema declares; empty for other blocks."""


@dataclass(frozen=True, slots=True)
class Legend:
    """Every handle that a redacted answer about one session may hold."""

    runs: tuple[LegendRun, ...]
    """All runs of the source, newest first."""
    unreadable: tuple[Unreadable, ...]
    """Their names carry the handles `f1`."""
    run: RunRef
    """The session that the handles below belong to."""
    agents: tuple[Name, ...]
    labels: tuple[Name, ...]
    blocks: tuple[LegendBlock, ...]
    """By ordinal."""


def legend(source: Source, chosen: Listed) -> Legend:
    """The handles of the source's runs, and of what the chosen one holds.

    Raises:
        StoreError: the file went away or cannot be read.
    """
    listing = source.listing()
    opened = source.open(chosen)
    with opened.lock:
        return Legend(
            runs=tuple(LegendRun(one.ref, one.started, one.session.calls) for one in listing.runs),
            unreadable=listing.unreadable,
            run=opened.ref,
            agents=tuple(opened.agents.values()),
            labels=tuple(opened.labels.values()),
            blocks=_blocks(opened),
        )


def _blocks(run: OpenRun) -> tuple[LegendBlock, ...]:
    first: dict[int, int] = {}
    for turn in run.timeline.turns:
        for at in (*turn.inputs, *turn.outputs):
            first.setdefault(at, turn.seq)
    rows = [
        LegendBlock(run.block_at(at), first.get(at), _tools(run, head.kind, head.content_hash))
        for at, head in enumerate(run.recording.blocks)
    ]
    return tuple(sorted(rows, key=lambda row: row.block.ordinal))


def _tools(run: OpenRun, kind: str, content_hash: str) -> tuple[Captured, ...]:
    if kind != SCHEMA:
        return ()
    return tuple(Captured(name) for name in schema_names(run.text(content_hash)))
