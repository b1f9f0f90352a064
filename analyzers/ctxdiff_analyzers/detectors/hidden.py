"""Context that the provider holds, and that the record therefore lacks."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_analyzers.detectors.scene import Scene, excerpt
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.hiding import hidden_by_params, hidden_names


def hidden(scene: Scene) -> Iterator[Finding]:
    """Part of what the model saw is in no request: it was taken from the provider's store."""
    names = hidden_names(scene.mine, scene.turn)
    if not names:
        return
    known = None if scene.previous is None else hidden_names(scene.mine, scene.previous)
    since = _since(scene) if known else None
    yield scene.finding(
        "context_hidden",
        # What has been so all along is how the program works.
        "low" if known or scene.previous is None else "medium",
        since=since,
        why="the request names context that the provider adds and that is not in the record",
        evidence=Evidence(names=tuple(excerpt(name) for name in names)),
        next=NextCall("ctxdiff_block", (("turn", scene.turn.seq),)),
    )


def _since(scene: Scene) -> int | None:
    """The first of the agent's turns, without a gap up to this one, that had hidden context."""
    since = None
    for turn in reversed(scene.mine.turns):
        if turn.seq < scene.turn.seq:
            if not hidden_by_params(turn.call):
                break
            since = turn.seq
    return since
