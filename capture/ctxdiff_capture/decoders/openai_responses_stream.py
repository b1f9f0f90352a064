"""Events of a Responses stream, folded into the answer that one request would have got."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxdiff_capture.decoders.answer import error_message
from ctxdiff_capture.decoders.growing import lengthen, settled
from ctxdiff_capture.model import CallError, Json

_GROWS: Final = {
    "response.function_call_arguments.delta": "arguments",
    "response.mcp_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.code_interpreter_call_code.delta": "code",
}
"""Kind of event to the member of the item that its delta lengthens."""
_GROWS_PART: Final = {
    "response.output_text.delta": ("content", "content_index", "output_text", "text"),
    "response.refusal.delta": ("content", "content_index", "refusal", "refusal"),
    "response.reasoning_text.delta": ("content", "content_index", "reasoning_text", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index", "summary_text", "text"),
}
"""Kind of event to where it grows: list, its index, the part's type and member."""


def folded(events: list[dict[str, Json]]) -> tuple[dict[str, Json], CallError | None]:
    """The answer, and the error that an event told. Without any event the answer is empty.

    The last event spells the whole answer. Of a stream that broke off, the items are put together
    from what had come.
    """
    answer: dict[str, Json] = {}
    items: dict[int, dict[str, Json]] = {}
    error: CallError | None = None
    for event in events:
        kind, index = event.get("type"), event.get("output_index")
        if isinstance(event.get("response"), Mapping):
            answer = dict(event["response"])
        elif kind == "error" or (kind is None and "error" in event):
            error = CallError("APIError", error_message(event))
        elif isinstance(kind, str) and isinstance(index, int):
            _add(items, index, kind, event)
    if items and not answer.get("output"):
        answer["output"] = [_closed(items[index]) for index in sorted(items)]
    return answer, error


def _add(
    items: dict[int, dict[str, Json]], index: int, kind: str, event: Mapping[str, Json]
) -> None:
    if isinstance(event.get("item"), Mapping):
        items[index] = dict(event["item"])
        return
    delta = event.get("delta")
    if not isinstance(delta, str):
        return
    item = items.setdefault(index, {})
    if kind in _GROWS:
        lengthen(item, _GROWS[kind], delta)
    elif kind in _GROWS_PART:
        holder, place, part_type, member = _GROWS_PART[kind]
        lengthen(_part(item, holder, event.get(place), part_type), member, delta)


def _part(item: dict[str, Json], holder: str, at: Json, part_type: str) -> dict[str, Json]:
    """The part at `at`, there from now on; a part that skips some is the next."""
    if part_type in ("output_text", "refusal"):
        item.setdefault("type", "message")
        item.setdefault("role", "assistant")
    item.setdefault("type", "reasoning")
    parts = item.get(holder)
    if not isinstance(parts, list):
        parts = item[holder] = []
    at = min(max(at, 0), len(parts)) if isinstance(at, int) else 0
    if at == len(parts):
        parts.append({"type": part_type})
    elif not isinstance(parts[at], dict):
        parts[at] = {"type": part_type}
    part: dict[str, Json] = parts[at]
    return part


def _closed(item: dict[str, Json]) -> dict[str, Json]:
    for holder in ("content", "summary"):
        parts = item.get(holder)
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict):
                settled(part)
    return settled(item)
