"""Tools that the conversation speaks of and the request does not offer."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from ctxdiff_analyzers.calling import Asked
from ctxdiff_analyzers.content import schema_names
from ctxdiff_analyzers.detectors.scene import Scene
from ctxdiff_analyzers.exchanges import call_at, offered_names, schemas_met
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.hiding import hides_history

DELIVERED = ("tool_search_output", "additional_tools", "mcp_list_tools")
"""Items that bring tools which the request's list of tools does not have."""


def missing(scene: Scene) -> Iterator[Finding]:
    """A tool that was offered before and is not any more, while its calls are in context."""
    if scene.previous is None or hides_history(scene.mine, scene.turn):
        return
    offered = offered_names(scene.mine, scene.turn)
    dropped = offered_names(scene.mine, scene.previous) - offered
    asked = _asked(scene)
    if set(asked) - offered - dropped:
        dropped |= _ever_offered(scene) - offered
    if not dropped or (not offered and not asked and _closes(scene)):
        return
    in_context = {
        call.name: block
        for block in scene.turn.inputs
        if (call := _own_call(scene, block)) is not None
    }
    for name in sorted(dropped & (asked.keys() | in_context.keys())):
        block = asked.get(name, in_context.get(name, -1))
        yield scene.finding(
            "tool_missing",
            # Without any tools many programs ask for the answer.
            "high" if name in asked else "medium" if offered else "low",
            evidence=Evidence(
                content_hashes=(scene.mine.blocks[block].content_hash,),
                names=(name,),
                counts=(("offered", len(offered)),),
            ),
            next=scene.to_diff(),
        )


def _closes(scene: Scene) -> bool:
    """True for a call that ends a piece of work: the agent's last, or tools come back after it."""
    turns = scene.mine.turns
    at = bisect_right(turns, scene.turn.seq, key=lambda turn: turn.seq)
    return at == len(turns) or bool(offered_names(scene.mine, turns[at]))


def unknown(scene: Scene) -> Iterator[Finding]:
    """A tool that the model called and that was never offered to it."""
    asked = _asked(scene)
    if not asked or hides_history(scene.mine, scene.turn):
        return
    strangers = sorted(asked.keys() - offered_names(scene.mine, scene.turn))
    for known in (_ever_offered, _delivered):
        strangers = [name for name in strangers if name not in known(scene)] if strangers else []
    for name in strangers:
        block = scene.mine.blocks[asked[name]]
        yield scene.finding(
            "tool_unknown",
            "high",
            evidence=Evidence(
                content_hashes=(block.content_hash,),
                names=(name,),
                counts=(("offered", len(offered_names(scene.mine, scene.turn))),),
            ),
            next=NextCall("ctxdiff_block", (("content_hash", block.content_hash),)),
        )


def _asked(scene: Scene) -> dict[str, int]:
    """The tools that this turn's answer calls, each with a block of it."""
    found = ((_own_call(scene, block), block) for block in scene.turn.outputs)
    return {call.name: block for call, block in found if call is not None}


def _own_call(scene: Scene, block: int) -> Asked | None:
    """The call of a tool that the request has to declare by name."""
    call = call_at(scene.mine, block)
    return None if call is None or call.is_hosted else call


def _ever_offered(scene: Scene) -> frozenset[str]:
    """Tools offered to this agent at this turn or before."""
    return frozenset(
        name
        for block, seq in schemas_met(scene.mine).items()
        if seq <= scene.turn.seq
        for name in scene.mine.fact("schema names", block, schema_names)
    )


def _delivered(scene: Scene) -> frozenset[str]:
    """Tools that came in the conversation itself, such as what a search for tools found."""
    return frozenset(
        name
        for block in (*scene.turn.inputs, *scene.turn.outputs)
        if scene.mine.blocks[block].kind == "content_part" and scene.mine.blocks[block].opens_json
        for name in scene.mine.fact("tools delivered", block, _tools_in)
    )


def _tools_in(text: str) -> tuple[str, ...]:
    if not any(kind in text for kind in DELIVERED):
        return ()
    try:
        item: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(item, dict) or item.get("type") not in DELIVERED:
        return ()
    listed = item.get("tools")
    names = [name for tool in _flat(listed) for name in schema_names(json.dumps(tool))]
    return tuple(names)


def _flat(tools: Any) -> Iterator[dict[str, Any]]:
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            yield tool
            yield from _flat(tool.get("tools"))
