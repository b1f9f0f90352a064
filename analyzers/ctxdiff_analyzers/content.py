"""What a block's text says by its structure: tool calls, tool results, tool names, cache markers.

Texts are the normal form of each provider's parts (sorted keys). Every function takes any text
and answers for text that is no such part with nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

CALL_TYPES = ("tool_use", "server_tool_use", "function_call", "custom_tool_call")
"""Calls of tools that the request declares by name; those of an MCP server are not."""
RESULT_TYPES = ("tool_result", "function_call_output", "custom_tool_call_output")
HOSTED_RESULTS = ("program_output", "tool_search_output")
"""Results beside those whose type ends in `_call_output`. Source: openai 3.57."""
_TEXT_TYPES = frozenset(("text", "input_text", "output_text"))
WRAPPED_CALLS = ("function_call", "functionCall", "toolUse")
WRAPPED_RESULTS = ("function_response", "functionResponse", "toolResult")
ID_KEYS = ("tool_use_id", "toolUseId", "call_id", "tool_call_id", "id")
MARKER_KEYS = ("cache_control", "cachePoint")
THINKING = frozenset(("thinking", "redacted_thinking", "reasoning"))
UNSPOKEN = frozenset((*ID_KEYS, *MARKER_KEYS, "type", "status", "signature", "thought_signature"))
"""Members of a part that say nothing of the conversation."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool. Captured text."""

    name: str
    id: str | None


def tool_calls(text: str) -> tuple[ToolCall, ...]:
    """The tool calls that an assistant's block is, in the shape of any provider."""
    return tuple(call for part in _parts(text) if (call := _tool_call(part)) is not None)


def is_tool_result(text: str) -> bool:
    """True when the text is a provider's tool-result part."""
    return any(
        part.get("type") in (*RESULT_TYPES, *HOSTED_RESULTS)
        or str(part.get("type", "")).endswith(("_tool_result", "_call_output"))
        or any(isinstance(part.get(key), dict) for key in WRAPPED_RESULTS)
        for part in _parts(text)
    )


def part_type(text: str) -> str | None:
    """The type of a provider's content part: `text`, `thinking`, `tool_use`, ..."""
    part = next(iter(_parts(text)), {})
    found = part.get("type", "reasoning" if "reasoningContent" in part else None)
    return found if isinstance(found, str) else None


def is_thought(text: str) -> bool:
    """True for a part that is the model's reasoning, in the shape of any provider."""
    part = next(iter(_parts(text)), {})
    return part.get("thought") is True or part_type(text) in THINKING


def part_id(text: str) -> str | None:
    """The id that makes a tool call or result the one it is; None where it has none."""
    for part in _parts(text):
        inner = next((part[k] for k in WRAPPED_CALLS + WRAPPED_RESULTS if _is_map(part, k)), part)
        for key in ID_KEYS:
            if isinstance(inner.get(key), str):
                return str(inner[key])
    return None


def schema_names(text: str) -> tuple[str, ...]:
    """Names of the tools that a schema block declares; Gemini declares several in one."""
    return tuple(name for part in _parts(text) for name in _declared(part))


def without_markers(text: str) -> str:
    """The content without cache markers, and a lone text part as the text that it carries.

    Likewise within a tool's result, which is no error where it does not say so. Empty for a block
    that is nothing but a marker.
    """
    if not text.startswith("{") or not (_has_marker(text) or _has_other_form(text)):
        return text
    part = _json(text)
    try:
        return _bare(part, text) if isinstance(part, dict) else text
    except RecursionError:
        return text


def without_id(text: str) -> str:
    """A call or result, in the shape of any provider, without markers and the id that joins them.

    Empty for any other text.
    """
    parts = _parts(text) if part_id(text) is not None else []
    try:
        bare = [unmarked(_nameless(part)) for part in parts]
        return json.dumps(bare, sort_keys=True, ensure_ascii=False) if bare else ""
    except RecursionError:
        return ""


