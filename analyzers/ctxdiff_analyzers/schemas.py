"""Which tools are offered and never used, and what they cost on each call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

from ctxdiff_analyzers.content import ToolCall, schema_names, tool_calls
from ctxdiff_analyzers.counts import EXACT, turn_totals
from ctxdiff_analyzers.matching import is_marker
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.window import percent

NEVER_CALLS = frozenset(("system", "developer", "tool"))
"""Roles whose blocks are never a model's tool call."""

Verdict: TypeAlias = Literal["no_schemas", "no_names", "all_used", "some_unused", "undecided"]
"""`no_schemas`: none is sent. `no_names`: schemas are sent and no name could be read, so nothing
can be said. `undecided`: what looks unused may have been called in a last answer that was not
recorded."""


@dataclass(frozen=True, slots=True)
class UnusedTool:
    """A tool that is offered and never called. `name` is captured text."""

    name: str
    tokens: int
    """Of its schema, per call. 0 for all but the first tool of a block that declares several."""
    content_hash: str


@dataclass(frozen=True, slots=True)
class SchemaUse:
    """Tools offered in the timeline against tools called in it."""

    verdict: Verdict
    schemas: int
    """Distinct schema blocks."""
    registered: tuple[str, ...]
    """Distinct names that could be read, in order of first appearance. Captured text."""
    unreadable: int
    """Schema blocks without a readable name; never reported as unused."""
    used: tuple[str, ...]
    """Registered names that were called."""
    unused: tuple[UnusedTool, ...]
    unused_tokens_per_call: int
    pct_of_avg_context: float
    """`unused_tokens_per_call` of the mean turn total, in percent with one decimal."""
    calls_analyzed: int
    approximate: bool
    unanswered_final_turn: bool
    """True when the last answer was not recorded: a tool called only there looks unused."""


def schema_use(timeline: Timeline) -> SchemaUse:
    """Offered tools against called tools, by block kind and by the structure of tool calls."""
    return timeline.remembered("schema use", lambda: _schema_use(timeline))


def registered_tools(timeline: Timeline) -> tuple[str, ...]:
    """Distinct names of the tools offered anywhere in the timeline, in order of appearance."""
    return schema_use(timeline).registered


def called_tools(timeline: Timeline) -> frozenset[str]:
    """Names of the tools that the model called, in recorded answers or in history."""
    may_call = timeline.known(
        "may call",
        lambda: frozenset(i for i in range(len(timeline.blocks)) if _may_call(timeline, i)),
    )
    answered = may_call.intersection(chain.from_iterable(t.outputs for t in timeline.turns))
    met = answered.union(timeline.present(may_call - answered))
    return frozenset(call.name for block in met for call in calls_in(timeline, block))


def calls_in(timeline: Timeline, block: int) -> tuple[ToolCall, ...]:
    """The tool calls that a block is; none for what the model did not write."""
    return timeline.fact("tool calls", block, tool_calls) if _may_call(timeline, block) else ()


def names_in(timeline: Timeline, block: int) -> tuple[str, ...]:
    """The names that a schema block declares; none for a cache marker or what cannot be read."""
    return timeline.fact("schema names", block, schema_names)


def unanswered_final_turn(timeline: Timeline) -> bool:
    """True when the answer to some agent's last turn is not in the record."""
    return any(
        is_unanswered(timeline, mine.turns[-1]) for mine in timeline.groups().values() if mine.turns
    )


def is_unanswered(timeline: Timeline, turn: Turn) -> bool:
    """True when the turn succeeded and its answer is not in the record."""
    call = turn.call
    if turn.outputs or call.error is not None:
        return False
    return not timeline.has_outputs or (call.finish_reason is None and not call.usage)


def _may_call(timeline: Timeline, block: int) -> bool:
    head = timeline.blocks[block]
    # A call is a part of its own; whole messages are read in files that other programs wrote.
    kinds = ("content_part",) if timeline.has_outputs else ("content_part", "message")
    return head.role not in NEVER_CALLS and head.kind in kinds and head.opens_json


def _schema_use(timeline: Timeline) -> SchemaUse:
    schemas = [block for block in _offered(timeline) if not is_marker(timeline, block)]
    names = {block: names_in(timeline, block) for block in schemas}
    registered = tuple(dict.fromkeys(name for found in names.values() for name in found))
    called = called_tools(timeline) if registered else frozenset[str]()
    unused = tuple(_unused(timeline, names, called))
    cost = sum(tool.tokens for tool in unused)
    totals = turn_totals(timeline)
    unanswered = unanswered_final_turn(timeline)
    return SchemaUse(
        _verdict(schemas, registered, unused, unanswered=unanswered),
        len(schemas),
        registered,
        sum(not found for found in names.values()),
        tuple(name for name in registered if name in called),
        unused,
        cost,
        percent(cost, sum(totals) / len(totals)) if totals else 0.0,
        len(totals),
        any(timeline.blocks[block].token_method != EXACT for block in schemas),
        unanswered,
    )


def _offered(timeline: Timeline) -> list[int]:
    """Distinct schema blocks in order of first appearance."""
    kinds = timeline.known(
        "schemas",
        lambda: frozenset(i for i, b in enumerate(timeline.blocks) if b.kind == "tool_schema"),
    )
    return list(timeline.present(kinds))


def _unused(
    timeline: Timeline, names: dict[int, tuple[str, ...]], called: frozenset[str]
) -> Iterator[UnusedTool]:
    told: set[str] = set()
    for block, declared in names.items():
        dead = [name for name in declared if name not in called]
        # The block's cost is only saved when nothing in it is used.
        cost = timeline.blocks[block].token_count if len(dead) == len(declared) else 0
        for name in dead:
            if name not in told or cost:
                yield UnusedTool(name, cost, timeline.blocks[block].content_hash)
            told.add(name)
            cost = 0


def _verdict(
    schemas: list[int],
    registered: tuple[str, ...],
    unused: tuple[UnusedTool, ...],
    *,
    unanswered: bool,
) -> Verdict:
    if not schemas:
        return "no_schemas"
    if not registered:
        return "no_names"
    if not unused:
        return "all_used"
    return "undecided" if unanswered else "some_unused"
