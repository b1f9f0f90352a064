"""Changes of what stands before the conversation: system text and tool schemas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ctxdiff_analyzers.align import in_order
from ctxdiff_analyzers.cache.places import Place, declaration, edit_place, place_of
from ctxdiff_analyzers.detectors.scene import Scene, is_prompt, tokens_of
from ctxdiff_analyzers.edits import FORM_ONLY, edit
from ctxdiff_analyzers.findings import Evidence, Finding, Severity
from ctxdiff_analyzers.matching import is_marker
from ctxdiff_analyzers.paths import dotted, path_of
from ctxdiff_analyzers.schemas import declared_in
from ctxdiff_analyzers.system_edits import exchanged_cause, system_cause
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
    cause = _exchanged(scene, gone, new) if gone else "section_appended"
    yield scene.about(
        "system_changed",
        "low" if cause in PASSING else "medium",
        blocks,
        places,
        cause=cause,
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
    edited = [
        name for name, one in now.items() if name in before and before[name].digest != one.digest
    ]
    names = [*removed, *added, *edited]
    if not names:
        return
    severity: Severity = "medium" if removed else "low"
    concerned = [(scene.previous, before[name]) for name in (*removed, *edited)]
    concerned += [(scene.turn, now[name]) for name in (*added, *edited)]
    found = dict.fromkeys(turn.inputs[one.at] for turn, one in concerned)
    blocks = [scene.mine.blocks[block] for block in found]
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
    before, now = _tools(scene, scene.previous), _tools(scene, scene.turn)
    if list(before) == list(now) or before.keys() != now.keys():
        return
    places = {name: k for k, name in enumerate(before)}
    pairs = [(places[name], k) for k, name in enumerate(now)]
    unmoved = set(in_order(pairs))
    moved = [name for name, pair in zip(now, pairs, strict=True) if pair not in unmoved]
    found = list(dict.fromkeys(now[name].at for name in moved))
    all_tools = dict.fromkeys(scene.turn.inputs[one.at] for one in now.values())
    tokens, method = tokens_of([scene.mine.blocks[block] for block in all_tools])
    yield scene.finding(
        "tools_reordered",
        "low",
        cause="tool_order_changed",
        evidence=Evidence(
            content_hashes=tuple(scene.new_block(j).content_hash for j in found[:10]),
            positions=tuple(scene.turn.positions[j] for j in found[:10]),
            names=tuple(moved[:20]),
            counts=(("tools", len(now)), ("moved", len(moved))),
            path=_path_of_tool(scene, scene.turn, now[moved[0]]),
        ),
        tokens=tokens,
        tokens_method=method,
        next=scene.to_diff(),
    )


def _exchanged(scene: Scene, gone: list[int], new: list[int]) -> str:
    """Why system texts were exchanged for unlike ones."""
    assert scene.previous is not None
    stays = any(is_prompt(scene.new_block(j)) for _, j in scene.matching.same)
    if not stays or len(gone) != 1 or len(new) != 1:
        return "system_replaced"
    return exchanged_cause(scene.mine, scene.previous, gone[0], scene.turn, new[0])


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
    scene: Scene,
    before: dict[str, _Offered],
    now: dict[str, _Offered],
    names: list[str],
    edited: list[str],
) -> Place:
    """Where the first edited tool differs, or where the first added or removed one stands."""
    assert scene.previous is not None
    name = (edited or names)[0]
    if name in before and name in now:
        return edit_place(scene.mine, scene.previous, before[name].at, scene.turn, now[name].at)
    turn, one = (scene.turn, now[name]) if name in now else (scene.previous, before[name])
    return Place(_path_of_tool(scene, turn, one), None, ())


def _path_of_tool(scene: Scene, turn: Turn, one: _Offered) -> str | None:
    """The place of a tool, or of the function that it is among those of one tool."""
    pointer = place_of(scene.mine, turn, one.at)
    if pointer is None or one.which is None:
        return dotted(pointer)
    return f"{dotted(pointer)}{declaration(scene.mine, turn, pointer, one.which)}"


def _is_system(scene: Scene, turn: Turn, index: int) -> bool:
    block = turn.inputs[index]
    return is_prompt(scene.mine.blocks[block]) and not is_marker(scene.mine, block)


@dataclass(frozen=True, slots=True)
class _Offered:
    """A tool and where a turn declares it."""

    at: int
    """Index in the turn's inputs."""
    which: int | None
    """Which of the block's functions it is; None for the only one."""
    digest: str


def _tools(scene: Scene, turn: Turn) -> dict[str, _Offered]:
    """What a turn offers by name, in its order."""
    found: dict[str, _Offered] = {}
    for at, block in enumerate(turn.inputs):
        if scene.mine.blocks[block].kind == "tool_schema":
            declared = declared_in(scene.mine, block)
            for k, one in enumerate(declared):
                found[one.name] = _Offered(at, k if len(declared) > 1 else None, one.digest)
    return found
