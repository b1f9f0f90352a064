"""What a provider itself says of a missed cache."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ctxdiff_analyzers.cache.situation import Situation

Reason: TypeAlias = Literal[
    "model_changed",
    "system_changed",
    "tools_changed",
    "messages_changed",
    "previous_message_not_found",
    "unavailable",
    "other",
]
_REASONS: tuple[Reason, ...] = (
    *("model_changed", "system_changed", "tools_changed", "messages_changed"),
    *("previous_message_not_found", "unavailable"),
)


@dataclass(frozen=True, slots=True)
class VendorReason:
    """Anthropic's `cache_miss_reason`."""

    reason: Reason
    missed_tokens: int | None


def vendor_reason(case: Situation) -> VendorReason | None:
    """What the answer's diagnostics say; None where they are absent.

    Source: https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics, read 2026-10.
    """
    told = case.whole.detail(case.turn).metadata.get("diagnostics")
    found = told.get("cache_miss_reason") if isinstance(told, Mapping) else None
    if not isinstance(found, Mapping):
        return None
    kind = _kind(found.get("type"))
    missed = found.get("cache_missed_input_tokens")
    return VendorReason(kind, missed if isinstance(missed, int) and missed >= 0 else None)


def _kind(told: Any) -> Reason:
    plain = re.sub(r"[^a-z_]", "", str(told).lower())
    return next((known for known in _REASONS if known == plain), "other")
