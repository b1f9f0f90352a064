"""Parameters of a call that steer the answer or the cache, and what a change of them is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_SAMPLING = (
    *("temperature", "top_p", "top_k", "topP", "topK", "seed", "n", "stop", "stop_sequences"),
    *("stopSequences", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs"),
    *("top_logprobs", "candidate_count", "verbosity"),
)
_LIMITS = (
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens", "max_tool_calls"),
    *("truncation", "max_gen_len"),
)
_SCHEMAS = (
    *("response_format", "output_format", "outputConfig", "response_schema", "response_mime_type"),
    *("response_json_schema", "guided_json"),
)
CAUSES: Mapping[str, str] = {
    **dict.fromkeys(
        ("tool_choice", "toolChoice", "tool_config", "parallel_tool_calls", "function_call"),
        "tool_choice_changed",
    ),
    **dict.fromkeys(
        ("thinking", "thinking_config", "reasoning_config", "reasoningConfig", "enable_thinking"),
        "thinking_config_changed",
    ),
    **dict.fromkeys(("reasoning_effort", "effort"), "reasoning_effort_changed"),
    **dict.fromkeys(_SCHEMAS, "output_schema_changed"),
    **dict.fromkeys(("prompt_cache_key", "prompt_cache_retention"), "cache_key_changed"),
    **dict.fromkeys(_SAMPLING, "sampling_changed"),
    **dict.fromkeys(_LIMITS, "limits_changed"),
    "speed": "limits_changed",
}
"""What each control parameter steers. Others, such as `stream` or `user`, change no answer."""
_NESTED: Mapping[str, Mapping[str, str]] = {
    "reasoning": {"effort": "reasoning_effort_changed"},
    "text": {"format": "output_schema_changed", "verbosity": "sampling_changed"},
    "output_config": {"effort": "reasoning_effort_changed", "format": "output_schema_changed"},
    "prompt_cache_options": {"ttl": "cache_key_changed"},
    "additionalModelRequestFields": CAUSES,
}
"""Parameters that hold several controls."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One control parameter that is not what it was."""

    name: str
    """As on the wire, a nested one with its holder: `reasoning.effort`."""
    cause: str
    old: Any
    """None where it was not set; likewise `new`."""
    new: Any

    @property
    def holder(self) -> str:
        """The parameter at the top of the request that holds it."""
        return self.name.partition(".")[0]


def changed_params(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Changed]:
    """Control parameters that differ, in a fixed order."""
    if before is now or before == now:
        return []
    return [*_flat(CAUSES, before, now, ""), *_inner(before, now)]


def _flat(
    causes: Mapping[str, str], before: Mapping[str, Any], now: Mapping[str, Any], holder: str
) -> Iterator[Changed]:
    for name, cause in causes.items():
        old, new = before.get(name), now.get(name)
        if old != new:
            yield Changed(f"{holder}{name}", cause, old, new)


def _inner(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Changed]:
    for name, causes in _NESTED.items():
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        yield from _flat(causes, _map(old), _map(new), f"{name}.")


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