def _nameless(part: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _nameless(value)
        if key in (*WRAPPED_CALLS, *WRAPPED_RESULTS) and _is_map(part, key)
        else value
        for key, value in part.items()
        if key not in ID_KEYS
    }


def spoken(text: str) -> str:
    """What a part says: its texts and numbers without keys, types, ids and signatures.

    Any other text is what it says itself.
    """
    value = _json(text) if text.startswith(("{", "[{")) else None
    if value is None:
        return text
    try:
        return "\n".join(_leaves(value))
    except RecursionError:
        return text


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in UNSPOKEN:
                yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield value
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _bare(part: dict[str, Any], text: str) -> str:
    bare = unmarked(part)
    if not bare:
        return ""
    if bare.get("type") == "text" and set(bare) == {"type", "text"}:
        return str(bare["text"])
    if bare.get("type") in RESULT_TYPES:
        bare |= {key: _lone_text(bare[key]) for key in ("content", "output") if key in bare}
        if bare.get("is_error") is False:
            del bare["is_error"]
    return text if bare == part else json.dumps(bare, sort_keys=True, ensure_ascii=False)


def _has_other_form(text: str) -> bool:
    return '"text"' in text or '"is_error"' in text


def _lone_text(value: Any) -> Any:
    """What a list holds that is one text part and nothing else; any other value as it is."""
    part = value[0] if isinstance(value, list) and len(value) == 1 else None
    if not isinstance(part, dict) or set(part) != {"type", "text"}:
        return value
    return part["text"] if part["type"] in _TEXT_TYPES else value


def _tool_call(part: Mapping[str, Any]) -> ToolCall | None:
    kind = part.get("type")
    function = part.get("function")
    if isinstance(function, dict):
        return _named(function, part)
    for key in WRAPPED_CALLS:
        if _is_map(part, key):
            return _named(part[key], part[key])
    # A tool that the request declares by its type alone: `computer_call`, `apply_patch_call`.
    if isinstance(kind, str) and kind.endswith("_call") and "name" not in part:
        return ToolCall(kind.removesuffix("_call"), _id_of(part))
    # The legacy `function_call` of a message stands without a type.
    if kind in CALL_TYPES or (kind is None and set(part) == {"name", "arguments"}):
        return _named(part, part)
    custom = part.get("custom")
    return _named(custom, part) if isinstance(custom, dict) else None


def _named(holder: Mapping[str, Any], ids: Mapping[str, Any]) -> ToolCall | None:
    name = holder.get("name")
    if not isinstance(name, str) or not name:
        return None
    return ToolCall(name, _id_of(ids))


def _id_of(part: Mapping[str, Any]) -> str | None:
    found = (part[key] for key in ("call_id", "toolUseId", "id") if isinstance(part.get(key), str))
    return next(found, None)


def _declared(part: Mapping[str, Any]) -> Iterator[str]:
    for key in ("function_declarations", "functionDeclarations"):
        listed = part.get(key)
        for declared in listed if isinstance(listed, list) else ():
            if isinstance(declared, dict):
                yield from _own_name(declared)
    yield from _own_name(part)


def _own_name(part: Mapping[str, Any]) -> Iterator[str]:
    for holder in (part, part.get("function"), part.get("toolSpec"), part.get("custom")):
        name = holder.get("name") if isinstance(holder, dict) else None
        if isinstance(name, str) and name:
            yield name
            return


def _parts(text: str) -> list[dict[str, Any]]:
    if not text.startswith(("{", "[{")):
        return []
    value = _json(text)
    if isinstance(value, dict):
        return [value]
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_map(part: Mapping[str, Any], key: str) -> bool:
    return isinstance(part.get(key), dict)


def _has_marker(text: str) -> bool:
    return any(key in text for key in MARKER_KEYS)


def unmarked(value: Any) -> Any:
    """A JSON value without the cache markers in it."""
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k not in MARKER_KEYS}
    return [unmarked(v) for v in value] if isinstance(value, list) else value
