"""The vocabulary of a diagnosis: closed sets of codes, and the value that carries them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Code: TypeAlias = Literal[
    "context_evicted",
    "context_compacted",
    "context_edited",
    "tool_result_truncated",
    "stale_context",
    "duplicate_context",
    "orphan_tool_call",
    "orphan_tool_result",
    "growth_spike",
    "window_pressure",
    "system_changed",
    "tools_changed",
    "tools_reordered",
    "tool_missing",
    "tool_unknown",
    "tool_arguments_invalid",
    "tool_loop",
    "tool_error",
    "model_changed",
    "params_changed",
    "output_truncated",
    "output_empty",
    "output_refused",
    "call_failed",
    "call_retried",
    "cache_break",
    "cache_expired",
    "cache_unused",
    "dead_schemas",
    "context_hidden",
    "usage_missing",
]

Severity: TypeAlias = Literal["high", "medium", "low"]
Certainty: TypeAlias = Literal["measured", "inferred"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Enough to check a finding without believing it. Texts here are captured text."""

    content_hashes: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()
    """Positions in the turn asked about; in the previous turn for what is gone."""
    first_difference: int | None = None
    """Character offset of the first difference inside the string at `path`, or without one
    inside the block at `positions[0]`."""
    names: tuple[str, ...] = ()
    """Tools, labels, models, parameters or reasons concerned, in the record's words."""
    excerpts: tuple[str, ...] = ()
    """Short pieces of recorded text: what is gone, or old and new."""
    counts: tuple[tuple[str, int], ...] = ()
    """Named whole numbers: (`blocks`, 3), (`status`, 429)."""
    path: str | None = None
    """Where it stands in the request, or stood in the previous turn's: `system[0].text`."""
    reusable: tuple[str, ...] = ()
    """What of the previous turn's prefix the provider can still read: `tools`, `system`,
    `system[0]`, `messages`."""


@dataclass(frozen=True, slots=True)
class NextCall:
    """The one question that shows more, ready to ask."""

    tool: str
    """A tool's name: `ctxdiff_diff`."""
    arguments: tuple[tuple[str, int | str], ...]
    """Without `run`, which the asker knows. A text value is a content hash."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is in the record; it never claims more."""

    code: Code
    turn: int
    """The turn at which it became true."""
    agent: str | None
    severity: Severity
    certainty: Certainty
    cause: str | None = None
    """From the closed set of causes of `code`, or None."""
    since: int | None = None
    """The turn it began at, when that is earlier than the turn asked about."""
    evidence: Evidence = Evidence()
    tokens: int | None = None
    """Tokens concerned."""
    tokens_method: Literal["exact", "estimate"] | None = None
    why: str | None = None
    """For an inferred finding the rule it follows from, in our words, without captured text."""
    next: NextCall | None = None
