"""What may have cost a turn its cache, as each judge words it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ctxdiff_capture.light import light

from ctxdiff_analyzers.cache.pair import Difference
from ctxdiff_analyzers.cache.places import Place
from ctxdiff_analyzers.cache.rules import Section
from ctxdiff_analyzers.findings import Certainty

CacheCode: TypeAlias = Literal["cache_break", "cache_expired", "cache_unused"]


@light(frozen=True, slots=True)
class Suspect:
    """One explanation of a turn's cache."""

    code: CacheCode
    cause: str | None
    certainty: Certainty = "inferred"
    why: str | None = None
    """The rule it follows from, in our words."""
    section: Section | None = None
    """The first section that is lost; None where no content is at fault."""
    difference: Difference | None = None
    place: Place | None = None
    """Where no difference of blocks tells the place."""
    names: tuple[str, ...] = ()
    """Parameters, models, tools. Captured text."""
    excerpts: tuple[str, ...] = ()
    """Captured text."""
    counts: tuple[tuple[str, int], ...] = ()
    since: int | None = None
    """The turn it began at, when that is earlier."""
    source: str | None = None
    """Where and when the number was read that the verdict rests on, see `rules.cited`."""


RULES: dict[str, str] = {
    "content": "a cache is read up to the first difference, and the requests differ from here on",
    "removed": "a cache is read up to the first difference, and the earlier turn goes on otherwise",
    "order": "the same values stand in another key order, and the provider sees the order sent",
    "model": "every model has a cache of its own",
    "param": "the provider's rules list this parameter among those that a cache depends on",
    "image": "with this provider the first image of a conversation loses what is cached of it",
    "expired": "more time went by since the prefix was last used than the provider keeps it",
    "ttl": "entries of different life times are kept apart",
    "limit": "a request may carry so many markers and no more, the automatic one included",
    "minimum": "the provider caches no prefix shorter than its model's minimum",
    "minimum_unsure": "sources give different minima for this model, and the prefix is in between",
    "no_marker": "this provider caches only what stands before a marker, and there is none",
    "lost_marker": "earlier calls were marked and this one is not, so nothing is read or written",
    "behind": "the marker stands behind the part that differs, so each entry is read by nobody",
    "look_back": "a marker finds earlier entries only so many blocks before it",
    "tail": "what stands behind the last marker is paid in full on every call",
    "parallel": "an entry can be read once its answer has begun, and this call began earlier",
    "vendor": "the provider itself says that this part of the prompt is another",
    "provider": "the requests are the same up to here and nothing was read",
}
"""Why each judge concludes what it does."""

REMEDIES: dict[str, str] = {
    "volatile_value": "move the changing value behind the stable text, into the newest message",
    "session_id_in_prefix": "take the id out of the prompt or put it into the newest message",
    "session_data_in_prefix": "split the shared text from the session's own, marker in between",
    "retrieval_in_prefix": "put what was retrieved into the newest message",
    "system_replaced": "keep one system text per conversation; put instructions of a mode behind",
    "section_appended": "append new instructions to the newest message, not to the system text",
    "duplicate_system_prompt": "send the system text once",
    "system_prompt_missing": "send the system text on every call",
    "whitespace_only_change": "send earlier messages byte for byte as they were sent before",
    "unicode_form_changed": "normalise text once, before it is first sent",
    "json_key_order_changed": "serialise with one fixed key order",
    "tool_set_changed": "offer the same tools on every call; restrict them by tool_choice",
    "tool_description_changed": "keep tool descriptions fixed; put notes into the newest message",
    "tool_order_changed": "sort the tools before sending",
    "thinking_blocks_dropped": "send thinking back unchanged",
    "image_removed": "keep the image, or never send it as one",
    "history_front_trimmed": "drop old messages rarely and many at once",
    "history_compacted": "compact rarely; each time the history is written again",
    "evicted_block": "remove at the end of the history, not in its middle",
    "block_moved": "keep what was injected where it was first sent",
    "item_inserted_in_prefix": "append at the end of the history",
    "messages_merged": "send earlier messages as they were sent before",
    "replay_differs_from_sent": "send earlier messages byte for byte as they were sent before",
    "duplicated_history": "append each message once",
    "model_changed": "stay with one model through a conversation",
    "tool_choice_changed": "keep tool_choice fixed through a conversation",
    "thinking_config_changed": "keep the thinking settings fixed through a conversation",
    "reasoning_effort_changed": "keep the effort fixed through a conversation",
    "output_schema_changed": "keep one output schema through a conversation",
    "cache_key_changed": "keep one cache key per shared prefix",
    "sampling_changed": "keep the settings fixed through a conversation",
    "limits_changed": "keep the settings fixed through a conversation",
    "ttl_expired": "ask for a longer life, or send a cheap call before it ends",
    "ttl_changed": "ask for the same life on every call",
    "no_cache_configured": "mark the end of the stable prefix",
    "no_breakpoint": "mark the newest message on every call, whoever it is from",
    "below_min_cacheable": "nothing to do, or make the stable prefix longer than the minimum",
    "breakpoint_after_volatile": "put the marker on the last block that stays the same",
    "breakpoint_limit_exceeded": "drop the oldest markers",
    "lookback_exceeded": "add a marker in between when one turn adds many blocks",
    "uncached_tail": "move the last marker forward with the conversation",
    "parallel_cold_start": "let one call begin its answer before the others start",
    "provider_side_miss": "nothing in the request explains it: measure again, ask the provider",
}
"""What helps, by cause."""
