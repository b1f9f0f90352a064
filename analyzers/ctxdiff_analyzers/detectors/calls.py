"""How the call went, and what it asked for beside its blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from ctxdiff_analyzers.detectors.scene import Scene, excerpt
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.params import Changed, changed_params
from ctxdiff_analyzers.timeline import Turn

MESSAGE = 300
"""Code points of an error message that are quoted."""


def failed(scene: Scene) -> Iterator[Finding]:
    """The call has an error."""
    call = scene.turn.call
    if call.error is None:
        return
    message = call.error_message
    counts = [] if call.error_status is None else [("status", call.error_status)]
    if call.attempts is not None and call.attempts > 1:
        counts.append(("attempts", call.attempts))
    yield scene.finding(
        "call_failed",
        "high",
        evidence=Evidence(
            names=(excerpt(call.error),),
            excerpts=() if message is None else (message[:MESSAGE],),
            counts=tuple(counts),
        ),
        next=NextCall("ctxdiff_block", (("turn", call.seq),)),
    )


def retried(scene: Scene) -> Iterator[Finding]:
    """The same request was sent more than once: by the SDK, or by the program after an error."""
    call, previous = scene.turn.call, scene.previous
    if call.attempts is not None and call.attempts > 1:
        yield scene.finding(
            "call_retried",
            "low",
            evidence=Evidence(counts=(("attempts", call.attempts),)),
            next=NextCall("ctxdiff_block", (("turn", call.seq),)),
        )
    elif previous is not None and previous.call.error is not None and _same(previous, scene.turn):
        yield scene.finding(
            "call_retried",
            "low",
            certainty="inferred",
            since=previous.seq,
            why="the agent's previous call failed and had the same blocks",
            evidence=Evidence(names=(excerpt(previous.call.error),)),
            next=scene.to_diff(),
        )


def other_model(scene: Scene) -> Iterator[Finding]:
    """Another model than at the agent's previous call: asked for, or behind the same name."""
    if scene.previous is None:
        return
    old, new = scene.previous, scene.turn
    before, now = _model(old), _model(new)
    if before == now:
        before, now = old.call.response_model, new.call.response_model
    if before is not None and now is not None and before != now:
        yield scene.finding(
            "model_changed",
            "medium",
            evidence=Evidence(names=(excerpt(before), excerpt(now))),
            next=scene.to_diff(),
        )


def other_params(scene: Scene) -> Iterator[Finding]:
    """Control parameters that differ from the agent's previous call, one finding per cause."""
    if scene.previous is None:
        return
    changed: defaultdict[str, list[Changed]] = defaultdict(list)
    for one in changed_params(scene.previous.call.params, scene.turn.call.params):
        changed[one.cause].append(one)
    for cause, ones in changed.items():
        values = [value for one in ones for value in (one.old, one.new)]
        yield scene.finding(
            "params_changed",
            "low",
            cause=cause,
            evidence=Evidence(
                names=tuple(one.name for one in ones),
                excerpts=tuple(excerpt(_shown(value)) for value in values),
                path=ones[0].name,
            ),
            next=scene.to_diff(),
        )


def _same(one: Turn, other: Turn) -> bool:
    return bool(other.inputs) and list(one.inputs) == list(other.inputs)


def _model(turn: Turn) -> str | None:
    found = turn.call.params.get("model", turn.call.params.get("modelId"))
    return found if isinstance(found, str) else None


def _shown(value: Any) -> str:
    if value is None:
        return "(not set)"
    if isinstance(value, Mapping) and isinstance(value.get("type"), str):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return str(value)
