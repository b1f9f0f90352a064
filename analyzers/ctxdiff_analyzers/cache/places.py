"""Where in the request two blocks part: the string, its path, the first differing character."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxdiff_analyzers.content import MARKER_KEYS
from ctxdiff_analyzers.hunks import common_prefix
from ctxdiff_analyzers.paths import dotted
from ctxdiff_analyzers.timeline import Timeline, Turn

EXCERPT = 80
"""Code points of each side from the first difference on."""
_TOOL_LISTS = "/toolConfig/tools/"


@dataclass(frozen=True, slots=True)
class Leaf:
    """The innermost place at which two values differ."""

    path: str
    """From the values on: `.description`, `[2].text`; empty for the values themselves."""
    old: Any
    new: Any
    is_text: bool
    """True where both sides are one string, so that a character is the place."""

    @property
    def first_difference(self) -> int | None:
        """The first differing character; None where something is there or is not."""
        return common_prefix(self.old, self.new) if self.is_text else None

    @property
    def excerpts(self) -> tuple[str, str]:
        """Both sides from the first difference on. Captured text."""
        at = self.first_difference
        if at is None:
            return _shown(self.old), _shown(self.new)
        return self.old[at : at + EXCERPT], self.new[at : at + EXCERPT]


@dataclass(frozen=True, slots=True)
class Place:
    """A difference in the words of the request."""

    path: str | None
    """None where the record does not tell it."""
    first_difference: int | None
    excerpts: tuple[str, ...]
    """Old and new from the first difference on; of what is gone or new the one text there is.
    Captured text."""


def leaf_of(old: Any, new: Any, path: str = "", depth: int = 0) -> Leaf:
    """Where `old` and `new`, which differ, do so first. Markers are passed over."""
    if isinstance(old, str) and _is_text_part(new):
        return leaf_of(old, new["text"], f"{path}.text", depth + 1)
    if isinstance(new, str) and _is_text_part(old):
        old = old["text"]
    if isinstance(old, str) and isinstance(new, str):
        return Leaf(path, old, new, is_text=True)
    if isinstance(old, Mapping) and isinstance(new, Mapping) and depth < 32:
        if old.get("type") != new.get("type"):
            return Leaf(path, old, new, is_text=False)
        differing = [k for k in new if k not in MARKER_KEYS and k in old and old[k] != new[k]]
        shared = {k for k in old if k in new}
        alien = [k for k in (*old, *new) if k not in shared and k not in MARKER_KEYS]
        if len(differing) == 1 and not alien:
            key = differing[0]
            return leaf_of(old[key], new[key], f"{path}.{key}", depth + 1)
        if differing and not alien:
            texts = [k for k in differing if isinstance(new[k], str) and isinstance(old[k], str)]
            key = (texts or differing)[0]
            return leaf_of(old[key], new[key], f"{path}.{key}", depth + 1)
        return Leaf(path, old, new, is_text=False)
    if isinstance(old, list) and isinstance(new, list) and depth < 32:
        pairs = enumerate(zip(old, new, strict=False))
        at = next((i for i, (one, other) in pairs if one != other), None)
        if at is not None and len(old) == len(new):
            return leaf_of(old[at], new[at], f"{path}[{at}]", depth + 1)
    return Leaf(path, old, new, is_text=False)


def edit_place(timeline: Timeline, old: Turn, i: int, new: Turn, j: int) -> Place:
    """Where input `i` of the old turn and input `j` of the new one, which it became, differ.

    Reads the requests where they were kept, for the wire's own words.
    """
    pointers = place_of(timeline, old, i), place_of(timeline, new, j)
    leaf, from_wire = None, False
    if pointers[0] is not None and pointers[1] is not None:
        values = (
            resolved(wire_body(timeline, old), pointers[0]),
            resolved(wire_body(timeline, new), pointers[1]),
        )
        if None not in values and values[0] != values[1]:
            leaf, from_wire = leaf_of(*values), True
    if leaf is None:
        blocks = block_value(timeline, old.inputs[i]), block_value(timeline, new.inputs[j])
        leaf = leaf_of(*blocks)
    path = None if pointers[1] is None else spelled(pointers[1], leaf, from_wire=from_wire)
    return Place(path, leaf.first_difference, leaf.excerpts)


def wire_body(timeline: Timeline, turn: Turn) -> Any:
    """The request as parsed JSON, keys in the wire's order; None where it was not kept."""
    body = timeline.request(turn)
    if body is None:
        return None
    try:
        return json.loads(body.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError):
        return None


def resolved(body: Any, pointer: str) -> Any:
    """What stands at a JSON pointer; None where nothing does."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(body, Mapping) and key in body:
            body = body[key]
        elif isinstance(body, list) and key.isascii() and key.isdigit() and int(key) < len(body):
            body = body[int(key)]
        else:
            return None
    return body


def block_value(timeline: Timeline, block: int) -> Any:
    """A block's content from its text: the JSON of a part, or a plain string."""
    head = timeline.blocks[block]
    text = timeline.text_of(head.content_hash)
    if head.opens_json and head.kind != "message" and text.startswith("{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def place_of(timeline: Timeline, turn: Turn, at: int) -> str | None:
    """The JSON pointer of an input block; None where the record does not tell it."""
    return timeline.detail(turn).paths.get(turn.positions[at])


def declaration(timeline: Timeline, turn: Turn, pointer: str, which: int) -> str:
    """Where one of the functions that a tool declares stands in it: `.functionDeclarations[1]`.

    Reads the request where it was kept, for the wire's spelling.
    """
    tool = resolved(wire_body(timeline, turn), pointer)
    spelled_so = isinstance(tool, dict) and "function_declarations" in tool
    key = "function_declarations" if spelled_so else "functionDeclarations"
    return f".{key}[{which}]"


def spelled(pointer: str, leaf: Leaf, *, from_wire: bool) -> str:
    """The dotted place of a leaf below a pointer.

    Without the wire's own words a lone text is taken for what it nearly always is there.
    """
    inner = leaf.path
    if not from_wire:
        if pointer.startswith(_TOOL_LISTS) and inner:
            inner = f".toolSpec{inner}"
        elif not inner and leaf.is_text and pointer.rpartition("/")[2].isdigit():
            inner = ".text"
    return f"{dotted(pointer)}{inner}"


def _is_text_part(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("text"), str)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:EXCERPT]
