"""The vocabulary of a diagnosis: closed sets of codes, and the value that carries them."""

from __future__ import annotations

from collections.abc import Mapping
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

_EDITS = frozenset(("whitespace_only_change", "unicode_form_changed"))
_CONTENT: Mapping[Code, frozenset[str]] = {
    "context_evicted": frozenset(
        (
            *("evicted_block", "history_front_trimmed", "thinking_blocks_dropped"),
            *("image_removed", "system_prompt_missing", "handoff_context_dropped"),
        )
    ),
    "context_compacted": frozenset(
        ("history_compacted", "compaction_loop", "provider_context_edit")
    ),
    "context_edited": _EDITS
    | {"replay_differs_from_sent", "messages_merged", "block_moved", "item_inserted_in_prefix"},
    "duplicate_context": frozenset(
        (
            *("duplicated_history", "duplicate_system_prompt", "repeated_tool_result"),
            *("overlapping_reads", "repeated_text_in_block", "duplicate_within_result"),
        )
    ),
    "system_changed": _EDITS
    | {"volatile_value", "session_id_in_prefix", "session_data_in_prefix"}
    | {"retrieval_in_prefix", "system_replaced", "section_appended"},
    "tools_changed": frozenset(
        ("tool_set_changed", "tool_description_changed", "json_key_order_changed")
    ),
    "tools_reordered": frozenset(("tool_order_changed",)),
    "params_changed": frozenset(
        (
            *("tool_choice_changed", "thinking_config_changed", "reasoning_effort_changed"),
            *("output_schema_changed", "cache_key_changed", "sampling_changed", "limits_changed"),
        )
    ),
}
"""Causes that name a change of what was sent."""
CAUSES: Mapping[Code, frozenset[str]] = {
    **_CONTENT,
    "stale_context": frozenset(("stale_tool_result",)),
    "growth_spike": frozenset(("runaway_growth",)),
    "window_pressure": frozenset(("context_limit_hit",)),
    "cache_break": frozenset(("model_changed",)).union(*_CONTENT.values()),
    "cache_expired": frozenset(("ttl_expired", "ttl_changed")),
    "cache_unused": frozenset(
        (
            *("no_cache_configured", "no_breakpoint", "below_min_cacheable", "uncached_tail"),
            *("breakpoint_after_volatile", "breakpoint_limit_exceeded", "lookback_exceeded"),
            *("parallel_cold_start", "provider_side_miss"),
        )
    ),
    "dead_schemas": frozenset(("dead_tool_schemas",)),
    "usage_missing": frozenset(("usage_not_requested",)),
}
"""What may stand as the cause of each code; of the others none does."""

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
    """One of `CAUSES` of its code, or None."""
    since: int | None = None
    """The turn it began at, when that is earlier than the turn asked about."""
    evidence: Evidence = Evidence()
    tokens: int | None = None
    """Tokens concerned."""
    tokens_method: Literal["exact", "estimate"] | None = None
    why: str | None = None
    """For an inferred finding the rule it follows from, in our words, without captured text."""
    next: NextCall | None = None
