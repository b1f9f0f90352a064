"""Which of several findings is the likelier cause of a broken answer.

What removed or falsified something that the answer needed, or broke the answer itself, comes
before what changed the terms, that before what changed the form, that before what costs money.
What follows from another finding stands behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ctxdiff_analyzers.findings import Code, Finding, Severity

GRAVITY: tuple[Severity, ...] = ("high", "medium", "low")
NEEDED, TERMS, FORM, MONEY, HABIT = range(5)
"""Tiers: the content that the answer rests on, and how it ended; the instructions and settings;
the same content in another form or order; money and time; what holds for the whole run."""
TIERS: Mapping[Code, int] = {
    "call_failed": NEEDED,
    "output_truncated": NEEDED,
    "output_refused": NEEDED,
    "output_empty": NEEDED,
    "tool_missing": NEEDED,
    "tool_unknown": NEEDED,
    "tool_arguments_invalid": NEEDED,
    "tool_error": NEEDED,
    "tool_loop": NEEDED,
    "tool_result_truncated": NEEDED,
    "orphan_tool_result": NEEDED,
    "orphan_tool_call": NEEDED,
    "context_compacted": NEEDED,
    "context_evicted": NEEDED,
    "context_edited": NEEDED,
    "stale_context": TERMS,
    "duplicate_context": TERMS,
    "context_hidden": TERMS,
    "system_changed": TERMS,
    "tools_changed": TERMS,
    "model_changed": TERMS,
    "params_changed": TERMS,
    "window_pressure": TERMS,
    "growth_spike": FORM,
    "tools_reordered": FORM,
    "call_retried": MONEY,
    "cache_break": MONEY,
    "cache_expired": MONEY,
    "cache_unused": MONEY,
    "usage_missing": HABIT,
    "dead_schemas": HABIT,
}
FORM_CAUSES = frozenset(
    (
        *("whitespace_only_change", "unicode_form_changed", "json_key_order_changed"),
        *("volatile_value", "session_id_in_prefix", "block_moved", "item_inserted_in_prefix"),
        *("thinking_blocks_dropped", "messages_merged", "tool_order_changed"),
    )
)
"""Causes that take no fact away."""
ORDER: tuple[Code, ...] = tuple(TIERS)
"""Among findings of one tier and gravity."""

FOLLOWS: Mapping[Code, frozenset[Code]] = {
    "context_compacted": frozenset(
        ("context_evicted", "context_edited", "duplicate_context", "orphan_tool_result")
    ),
    "context_evicted": frozenset(("orphan_tool_result", "orphan_tool_call")),
    "tool_result_truncated": frozenset(("context_edited",)),
    "orphan_tool_result": frozenset(("context_evicted", "call_failed")),
    "orphan_tool_call": frozenset(("context_evicted", "call_failed")),
    "tool_missing": frozenset(("tools_changed", "tool_unknown", "tool_error")),
    "tool_unknown": frozenset(("tool_error",)),
    "tool_arguments_invalid": frozenset(("tool_error", "output_empty")),
    "tool_loop": frozenset(("duplicate_context",)),
    "window_pressure": frozenset(("call_failed", "output_truncated")),
    "growth_spike": frozenset(("window_pressure",)),
    "output_refused": frozenset(("output_empty",)),
}
"""What each finding may bring about at its own turn, see `_brings_about`."""
TRANSIENT = frozenset((408, 409, 425, 429))
"""HTTP statuses below 500 that say nothing against the request."""
TRANSIENT_WORDS = re.compile(
    "timeout|connection|ratelimit|rate_limit|overloaded|unavailable", re.IGNORECASE
)
COUNTERPART = 2
"""Blocks up to which a loss is the lost half of a pair; a larger one is what broke the pair."""


def ranked(findings: Iterable[Finding], seq: int) -> tuple[Finding, ...]:
    """Most telling first, each followed by what follows from it.

    Among findings of one tier the graver comes first, then the one that became true at turn `seq`,
    then the likelier and the larger one.
    """
    found = list(findings)
    keys = [_key(finding, seq) for finding in found]
    causes = [_cause(at, found, keys) for at in range(len(found))]
    roots = [_root(at, causes) for at in range(len(found))]
    # A group stands where its most telling member would.
    best = {root: min(keys[at] for at, of in enumerate(roots) if of == root) for root in {*roots}}
    order = sorted(
        range(len(found)),
        key=lambda at: (best[roots[at]], roots[at], _depth(at, causes), keys[at]),
    )
    return tuple(_told(found[at], found, causes[at]) for at in order)


def tier(finding: Finding) -> int:
    """How near the finding is to a broken answer: `NEEDED` is nearest."""
    if finding.code == "context_hidden" and finding.severity == "low":
        return HABIT
    if finding.cause == "context_limit_hit":
        return NEEDED
    known = TIERS[finding.code]
    return max(known, FORM) if finding.cause in FORM_CAUSES else known


def _key(finding: Finding, seq: int) -> tuple[int, ...]:
    return (
        # Without an answer nothing else is wrong with it.
        -1 if finding.code == "call_failed" else tier(finding),
        GRAVITY.index(finding.severity),
        finding.turn != seq,
        ORDER.index(finding.code),
        -(finding.tokens or 0),
    )


def _cause(at: int, found: Sequence[Finding], keys: Sequence[tuple[int, ...]]) -> int | None:
    """Which of the findings brought about the one at `at`."""
    causes = [
        other
        for other, finding in enumerate(found)
        if other != at and _brings_about(finding, found[at])
    ]
    return min(causes, key=lambda other: keys[other], default=None)


def _brings_about(cause: Finding, effect: Finding) -> bool:
    if effect.code not in FOLLOWS.get(cause.code, ()) or cause.turn > effect.turn:
        return False
    if cause.agent != effect.agent:
        return False
    orphan = "orphan_tool_result", "orphan_tool_call"
    if cause.code == "context_evicted":
        return not _is_counterpart(cause)
    if cause.code in orphan and effect.code == "context_evicted":
        return cause.turn == effect.turn and _is_counterpart(effect)
    if effect.code == "call_failed":
        limit = cause.cause == "context_limit_hit"
        return limit if cause.code == "window_pressure" else _is_against_request(effect)
    if cause.code == "window_pressure":
        return cause.cause == "context_limit_hit"
    if cause.code == "growth_spike":
        # Less than half of the turn fills no window by itself.
        return 2 * (cause.tokens or 0) >= (effect.tokens or 0) and effect.cause is None
    return cause.turn == effect.turn


def _is_counterpart(loss: Finding) -> bool:
    return dict(loss.evidence.counts).get("blocks", 1) <= COUNTERPART


def _is_against_request(failure: Finding) -> bool:
    """True for a refusal of what was sent; false for a limit, or a fault of the provider."""
    status = dict(failure.evidence.counts).get("status")
    if status is not None:
        return 400 <= status < 500 and status not in TRANSIENT
    return not any(TRANSIENT_WORDS.search(name) for name in failure.evidence.names)


def _root(at: int, causes: Sequence[int | None]) -> int:
    cause = causes[at]
    return at if cause is None else _root(cause, causes)


def _depth(at: int, causes: Sequence[int | None]) -> int:
    cause = causes[at]
    return 0 if cause is None else 1 + _depth(cause, causes)


def _told(finding: Finding, found: Sequence[Finding], cause: int | None) -> Finding:
    if cause is None or finding.why is not None:
        return finding
    return replace(finding, why=f"it likely follows from {found[cause].code}")
