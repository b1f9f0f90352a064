"""Tools that the conversation speaks of and the request does not offer."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_analyzers.detectors.scene import Scene
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.schemas import calls_in, names_in
from ctxdiff_analyzers.timeline import Turn


def missing(scene: Scene) -> Iterator[Finding]:
    """A tool that was offered before and is not any more, while its calls are in context."""
    if scene.previous is None:
        return
    offered = _offered(scene, scene.turn)
    dropped = _offered(scene, scene.previous) - offered
    asked = {name: block for block in scene.turn.outputs for name in _called(scene, block)}
    if set(asked) - offered - dropped:
        dropped |= _ever_offered(scene) - offered
    in_context = {name: block for block in scene.turn.inputs for name in _called(scene, block)}
    for name in sorted(dropped & (asked.keys() | in_context.keys())):
        block = asked.get(name, in_context.get(name, -1))
        yield scene.finding(
            "tool_missing",
            "high" if name in asked else "medium",
            evidence=Evidence(
                content_hashes=(scene.mine.blocks[block].content_hash,), names=(name,)
            ),
            next=scene.to_diff(),
        )


def unknown(scene: Scene) -> Iterator[Finding]:
    """A tool that the model called and that was never offered to it."""
    asked = {name: block for block in scene.turn.outputs for name in _called(scene, block)}
    if not asked:
        return
    for name in sorted(asked.keys() - _ever_offered(scene)):
        block = scene.mine.blocks[asked[name]]
        yield scene.finding(
            "tool_unknown",
            "high",
            evidence=Evidence(
                content_hashes=(block.content_hash,),
                names=(name,),
                counts=(("offered", len(_offered(scene, scene.turn))),),
            ),
            next=NextCall("ctxdiff_block", (("content_hash", block.content_hash),)),
        )


def _offered(scene: Scene, turn: Turn) -> frozenset[str]:
    return frozenset(
        name
        for block in turn.inputs
        if scene.mine.blocks[block].kind == "tool_schema"
        for name in names_in(scene.mine, block)
    )


def _ever_offered(scene: Scene) -> frozenset[str]:
    """Tools offered to this agent at this turn or before."""
    blocks = set[int]()
    for turn in scene.mine.turns:
        if turn.seq <= scene.turn.seq:
            blocks.update(turn.inputs)
    return frozenset(
        name
        for block in blocks
        if scene.mine.blocks[block].kind == "tool_schema"
        for name in names_in(scene.mine, block)
    )


def _called(scene: Scene, block: int) -> list[str]:
    return [call.name for call in calls_in(scene.mine, block)]
