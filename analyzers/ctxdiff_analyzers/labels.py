"""Under which label a block is counted: the stored one, or tool output where its text says so."""

from __future__ import annotations

from ctxdiff_analyzers.content import is_tool_result
from ctxdiff_analyzers.timeline import Timeline, Turn

TOOL_OUTPUT = "tool_output"


def label_of(timeline: Timeline, turn: Turn, index: int) -> str:
    """The label of the turn's input at `index`. Captured text.

    A tool result that stands in a user's message (Anthropic, Bedrock, Gemini) is tool output; a
    tag that the program gave stays.
    """
    return label_for(timeline, turn.inputs[index], turn.labels[index])


def label_for(timeline: Timeline, block: int, label: int) -> str:
    """The label of a block that is stored with `label`, an index into `label_table`."""
    name, source = timeline.label_table[label]
    if name == "user" and source == "heuristic":
        head = timeline.blocks[block]
        if head.kind == "content_part" and timeline.fact("is_result", block, is_tool_result):
            return TOOL_OUTPUT
    return name
