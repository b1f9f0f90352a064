"""Credentials that travel in a body, such as the token of a connected MCP server."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxdiff_capture.model import Json

MASK = "[secret]"
_NAMES = re.compile(
    r"(x[-_])?api[-_]?key|(proxy[-_])?authorization([-_]?token)?|(access|auth|bearer|refresh)"
    r"[-_]?token|client[-_]?secret|password|cookie",
    re.IGNORECASE,
)


def masked(value: Json) -> tuple[Json, bool]:
    """`value` with the text of each credential masked, and whether there was one."""
    if isinstance(value, Mapping):
        found = False
        kept: dict[str, Json] = {}
        for key, inner in value.items():
            if isinstance(inner, str) and inner and _NAMES.fullmatch(key):
                kept[key], found = MASK, True
            else:
                kept[key], inside = masked(inner)
                found = found or inside
        return (kept, True) if found else (value, False)
    if isinstance(value, list):
        items = [masked(item) for item in value]
        found = any(inside for _, inside in items)
        return ([item for item, _ in items], True) if found else (value, False)
    return value, False
