"""Credentials that travel in a body, such as the token of a connected MCP server."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxdiff_capture.model import Json
from ctxdiff_capture.secrets.detect import masked as masked_text
from ctxdiff_capture.secrets.named import (
    is_credential,
    is_credential_header,
    is_credential_of_address,
)

MASK = "[secret]"
_SCHEMAS = frozenset(
    (
        *("function", "parameters", "input_schema", "custom", "format", "toolSpec"),
        *("functionDeclarations", "function_declarations"),
    )
)
_IN_ADDRESS = re.compile(r"([?&;])([A-Za-z][A-Za-z0-9_.-]{0,60})=[^&;#\s\"'<>]+")
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_-]{2,60})\\{0,7}[\"']?\s{0,4}[:=\r\n]")


def masked(value: Json, holder: str = "") -> tuple[Json, bool]:
    """`value` with each credential masked, and whether there was one.

    A credential is known by its name, or stands in an address.

    Args:
        value: of a body.
        holder: the name that it stands under.
    """
    if isinstance(value, Mapping):
        is_secret = is_credential_header if holder.lower().endswith("headers") else is_credential
        found = False
        kept: dict[str, Json] = {}
        for key, inner in value.items():
            if is_secret(key) and _is_value(inner):
                kept[key], found = MASK, True
            else:
                kept[key], inside = masked(inner, key)
                found = found or inside
        return (kept, True) if found else (value, False)
    if isinstance(value, list):
        if is_credential(holder.removesuffix("s")) and any(map(_is_value, value)):
            return [MASK if _is_value(item) else masked(item)[0] for item in value], True
        items = [masked(item) for item in value]
        found = any(inside for _, inside in items)
        return ([item for item, _ in items], True) if found else (value, False)
    if isinstance(value, str) and "://" in value:
        text = _IN_ADDRESS.sub(_masked_part, masked_text(value, lambda _kind, _value: MASK))
        return text, text != value
    return value, False


def masked_tool(tool: Json) -> Json:
    """A tool without the credentials by which a provider reaches it.

    What describes arguments is left alone: there, `token` is the name of one.
    """
    if not isinstance(tool, Mapping):
        return tool
    outside = {name: value for name, value in tool.items() if name not in _SCHEMAS}
    kept, found = masked(outside)
    return {name: kept.get(name, value) for name, value in tool.items()} if found else tool


def may_hold_one(data: bytes) -> bool:
    """Whether bytes that could not be read name a credential."""
    text = data.decode("utf-8", "replace")
    return any(is_credential(found[1]) for found in _NAME.finditer(text))


def _masked_part(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}={MASK}" if is_credential_of_address(found[2]) else found[0]


def _is_value(value: Json) -> bool:
    """Whether a value can be a credential: a text, or the digits of one."""
    if isinstance(value, str):
        return bool(value) and value != MASK
    return isinstance(value, int | float) and not isinstance(value, bool)
