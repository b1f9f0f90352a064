"""Fixed words for what answers tell of, one for terminal and server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxdiff_analyzers.departures import Way
    from ctxdiff_analyzers.runs.differences import Kind

DIFFERENCES: dict[Kind, str] = {
    "model": "another model",
    "params": "another parameter",
    "system": "other system text",
    "tools": "another tool schema",
    "context": "context that only one of them still has in this form",
    "user_input": "other user input",
    "tool_result": "another tool result",
    "order": "the same blocks in another order",
    "tool_call": "another tool call",
    "answer": "another answer",
    "outcome": "another ending",
    "extra_turn": "a turn that only the second has",
    "missing_turn": "a turn that only the first has",
}
WAYS: dict[Way, str] = {
    "edited": "edited into",
    "compacted": "compacted into",
    "trimmed": "trimmed with what was before it",
    "dropped": "dropped",
    "other_conversation": "another conversation of the agent went on",
}
"""How a block left an agent's context."""
