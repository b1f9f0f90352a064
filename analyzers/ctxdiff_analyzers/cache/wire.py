"""Differences that blocks do not show: two requests compared as they were sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ctxdiff_analyzers.cache.ancestors import Ancestor
from ctxdiff_analyzers.cache.pair import Difference
from ctxdiff_analyzers.cache.places import Place, leaf_of, place_of, resolved, spelled, wire_body
from ctxdiff_analyzers.cache.rules import Section
from ctxdiff_analyzers.content import MARKER_KEYS
from ctxdiff_analyzers.paths import dotted
from ctxdiff_analyzers.schemas import names_in
from ctxdiff_analyzers.timeline import Timeline

ENVELOPE = frozenset(
    ("role", "content", "type", "text", "id", "name", "tool_call_id", "call_id", "parts")
)
"""Keys of a message around its content: the provider makes its own form of them, whatever their
order."""


@dataclass(frozen=True, slots=True)
class WireDifference:
    """The first place at which equal blocks were sent otherwise."""

    cause: str
    section: Section
    difference: Difference
    place: Place


def wire_difference(timeline: Timeline, before: Ancestor, end: int) -> WireDifference | None:
    """The first of the first `end` blocks that was sent in another form than before.

    None where nothing differs, or where the requests or the blocks' places were not kept.
    """
    old, new = before.view, before.new
    bodies = wire_body(timeline, old.turn), wire_body(timeline, new.turn)
    if None in bodies:
        return None
    for k in range(min(end, len(old.blocks), len(new.blocks))):
        i, j = old.input_at(k), new.input_at(k)
        pointers = place_of(timeline, old.turn, i), place_of(timeline, new.turn, j)
        if pointers[0] is None or pointers[1] is None:
            continue
        whole = pointers[0] == pointers[1]
        values = (
            _value(bodies[0], pointers[0], whole=whole),
            _value(bodies[1], pointers[1], whole=whole),
        )
        if _spelled(values[0]) == _spelled(values[1]):
            continue
        where = first_reordered(values[0], values[1], dotted(pointers[1]) or "")
        names = names_in(timeline, new.turn.inputs[j]) if new.section(k) == "tools" else ()
        cause = "json_key_order_changed"
        place = Place(where, None, _around(values))
        if where is None:
            if values[0] == values[1]:
                continue
            leaf = leaf_of(*values)
            cause = "replay_differs_from_sent"
            place = Place(
                spelled(pointers[1], leaf, from_wire=True), leaf.first_difference, leaf.excerpts
            )
        found = Difference(k, k, new.section(k), cause, i, j, is_edit=True, names=names)
        return WireDifference(cause, new.section(k), found, place)
    return None


def first_reordered(old: Any, new: Any, path: str) -> str | None:
    """The place of the first object whose keys stand in another order; None without one."""
    return next(_reordered(old, new, path, 0), None)


def _reordered(old: Any, new: Any, path: str, depth: int) -> Iterator[str]:
    if depth > 64:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [[k for k in one if k not in MARKER_KEYS] for one in (old, new)]
        # The order of a message's own keys is not part of the prompt.
        inside = not ENVELOPE.issuperset(keys[0])
        if inside and keys[0] != keys[1] and set(keys[0]) == set(keys[1]):
            yield path
        for key in keys[1]:
            if key in old:
                yield from _reordered(old[key], new[key], f"{path}.{key}", depth + 1)
    elif isinstance(old, list) and isinstance(new, list):
        for at, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _reordered(one, other, f"{path}[{at}]", depth + 1)


def _value(body: Any, pointer: str, *, whole: bool) -> Any:
    """What stands at a block's place, for a message with one content the message itself.

    Without `whole`, where the other side has its text in another form, the text alone.
    """
    if whole and pointer.endswith("/content"):
        pointer = pointer.removesuffix("/content")
    found = _unmarked(resolved(body, pointer))
    lone = isinstance(found, dict) and set(found) <= {"type", "text"} and "text" in found
    return found["text"] if lone else found


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _unmarked(v) for k, v in value.items() if k not in MARKER_KEYS}
    return [_unmarked(v) for v in value] if isinstance(value, list) else value


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _around(values: tuple[Any, Any]) -> tuple[str, str]:
    """Both forms from the first differing character on. Captured text."""
    old, new = _spelled(values[0]), _spelled(values[1])
    at = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    return old[at : at + 80], new[at : at + 80]
