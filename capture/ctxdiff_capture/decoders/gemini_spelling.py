"""Gemini's JSON in one spelling: that of its Python SDK, under which ctxdiff hashes it.

The service takes and gives `functionCall` and `function_call` alike; google-genai 3.6 sends a
mixture (`inlineData` with `mime_type` inside), and base64 in the URL alphabet whatever came.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxdiff_capture.model import Json

_INSIDE_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BASE64_KEYS = frozenset(("data", "thought_signature"))
_FREE = frozenset(
    (
        *("args", "response", "default", "example", "enum", "required", "partial_args"),
        *("parameters_json_schema", "response_json_schema"),
    )
)
"""Members whose inside belongs to the program and is left as it is."""
_NAMED = frozenset(("properties", "defs"))
"""Members that map the program's names to values of Gemini's."""
_ALPHABET = str.maketrans("-_", "+/")


def snake_case(key: str) -> str:
    """`functionCall` as `function_call`."""
    return _INSIDE_WORD.sub("_", key).lower()


def sdk_spelling(value: Json) -> Json:
    """A part or a tool as the SDK spells it: keys in snake case, base64 in its usual alphabet."""
    if isinstance(value, Mapping):
        return dict(_member(key, inner) for key, inner in value.items())
    if isinstance(value, list):
        return [sdk_spelling(inner) for inner in value]
    return value


def member(holder: Json, key: str) -> Json:
    """The member `key` of `holder` in either spelling; `key` is in camel case."""
    if not isinstance(holder, Mapping):
        return None
    return holder[key] if key in holder else holder.get(snake_case(key))


def _member(key: str, value: Json) -> tuple[str, Json]:
    name = snake_case(key)
    if name in _FREE:
        return name, value
    if name in _NAMED and isinstance(value, Mapping):
        return name, {inner: sdk_spelling(held) for inner, held in value.items()}
    if name in _BASE64_KEYS and isinstance(value, str):
        return name, value.translate(_ALPHABET)
    return name, sdk_spelling(value)
