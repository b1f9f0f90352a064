"""Texts that were said several times in one conversation, and of which one is gone."""

from __future__ import annotations

from collections import Counter

from ctxdiff_analyzers.detectors.scene import Scene, is_conversation
from ctxdiff_analyzers.matching import is_marker


def lost_repeats(scene: Scene) -> frozenset[int]:
    """Old indices of messages that are gone, though the same words stand elsewhere.

    What stands behind the answer to the previous turn is said anew and none of them. Copies of a
    piece of the history, which a program cleans up, are not meant.
    """
    if scene.previous is None:
        return frozenset()
    key = f"lost repeats {scene.previous.call.id} {scene.turn.call.id}"
    return scene.mine.known(key, lambda: _lost_repeats(scene))


def said_anew(scene: Scene) -> frozenset[int]:
    """Old indices of messages whose words are said again behind the answer, and no more before."""
    if scene.previous is None:
        return frozenset()
    inputs = scene.previous.inputs
    answers = frozenset(scene.previous.outputs)
    answered = min(
        (j for j in scene.matching.new if scene.turn.inputs[j] in answers),
        default=len(scene.turn.inputs),
    )
    behind = [i for i, j in scene.matching.same if j > answered]
    counts = Counter(inputs) if behind else {}
    return frozenset(i for i in behind if counts[inputs[i]] > 1)


def _lost_repeats(scene: Scene) -> frozenset[int]:
    assert scene.previous is not None
    inputs = scene.previous.inputs
    said = [
        i
        for i, block in enumerate(inputs)
        if is_conversation(scene.mine.blocks[block]) and not is_marker(scene.mine, block)
    ]
    counts = Counter(inputs[i] for i in said)
    if len(counts) == len(said):
        return frozenset()
    here = frozenset(scene.turn.inputs)
    lost = {i for i in scene.matching.gone if inputs[i] in here} | said_anew(scene)
    if not lost:
        return frozenset()
    # The same words beside the same ones are a copy of more than themselves.
    around = [-1, *(inputs[i] for i in said), -2]
    places = {i: at for at, i in enumerate(said, start=1)}
    before = Counter((around[at - 1], around[at]) for at in places.values())
    behind = Counter((around[at], around[at + 1]) for at in places.values())
    return frozenset(
        i
        for i in lost
        if (at := places.get(i)) is not None
        and counts[inputs[i]] > 1
        and inputs[i] not in (around[at - 1], around[at + 1])
        and before[around[at - 1], around[at]] == 1
        and behind[around[at], around[at + 1]] == 1
    )
