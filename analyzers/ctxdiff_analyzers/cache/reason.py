"""What a provider itself says of a missed cache."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ctxdiff_analyzers.cache.rules import Section
from ctxdiff_analyzers.cache.situation import Situation
from ctxdiff_analyzers.cache.suspects import RULES, Suspect

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


_SECTIONS: dict[Reason, Section] = {
    "model_changed": "tools",
    "tools_changed": "tools",
    "system_changed": "system",
    "messages_changed": "messages",
}
"""The first section that is lost for each reason."""


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


def said_by_the_provider(case: Situation) -> Suspect | None:
    """A miss that nothing in the record explains and the provider does."""
    if case.before is None or case.told.read != 0 or not case.could:
        return None
    told = vendor_reason(case)
    section = None if told is None else _SECTIONS.get(told.reason)
    if section is None or told is None:
        return None
    cause = "model_changed" if told.reason == "model_changed" else None
    return Suspect("cache_break", cause, "measured", RULES["vendor"], section=section)
