"""Which tools are offered and never used, and what they cost on each call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate, chain
from typing import Any, Literal, TypeAlias

from ctxdiff_analyzers.content import ToolCall, schema_names, tool_calls, without_markers
from ctxdiff_analyzers.counts import EXACT, turn_totals
from ctxdiff_analyzers.matching import is_marker
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.window import percent

NEVER_CALLS = frozenset(("system", "developer", "tool"))
"""Roles whose blocks are never a model's tool call."""
DECLARATIONS = ("function_declarations", "functionDeclarations")

Verdict: TypeAlias = Literal["no_schemas", "no_names", "all_used", "some_unused", "undecided"]
"""`no_schemas`: none is sent. `no_names`: schemas are sent and no name could be read, so nothing
can be said. `undecided`: what looks unused may have been called in a last answer that was not
recorded."""


@dataclass(frozen=True, slots=True)
class UnusedTool:
    """A tool that is offered and never called. `name` is captured text."""

    name: str
    tokens: int
    """Of its schema, per call; of a block that declares several tools its share."""
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


@dataclass(frozen=True, slots=True)
class Declared:
    """One tool that a schema block declares."""

    name: str
    """Captured text; a nameless tool goes by its content's hash."""
    digest: str
    """Of what is declared, cache markers apart."""


def declared_in(timeline: Timeline, block: int) -> tuple[Declared, ...]:
    """The tools that a schema block declares, in its order; none for a cache marker."""
    return timeline.fact("declared", block, _declared_in)


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
        if not dead:
            continue
        head = timeline.blocks[block]
        shares = timeline.fact("schema shares", block, _shares) if len(declared) > 1 else ()
        costs = dict(zip(declared, _split(head.token_count, shares or (1,)), strict=False))
        for name in dead:
            if name not in told or costs.get(name):
                yield UnusedTool(name, costs.get(name, 0), head.content_hash)
            told.add(name)


def _shares(text: str) -> tuple[int, ...]:
    """The lengths of the declarations in a block that has several, in order of their names."""
    return tuple(len(one) for one in _listed(text) if schema_names(one))


def _listed(text: str) -> list[str]:
    """The declarations in a block that has a list of them, as JSON."""
    try:
        block = json.loads(text) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return []
    found: list[Any] = next((block[k] for k in DECLARATIONS if isinstance(block.get(k), list)), [])
    return [json.dumps(one, sort_keys=True) for one in found]


def _declared_in(text: str) -> tuple[Declared, ...]:
    bare = without_markers(text)
    if not bare:
        return ()
    names = schema_names(bare)
    listed = [one for one in _listed(bare) if schema_names(one)]
    if not names or len(names) != len(listed):
        listed = [bare] * max(len(names), 1)
    digests = [sha256(one.encode("utf-8", "surrogatepass")).hexdigest() for one in listed]
    return tuple(map(Declared, names or (digests[0][:12],), digests))


def _split(tokens: int, shares: tuple[int, ...]) -> list[int]:
    """`tokens` in proportion to the shares; the parts sum up to it."""
    total, given, parts = sum(shares), 0, []
    for upto in accumulate(shares):
        parts.append(tokens * upto // total - given)
        given += parts[-1]
    return parts


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
