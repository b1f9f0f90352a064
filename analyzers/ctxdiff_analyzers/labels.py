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
    block, label = turn.inputs[index], turn.labels[index]
    if label in doubtful_labels(timeline) and is_result(timeline, block):
        return TOOL_OUTPUT
    return timeline.label_table[label][0]


def doubtful_labels(timeline: Timeline) -> frozenset[int]:
    """Labels, as indices into `label_table`, under which a tool result may be stored."""
    return timeline.known(
        "doubtful labels",
        lambda: frozenset(
            i for i, label in enumerate(timeline.label_table) if label == ("user", "heuristic")
        ),
    )


def content_parts(timeline: Timeline) -> frozenset[int]:
    """Every block that is a part of a message."""
    return timeline.known(
        "content parts",
        lambda: frozenset(i for i, b in enumerate(timeline.blocks) if b.kind == "content_part"),
    )


def is_result(timeline: Timeline, block: int) -> bool:
    """True for a content part that is a tool result; the text is read once per block."""
    return block in content_parts(timeline) and timeline.fact("is result", block, is_tool_result)
