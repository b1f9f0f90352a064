"""Events of a Messages stream, folded into the answer that one request would have got."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from ctxdiff_capture.decoders.answer import error_message
from ctxdiff_capture.decoders.growing import Growing, held, lengthen, listed, settled
from ctxdiff_capture.model import CallError, Json

_GROWS: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}
"""Kind of delta to the member of the block that it lengthens."""
_TORN = "partial_json"
"""Where the text of a tool's input gathers until its block ends."""


def folded(events: list[dict[str, Json]]) -> tuple[dict[str, Json], CallError | None]:
    """The answer, and the error that an event told. Without any event the answer is empty."""
    message: dict[str, Json] = {}
    blocks: dict[int, dict[str, Json]] = {}
    error: CallError | None = None
    for event in events:
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start":
            message = dict(_mapping(event.get("message")))
        elif kind == "content_block_start" and isinstance(index, int):
            blocks[index] = dict(_mapping(event.get("content_block")))
        elif kind == "content_block_delta" and isinstance(index, int):
            _add(blocks.setdefault(index, {}), _mapping(event.get("delta")))
        elif kind == "message_delta":
            message |= _mapping(event.get("delta"))
            counted = _mapping(event.get("usage"))
            held(message, "usage").update({k: v for k, v in counted.items() if v is not None})
        elif kind == "error":
            error = CallError("APIStatusError", error_message(event))
    if blocks:
        message["content"] = [_closed(blocks[index]) for index in sorted(blocks)]
    return message, error


def _add(block: dict[str, Json], delta: Mapping[str, Json]) -> None:
    kind = delta.get("type")
    if kind == "input_json_delta":
        lengthen(block, _TORN, delta.get(_TORN))
    elif kind == "citations_delta":
        listed(block, "citations").append(delta.get("citation"))
    elif isinstance(kind, str) and kind in _GROWS:
        lengthen(block, _GROWS[kind], delta.get(_GROWS[kind]))


def _closed(block: dict[str, Json]) -> dict[str, Json]:
    """The block with its gathered input parsed; of a torn one the text stays."""
    torn = block.get(_TORN)
    if not isinstance(torn, Growing):
        return settled(block)
    del block[_TORN]
    text = torn.text()
    try:
        block["input"] = json.loads(text) if text else block.get("input", {})
    except (ValueError, RecursionError):
        block["input"] = text
    return settled(block)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
