"""What a finish reason says, in the words of any provider."""

from __future__ import annotations

from ctxdiff_capture.model import CallHead

CUT_OFF = frozenset(
    ("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "incomplete")
)
"""Reasons of a token limit, in lower case: OpenAI, Anthropic, Gemini, Bedrock."""
REFUSED = frozenset(
    (
        "content_filter",
        "refusal",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "content_filtered",
        "guardrail_intervened",
        "image_safety",
        "language",
    )
)
"""Reasons of a model or a provider that declined, in lower case."""

MALFORMED = frozenset(("malformed_function_call", "malformed_tool_use", "invalid_tool_call"))
"""Reasons of a tool call that the provider itself could not read: Gemini, Bedrock."""


def is_malformed(call: CallHead) -> bool:
    """True when the provider says that the model's tool call cannot be read."""
    return (call.finish_reason or "").lower() in MALFORMED


def is_cut_off(call: CallHead) -> bool:
    """True when the answer ended at a token limit."""
    return (call.finish_reason or "").lower() in CUT_OFF


def was_declined(call: CallHead) -> bool:
    """True when the model or the provider declined, by the finish reason alone."""
    return (call.finish_reason or "").lower() in REFUSED
