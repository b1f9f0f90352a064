"""Changes of what stands before the conversation: system text and tool schemas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ctxdiff_analyzers.align import in_order
from ctxdiff_analyzers.cache.places import Place, edit_place
from ctxdiff_analyzers.detectors.scene import Scene, is_prompt, tokens_of
from ctxdiff_analyzers.edits import FORM_ONLY, edit
from ctxdiff_analyzers.findings import Evidence, Finding, Severity
from ctxdiff_analyzers.matching import is_marker
from ctxdiff_analyzers.paths import path_of
from ctxdiff_analyzers.schemas import names_in
from ctxdiff_analyzers.system_edits import system_cause
from ctxdiff_analyzers.timeline import Turn

PASSING = FORM_ONLY | {"volatile_value", "session_id_in_prefix", "retrieval_in_prefix"}
"""Causes of an edit that leaves the instructions as they were."""


def system(scene: Scene) -> Iterator[Finding]:
    """System text that differs from the previous turn's, or is gone altogether."""
    if scene.previous is None:
        return
    for i, j in scene.matching.edited:
        if is_prompt(scene.new_block(j)):
            yield _edited(scene, i, j)
    gone = [i for i in scene.matching.gone if _is_system(scene, scene.previous, i)]
    new = [j for j in scene.matching.new if _is_system(scene, scene.turn, j)]
    if not gone and not new:
        return
    if gone and not any(is_prompt(scene.new_block(j)) for j in range(len(scene.turn.inputs))):
        blocks = [scene.old_block(i) for i in gone]
        places = [scene.previous.positions[i] for i in gone]
        path = path_of(scene.mine, scene.previous, gone[0])
        yield scene.about(
            "context_evicted", "high", blocks, places, path=path, cause="system_prompt_missing"
        )
        return
    blocks = [scene.old_block(i) for i in gone] + [scene.new_block(j) for j in new]
    places = [scene.turn.positions[j] for j in new]
    yield scene.about(
        "system_changed",
        "medium",
        blocks,
        places,
        cause="system_replaced" if gone else "section_appended",
        counts=(("gone", len(gone)), ("new", len(new))),
        path=(
            path_of(scene.mine, scene.turn, new[0])
            if new
            else path_of(scene.mine, scene.previous, gone[0])
        ),
    )


def tool_set(scene: Scene) -> Iterator[Finding]:
    """Tools added, removed or edited since the previous turn."""
    if scene.previous is None:
        return
    before, now = _tools(scene, scene.previous), _tools(scene, scene.turn)
    removed = [name for name in before if name not in now]
    added = [name for name in now if name not in before]
    same = {scene.turn.inputs[j]: scene.previous.inputs[i] for i, j in scene.matching.same}
    edited = [
        name
        for name, block in now.items()
        if name in before and before[name] not in (block, same.get(block))
    ]
    names = [*removed, *added, *edited]
    if not names:
        return
    severity: Severity = "medium" if removed else "low"
    concerned = [before[name] for name in (*removed, *edited)]
    concerned += [now[name] for name in (*added, *edited)]
    blocks = [scene.mine.blocks[block] for block in dict.fromkeys(concerned)]
    tokens, method = tokens_of(blocks)
    place = _place(scene, before, now, names, edited)
    yield scene.finding(
        "tools_changed",
        severity,
        cause="tool_set_changed" if removed or added else "tool_description_changed",
        evidence=Evidence(
            content_hashes=tuple(block.content_hash for block in blocks[:10]),
            first_difference=place.first_difference,
            names=tuple(names[:20]),
            counts=(("removed", len(removed)), ("added", len(added)), ("edited", len(edited))),
            path=place.path,
        ),
        tokens=tokens,
        tokens_method=method,
        next=scene.to_diff(),
    )


def tool_order(scene: Scene) -> Iterator[Finding]:
    """The same tools in another order."""
    if scene.previous is None:
        return
    pairs = [(i, j) for i, j in scene.matching.same if scene.new_block(j).kind == "tool_schema"]
    unmoved = set(in_order(pairs))
    moved = [j for i, j in pairs if (i, j) not in unmoved]
    if not moved or _tools(scene, scene.previous).keys() != _tools(scene, scene.turn).keys():
        return
    blocks = [scene.new_block(j) for j in moved]
    tokens, method = tokens_of([scene.new_block(j) for _, j in pairs])
    names = [name for j in moved for name in names_in(scene.mine, scene.turn.inputs[j])]
    yield scene.finding(
        "tools_reordered",
        "low",
        cause="tool_order_changed",
        evidence=Evidence(
            content_hashes=tuple(block.content_hash for block in blocks[:10]),
            positions=tuple(scene.turn.positions[j] for j in moved[:10]),
            names=tuple(names[:20]),
            counts=(("tools", len(pairs)), ("moved", len(moved))),
            path=path_of(scene.mine, scene.turn, moved[0]),
        ),
        tokens=tokens,
        tokens_method=method,
        next=scene.to_diff(),
    )


def _edited(scene: Scene, i: int, j: int) -> Finding:
    assert scene.previous is not None
    found = edit(scene.text(scene.old_block(i)), scene.text(scene.new_block(j)))
    cause = system_cause(scene.mine, scene.previous, i, scene.turn, j)
    severity: Severity = "low" if cause in PASSING else "medium"
    place = edit_place(scene.mine, scene.previous, i, scene.turn, j)
    told = scene.edited("system_changed", severity, i, j, found=found, cause=cause)
    return replace(
        told,
        evidence=replace(told.evidence, path=place.path, first_difference=place.first_difference),
    )


def _place(
    scene: Scene, before: dict[str, int], now: dict[str, int], names: list[str], edited: list[str]
) -> Place:
    """Where the first edited tool differs, or where the first added or removed one stands."""
    assert scene.previous is not None
    name = (edited or names)[0]
    olds, news = list(scene.previous.inputs), list(scene.turn.inputs)
    if name in before and name in now:
        i, j = olds.index(before[name]), news.index(now[name])
        return edit_place(scene.mine, scene.previous, i, scene.turn, j)
    if name in now:
        path = path_of(scene.mine, scene.turn, news.index(now[name]))
    else:
        path = path_of(scene.mine, scene.previous, olds.index(before[name]))
    return Place(path, None, ())


def _is_system(scene: Scene, turn: Turn, index: int) -> bool:
    block = turn.inputs[index]
    return is_prompt(scene.mine.blocks[block]) and not is_marker(scene.mine, block)


def _tools(scene: Scene, turn: Turn) -> dict[str, int]:
    """Tool name to the schema block that declares it; a nameless one goes by its hash."""
    found: dict[str, int] = {}
    for block in turn.inputs:
        head = scene.mine.blocks[block]
        if head.kind == "tool_schema" and not is_marker(scene.mine, block):
            names = names_in(scene.mine, block) or (head.content_hash[:12],)
            found.update((name, block) for name in names)
    return found
