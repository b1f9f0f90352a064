# ruff: noqa: RUF001  # full stops of several scripts
"""What one agent's first call did not get of what another agent was told."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxdiff_analyzers.content import without_markers
from ctxdiff_analyzers.detectors.scene import LISTED, Scene, excerpt, is_prompt, tokens_of
from ctxdiff_analyzers.exchanges import result_at
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.timeline import Turn

LEAST_CHARS = 12
"""Code points of a task from which it stands in another agent's message by no chance."""
LEAST_WORDS = 3
"""Words of a sentence that may be a decision."""
GIVERS = 4
"""Agents that called last before, which are looked at."""
READ = 20_000
WHY = "its first message is a part of what another agent was told, and the rest is nowhere in it"
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")


def dropped(scene: Scene) -> Iterator[Finding]:
    """An agent that starts with a verbatim piece of another agent's task, without the rest.

    A task in other words says nothing here: what it leaves out may be left out on purpose.
    """
    if scene.turn.agent is None or scene.mine.turns[0].seq != scene.turn.seq:
        return
    known = [_plain(scene, block) for block in scene.turn.inputs]
    tasks = [_plain(scene, block) for block in scene.turn.inputs if _is_task(scene, block)]
    whole = " ".join(known)
    for giver in _givers(scene):
        for block in dict.fromkeys(giver.inputs):
            if not _is_task(scene, block):
                continue
            told = _plain(scene, block)
            if not any(LEAST_CHARS <= len(task) < len(told) and task in told for task in tasks):
                continue
            missing = [one for one in _sentences(scene, block) if _bare(one) not in whole]
            if missing:
                yield _finding(scene, giver, block, missing)
                return


def _givers(scene: Scene) -> list[Turn]:
    """The last turn of each other agent before this one, newest first."""
    last: dict[str | None, Turn] = {}
    for turn in reversed(scene.whole.turns):
        if turn.seq < scene.turn.seq and turn.agent != scene.turn.agent:
            last.setdefault(turn.agent, turn)
            if len(last) == GIVERS:
                break
    return list(last.values())


def _is_task(scene: Scene, block: int) -> bool:
    """True for what a user, or a program in a user's name, said in words."""
    head = scene.mine.blocks[block]
    if head.role != "user" or head.kind not in ("message", "content_part") or head.is_empty:
        return False
    return result_at(scene.mine, block) is None


def _sentences(scene: Scene, block: int) -> list[str]:
    text = without_markers(scene.text(scene.mine.blocks[block]))[:READ]
    found = (sentence.strip() for sentence in _SENTENCE.findall(text))
    return [sentence for sentence in found if len(sentence.split()) >= LEAST_WORDS]


def _plain(scene: Scene, block: int) -> str:
    head = scene.mine.blocks[block]
    if head.kind == "image" or (is_prompt(head) and head.is_empty):
        return ""
    return _bare(without_markers(scene.text(head))[:READ])


def _bare(text: str) -> str:
    """Words alone, so that white space and a full stop make no difference."""
    return " ".join(text.casefold().split()).strip(" .!?。！？")


def _finding(scene: Scene, giver: Turn, block: int, missing: list[str]) -> Finding:
    head = scene.mine.blocks[block]
    assert scene.turn.agent is not None
    names = (*((giver.agent,) if giver.agent is not None else ()), scene.turn.agent)
    tokens, method = tokens_of([head])
    return scene.finding(
        "context_evicted",
        "medium",
        cause="handoff_context_dropped",
        certainty="inferred",
        why=WHY,
        evidence=Evidence(
            content_hashes=(head.content_hash,),
            names=names,
            excerpts=tuple(excerpt(one) for one in missing[:3]),
            counts=(("from_turn", giver.seq), ("sentences", len(missing[:LISTED]))),
        ),
        tokens=tokens,
        tokens_method=method,
        next=NextCall("ctxdiff_diff", (("turn_a", giver.seq), ("turn_b", scene.turn.seq))),
    )
