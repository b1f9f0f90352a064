"""Tool calls whose arguments are not what the tool's schema asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ctxdiff_analyzers.calling import Asked
from ctxdiff_analyzers.detectors.scene import Scene, excerpt
from ctxdiff_analyzers.exchanges import call_at
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.finish import is_cut_off, is_malformed
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.tool_schema import Rule, violation

WHY: dict[Rule | None, str] = {
    None: "the arguments are no JSON object",
    "type": "a value has another type than the schema asks for",
    "required": "a required property is missing",
    "enum": "a value is none of those that the schema lists",
    "const": "a value is not the one that the schema fixes",
    "additionalProperties": "a property stands there that the schema does not allow",
    "range": "a number is outside the range that the schema sets",
    "length": "a text or a list is shorter or longer than the schema allows",
    "pattern": "a text does not have the pattern that the schema asks for",
    "anyOf": "a value fits none of the schema's alternatives",
    "oneOf": "a value fits none of the schema's alternatives",
    "false": "a value stands where the schema allows none",
}
TOLD = 3
"""Calls of one answer that are told."""


def invalid(scene: Scene) -> Iterator[Finding]:
    """Calls in this turn's answer that do not satisfy the schema of the tool that was offered."""
    # An answer that was cut off has broken arguments, and that it was cut off is the cause.
    if is_cut_off(scene.turn.call):
        return
    if is_malformed(scene.turn.call):
        yield _unreadable(scene)
    told = 0
    for block in scene.turn.outputs:
        call = call_at(scene.mine, block)
        if call is None or told == TOLD:
            continue
        found = fault_of(scene.mine, scene.turn, call)
        if found is not None:
            told += 1
            yield _finding(scene, block, call, *found)


def fault_of(mine: Timeline, turn: Turn, call: Asked) -> tuple[str, tuple[str | int, ...]] | None:
    """Why the arguments of a call in the turn's answer are wrong, and where; None if they fit."""
    if call.is_free_text or call.is_hosted:
        return None
    if not call.is_json:
        return WHY[None], ()
    given = json.loads(call.arguments)
    schema = _schema_of(mine, turn, call.name)
    if schema is None:
        return None if isinstance(given, (dict, str)) else (WHY[None], ())
    found = violation(given, schema)
    return None if found is None else (WHY[found.rule], found.where)


def _finding(
    scene: Scene, block: int, call: Asked, why: str, where: tuple[str | int, ...]
) -> Finding:
    digest = scene.mine.blocks[block].content_hash
    names = [call.name, *(step for step in where if isinstance(step, str))]
    return scene.finding(
        "tool_arguments_invalid",
        "high",
        why=why,
        evidence=Evidence(
            content_hashes=(digest,),
            names=tuple(excerpt(name) for name in names[:5]),
            excerpts=(excerpt(call.arguments),),
        ),
        next=NextCall("ctxdiff_block", (("content_hash", digest),)),
    )


def _unreadable(scene: Scene) -> Finding:
    """A call that the provider left out of its answer."""
    return scene.finding(
        "tool_arguments_invalid",
        "high",
        why="the provider says that it could not read the tool call",
        evidence=Evidence(names=(excerpt(scene.turn.call.finish_reason or ""),)),
        next=NextCall("ctxdiff_block", (("turn", scene.turn.seq),)),
    )


def _schema_of(mine: Timeline, turn: Turn, name: str) -> Any:
    """The schema of the tool's parameters, as this turn's request offers it."""
    for block in turn.inputs:
        if mine.blocks[block].kind == "tool_schema":
            found = mine.fact("parameters", block, parameters)
            if name in found:
                return found[name]
    return None


def parameters(text: str) -> dict[str, Any]:
    """Tool name to the schema of its parameters, for the tools that a schema block declares."""
    try:
        block = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    found: dict[str, Any] = {}
    for tool in _declared(block):
        name = tool.get("name")
        schema = next((tool[key] for key in SCHEMA_KEYS if tool.get(key) is not None), None)
        if isinstance(schema, dict) and isinstance(schema.get("json"), dict) and len(schema) == 1:
            schema = schema["json"]
        if isinstance(name, str) and isinstance(schema, dict):
            found[name] = schema
    return found


SCHEMA_KEYS = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parameters_json_schema",
    "parametersJsonSchema",
)


def _declared(block: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(block, dict):
        return
    for key in ("function_declarations", "functionDeclarations"):
        listed = block.get(key)
        yield from (
            one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict)
        )
    for holder in (block, block.get("function"), block.get("toolSpec")):
        if isinstance(holder, dict) and isinstance(holder.get("name"), str):
            yield holder
            return
