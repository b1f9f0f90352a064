"""Which parts of a turn's context the provider held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxdiff_capture.model import CallHead

from ctxdiff_analyzers.timeline import Timeline, Turn

STORES = ("previous_response_id", "conversation", "prompt", "cached_content", "container")
"""Request parameters that name a store of the provider's."""
RESPONSES_ONLY = frozenset(("conversation", "prompt"))
"""Common words, which elsewhere are ordinary parameters."""
HOLDS_HISTORY = frozenset(
    ("previous_response_id", "conversation", "prompt", "cached_content", "item_reference", "memory")
)
"""What holds messages, instructions or tools; a container holds files."""
GOES_ON = frozenset(("previous_response_id", "conversation", "item_reference"))
"""What grows with each turn, so that a request brings no more than what is new."""


def hidden_names(timeline: Timeline, turn: Turn) -> tuple[str, ...]:
    """What the request takes from the provider's store, in the provider's words."""
    told = timeline.detail(turn).metadata.get("hidden_context")
    names = [name for name in told if isinstance(name, str)] if isinstance(told, list) else []
    return tuple(dict.fromkeys((*names, *hidden_by_params(turn.call))))


def hidden_by_params(call: CallHead) -> list[str]:
    """The stores that the call's parameters name; needs nothing beyond the call's head."""
    found = [name for name in STORES if _is_store(name, call.params.get(name), call.surface)]
    model = call.params.get("modelId")
    # Bedrock takes a managed prompt in the place of a model.
    if isinstance(model, str) and model.startswith("arn:") and ":prompt/" in model:
        found.append("prompt")
    return found


def hides_history(timeline: Timeline, turn: Turn) -> bool:
    """True when messages, instructions or tools of the turn may be missing from the record."""
    return not HOLDS_HISTORY.isdisjoint(hidden_names(timeline, turn))


def _is_store(name: str, value: Any, surface: str | None) -> bool:
    if not value or (name in RESPONSES_ONLY and surface not in (None, "openai.responses")):
        return False
    # A prompt that is a text is the prompt itself.
    return name != "prompt" or (isinstance(value, Mapping) and bool(value.get("id")))
