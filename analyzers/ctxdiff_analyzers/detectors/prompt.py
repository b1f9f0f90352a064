"""Changes of what stands before the conversation: system text and tool schemas."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_analyzers.align import in_order
from ctxdiff_analyzers.detectors.edits import FORM_ONLY, edit
from ctxdiff_analyzers.detectors.scene import Scene, is_prompt, tokens_of
from ctxdiff_analyzers.findings import Evidence, Finding, Severity
from ctxdiff_analyzers.matching import is_marker
from ctxdiff_analyzers.schemas import names_in
from ctxdiff_analyzers.timeline import Turn


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
        yield scene.about("context_evicted", "high", blocks, places, cause="system_prompt_missing")
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
    first = None
    if edited:
        pair = (scene.mine.blocks[before[edited[0]]], scene.mine.blocks[now[edited[0]]])
        first = edit(scene.text(pair[0]), scene.text(pair[1])).first_difference
    yield scene.finding(
        "tools_changed",
        severity,
        cause="tool_set_changed" if removed or added else "tool_description_changed",
        evidence=Evidence(
            content_hashes=tuple(block.content_hash for block in blocks[:10]),
            first_difference=first,
            names=tuple(names[:20]),
            counts=(("removed", len(removed)), ("added", len(added)), ("edited", len(edited))),
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
        ),
        tokens=tokens,
        tokens_method=method,
        next=scene.to_diff(),
    )


def _edited(scene: Scene, i: int, j: int) -> Finding:
    found = edit(scene.text(scene.old_block(i)), scene.text(scene.new_block(j)))
    volatile = found.cause in ("volatile_value", "session_id_in_prefix")
    severity: Severity = "low" if volatile or found.cause in FORM_ONLY else "medium"
    return scene.edited("system_changed", severity, i, j, found=found, cause=found.cause)


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
