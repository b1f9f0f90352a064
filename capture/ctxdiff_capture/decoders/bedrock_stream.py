"""Events of ConverseStream, folded into the answer that Converse would have given.

Nova's InvokeModel streams the same events as the chunks of its own JSON.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping

from ctxdiff_capture.decoders.eventstream import EXCEPTION
from ctxdiff_capture.decoders.growing import Growing, held, lengthen, listed, settled
from ctxdiff_capture.model import CallError, Json
from ctxdiff_capture.tokens.images import lenient_base64

_TORN = "torn_input"
"""Where the text of a tool's input gathers until its block ends."""

_OF_STOP = ("stopReason", "additionalModelResponseFields")
_OF_METADATA = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")


def folded(events: list[dict[str, Json]]) -> tuple[dict[str, Json], CallError | None]:
    """The answer, and the error that an exception among the events told."""
    answer: dict[str, Json] = {}
    message: dict[str, Json] = {"role": "assistant"}
    blocks: dict[int, dict[str, Json]] = {}
    error: CallError | None = None
    for event in events:
        for kind, value in event.items():
            known = value if isinstance(value, Mapping) else {}
            if kind == EXCEPTION:
                error = exception_of(known)
            elif kind == "messageStart":
                message |= {k: v for k, v in known.items() if k == "role"}
            elif kind in ("contentBlockStart", "contentBlockDelta"):
                block = blocks.setdefault(_index(known), {})
                _add(block, known.get("start" if kind.endswith("Start") else "delta"))
            elif kind == "messageStop":
                answer |= {k: v for k, v in known.items() if k in _OF_STOP}
            elif kind == "metadata":
                answer |= {k: v for k, v in known.items() if k in _OF_METADATA}
    if blocks or answer:
        content = [_closed(blocks[index]) for index in sorted(blocks)]
        answer["output"] = {"message": {**message, "content": content}}
    return answer, error


def exception_of(told: Mapping[str, Json]) -> CallError:
    """The error that a stream ended with, by the name that the service has for it.

    botocore raises all of these as one class, `EventStreamError`.
    """
    kind, message = told.get("type"), told.get("message")
    return CallError(
        kind if isinstance(kind, str) else "EventStreamError",
        message if isinstance(message, str) else None,
    )


def _index(event: Mapping[str, Json]) -> int:
    index = event.get("contentBlockIndex")
    return index if isinstance(index, int) else 0


def _add(block: dict[str, Json], delta: Json) -> None:
    for key, value in delta.items() if isinstance(delta, Mapping) else ():
        if key == "text":
            lengthen(block, key, value)
        elif key == "reasoningContent" and isinstance(value, Mapping):
            _add_thought(held(block, key), value)
        elif key == "toolUse" and isinstance(value, Mapping):
            tool = held(block, key)
            tool |= {k: v for k, v in value.items() if k != "input"}
            if "input" in value:
                lengthen(tool, _TORN, value["input"])
        elif key == "citation":
            listed(held(block, "citationsContent"), "citations").append(value)
        elif key == "toolResult" and isinstance(value, list):
            listed(held(block, key), "content").extend(value)
        elif isinstance(value, Mapping):
            held(block, key).update(value)


def _add_thought(thought: dict[str, Json], delta: Mapping[str, Json]) -> None:
    for key, value in delta.items():
        if key == "redactedContent":
            lengthen(thought, key, value)
        elif key in ("text", "signature"):
            lengthen(held(thought, "reasoningText"), key, value)


def _closed(block: dict[str, Json]) -> dict[str, Json]:
    """The block with its gathered input parsed; of a torn one the text stays."""
    settled(block)
    thought = block.get("reasoningContent")
    if isinstance(thought, dict):
        _close_thought(thought)
    tool = block.get("toolUse")
    if isinstance(tool, dict) and isinstance(tool.get(_TORN), Growing):
        text = tool.pop(_TORN).text()
        try:
            tool["input"] = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            tool["input"] = text
    cited = block.get("citationsContent")
    if isinstance(cited, dict) and "text" in block:
        cited["content"] = [{"text": block.pop("text")}]
    return block


def _close_thought(thought: dict[str, Json]) -> None:
    sealed = thought.get("redactedContent")
    if isinstance(sealed, Growing) and len(sealed) > 1:
        # Padding may stand between two texts of base64, but not inside one.
        thought["redactedContent"] = b64encode(b"".join(map(lenient_base64, sealed))).decode()
    told = settled(thought).get("reasoningText")
    if isinstance(told, dict):
        settled(told)
