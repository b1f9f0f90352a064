"""Chunks of a Chat Completions stream, folded into the answer that one request would have got."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ctxdiff_capture.decoders.answer import error_message
from ctxdiff_capture.decoders.growing import held, lengthen, settled
from ctxdiff_capture.model import CallError, Json

_GROWING = ("content", "refusal", "reasoning_content", "reasoning")
"""Members of a delta whose texts are joined; the others replace what was there."""


def folded(chunks: list[dict[str, Json]]) -> tuple[dict[str, Json], CallError | None]:
    """The answer, and the error that a chunk told. Without any chunk the answer is empty."""
    answer: dict[str, Json] = {}
    choices: dict[int, dict[str, Json]] = {}
    error: CallError | None = None
    for chunk in chunks:
        if chunk.get("error"):
            error = CallError("APIError", error_message(chunk))
            continue
        answer |= {k: v for k, v in chunk.items() if k != "choices" and v is not None}
        for choice in _mappings(chunk.get("choices")):
            index = _index(choice)
            _add(choices.setdefault(index, {"index": index, "message": {}}), choice)
    for choice in choices.values():
        _close(choice["message"])
    if choices:
        answer["choices"] = [choices[index] for index in sorted(choices)]
    return answer, error


def _add(choice: dict[str, Json], chunk: Mapping[str, Json]) -> None:
    if chunk.get("finish_reason") is not None:
        choice["finish_reason"] = chunk["finish_reason"]
    delta = chunk.get("delta")
    if not isinstance(delta, Mapping):
        return
    message = choice["message"]
    for key, value in delta.items():
        if key == "tool_calls":
            calls = message.setdefault("tool_calls", {})
            for part in _mappings(value):
                _add_call(calls.setdefault(_index(part), {}), part)
        elif key == "function_call" and isinstance(value, Mapping):
            _add_function(held(message, "function_call"), value)
        elif key in _GROWING and isinstance(value, str):
            lengthen(message, key, value)
        elif value is not None or key not in message:
            message[key] = value


def _add_call(call: dict[str, Json], part: Mapping[str, Json]) -> None:
    for key, value in part.items():
        if key == "function" and isinstance(value, Mapping):
            _add_function(held(call, "function"), value)
        elif key != "index" and value is not None:
            call[key] = value


def _add_function(function: dict[str, Json], part: Mapping[str, Json]) -> None:
    for key, value in part.items():
        if key == "arguments" and isinstance(value, str):
            lengthen(function, key, value)
        elif value is not None:
            function[key] = value


def _close(message: dict[str, Json]) -> None:
    settled(message)
    functions = [message.get("function_call")]
    calls = message.get("tool_calls")
    if isinstance(calls, dict):
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
        functions += [call.get("function") for call in calls.values()]
    for function in functions:
        if isinstance(function, dict):
            settled(function)


def _index(holder: Mapping[str, Json]) -> int:
    index = holder.get("index")
    return index if isinstance(index, int) else 0


def _mappings(value: Json) -> Iterable[Mapping[str, Json]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
