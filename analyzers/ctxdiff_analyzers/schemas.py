"""Which tools are offered and never used, and what they cost on each call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers.timeline import Timeline

Verdict: TypeAlias = Literal["no_schemas", "no_names", "all_used", "some_unused", "undecided"]
"""`no_schemas`: none is sent. `no_names`: schemas are sent and no name could be read, so nothing
can be said. `undecided`: all that look unused may have been called in an answer that was not
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
    raise NotImplementedError
