"""Why two turns' prefixes part where they do: the section, the blocks at fault, the cause."""

from __future__ import annotations

from ctxdiff_analyzers.cache.conversation import said_otherwise, taken_out
from ctxdiff_analyzers.cache.order import Rendered
from ctxdiff_analyzers.cache.pair import Difference, Pair
from ctxdiff_analyzers.cache.places import (
    EXCERPT,
    Place,
    declaration,
    edit_place,
    place_of,
)
from ctxdiff_analyzers.edits import FORM_ONLY
from ctxdiff_analyzers.paths import dotted
from ctxdiff_analyzers.schemas import names_in
from ctxdiff_analyzers.system_edits import exchanged_cause, system_cause
from ctxdiff_analyzers.timeline import Timeline


def difference(timeline: Timeline, old: Rendered, new: Rendered, at: tuple[int, int]) -> Difference:
    """What is at fault where two turns part at `at`, a place that both of them have."""
    i, j = at
    section = min((old.section(i), new.section(j)), key=old.order.index)
    pair = Pair(timeline, old, new, i, j)
    if section == "messages":
        return taken_out(pair) or said_otherwise(pair)
    return _tools(pair) if section == "tools" else _system(pair)


def place_of_difference(
    timeline: Timeline, old: Rendered, new: Rendered, found: Difference
) -> Place:
    """The path, the character and both texts; reads the requests where they were kept."""
    i, j = found.old_block, found.new_block
    if found.is_edit and i is not None and j is not None:
        return edit_place(timeline, old.turn, i, new.turn, j)
    view, at = (old, i) if i is not None else (new, j)
    if at is None:
        return Place(None, None, ())
    pointer = place_of(timeline, view.turn, at)
    sides = ((old, i), (new, j))
    texts = tuple(_text(timeline, side, k)[:EXCERPT] for side, k in sides if k is not None)
    path = dotted(pointer)
    return Place(
        path and path + _declaration(timeline, (old, new), at, found, pointer), None, texts
    )


def _tools(pair: Pair) -> Difference:
    """A tool was added, removed, edited, or stands elsewhere."""
    before = [name for at in pair.indices(pair.old, "tools") for name in pair.names(pair.old, at)]
    now = [name for at in pair.indices(pair.new, "tools") for name in pair.names(pair.new, at)]
    i, j = pair.inputs
    here_old = pair.old.section(pair.i) == "tools"
    here_new = pair.new.section(pair.j) == "tools"
    names = pair.names(pair.new, j) if here_new else ()
    if here_old and here_new and pair.names(pair.old, i) == names:
        cause = pair.edit_cause(i, j)
        told = cause if cause in FORM_ONLY else "tool_description_changed"
        return pair.told("tools", told, i, j, is_edit=True, names=names)
    added = [name for name in now if name not in before]
    removed = [name for name in before if name not in now]
    if not added and not removed:
        return pair.told(
            "tools",
            "tool_order_changed",
            None if here_new else i,
            j if here_new else None,
            names=names,
        )
    is_added = any(name in added for name in names)
    return pair.told(
        "tools",
        "tool_set_changed",
        None if is_added or not here_old else i,
        j if is_added else None,
        counts=(("added", len(added)), ("removed", len(removed))),
        names=(*removed, *added),
    )


def _system(pair: Pair) -> Difference:
    """System text that is edited, new or gone."""
    i, j = pair.inputs
    olds, news = pair.indices(pair.old, "system"), pair.indices(pair.new, "system")
    if not news and olds:
        return pair.told("system", "system_prompt_missing", i, None)
    is_old = pair.old.section(pair.i) == "system"
    is_new = pair.new.section(pair.j) == "system"
    if is_old and is_new and ((i, j) in pair.found.edited or len(olds) == len(news) == 1):
        return _edited_system(pair, i, j)
    block = pair.new.turn.inputs[j]
    if is_new and block in [pair.new.turn.inputs[k] for k in news if k != j]:
        return pair.told("system", "duplicate_system_prompt", None, j)
    if is_new and j in pair.found.new:
        replaced = is_old and i in pair.found.gone
        cause = _exchanged(pair, i, j) if replaced else "section_appended"
        return pair.told("system", cause, i if replaced else None, j, is_edit=replaced)
    came = {b: a for a, b in (*pair.found.same, *pair.found.edited)}
    if is_new and j in came and is_old and i not in pair.found.gone:
        moved = dict(pair.found.edited).get(came[j]) == j
        return (
            _edited_system(pair, came[j], j)
            if moved
            else pair.told("system", "block_moved", i, None)
        )
    return pair.told("system", "system_replaced", i if is_old else None, None if is_old else j)


def _exchanged(pair: Pair, i: int, j: int) -> str:
    """Why a system text was exchanged for an unlike one."""
    if len(pair.indices(pair.new, "system")) == 1:
        return "system_replaced"
    return exchanged_cause(pair.timeline, pair.old.turn, i, pair.new.turn, j)


def _edited_system(pair: Pair, i: int, j: int) -> Difference:
    cause = system_cause(pair.timeline, pair.old.turn, i, pair.new.turn, j)
    return pair.told("system", cause, i, j, is_edit=True)


def _declaration(
    timeline: Timeline,
    sides: tuple[Rendered, Rendered],
    at: int,
    found: Difference,
    pointer: str | None,
) -> str:
    """Which of the functions that one tool declares is the added, removed or moved one."""
    if found.section != "tools" or pointer is None:
        return ""
    view = sides[0] if found.old_block is not None else sides[1]
    names = names_in(timeline, view.turn.inputs[at])
    if len(names) < 2:
        return ""
    if found.cause == "tool_set_changed":
        which = next((k for k, name in enumerate(names) if name in found.names), None)
    else:
        was = names_in(timeline, sides[0].blocks[found.at])
        pairs = enumerate(zip(was, names, strict=False))
        which = next((k for k, (one, other) in pairs if one != other), None)
    return "" if which is None else declaration(timeline, view.turn, pointer, which)


def _text(timeline: Timeline, view: Rendered, at: int) -> str:
    return timeline.text_of(timeline.blocks[view.turn.inputs[at]].content_hash)
