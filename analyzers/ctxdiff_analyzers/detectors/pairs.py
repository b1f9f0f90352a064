"""Tool calls without their results, and results without their calls."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile

from ctxdiff_analyzers.detectors.scene import LISTED, Scene, excerpt, tokens_of
from ctxdiff_analyzers.findings import Code, Evidence, Finding, NextCall, Severity
from ctxdiff_analyzers.pairing import Pairs, pairs
from ctxdiff_analyzers.paths import holder_of
from ctxdiff_analyzers.timeline import Turn

REJECTED = frozenset((400, 422))
"""Statuses by which a provider says that the request itself is wrong."""
WRONG_REQUEST = re.compile("badrequest|invalid|validation", re.IGNORECASE)
"""In the name of an error that came without a status."""
LOOK_BACK = 64
"""Earlier turns that are asked since when a pair is broken."""


def orphans(scene: Scene) -> Iterator[Finding]:
    """Every broken pair of the turn's request: since this turn, or since an earlier one."""
    here = pairs(scene.mine, scene.turn)
    yield from _told(scene, "orphan_tool_call", {c.index: (c.name, c.id) for c in here.unanswered})
    lone = {one.index: (one.id,) for one in here.results if one.is_orphan}
    yield from _told(scene, "orphan_tool_result", lone)


def broken_partners(scene: Scene) -> frozenset[int]:
    """Old indices of calls and results that are gone while the other half of the pair stays."""
    if scene.previous is None:
        return frozenset()
    here = pairs(scene.mine, scene.turn)
    calls = {scene.turn.inputs[call.index] for call in here.unanswered}
    results = {scene.turn.inputs[one.index] for one in here.results if one.is_orphan}
    if not calls and not results:
        return frozenset()
    inputs = scene.previous.inputs
    partners = set[int]()
    for result in pairs(scene.mine, scene.previous).results:
        if result.call is not None and inputs[result.call.index] in calls:
            partners.add(result.index)
        if result.call is not None and inputs[result.index] in results:
            partners.add(result.call.index)
    return frozenset(partners)


def _told(
    scene: Scene, code: Code, broken: Mapping[int, tuple[str | None, ...]]
) -> Iterator[Finding]:
    """One finding per turn since which pairs are broken, with the pairs' names by index."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for index in broken:
        groups[_since(scene, code, scene.turn.inputs[index]).seq].append(index)
    for first, indices in groups.items():
        blocks = [scene.new_block(index) for index in indices]
        tokens, method = tokens_of(blocks)
        severity: Severity = "medium" if first == scene.turn.seq else "low"
        yield scene.finding(
            code,
            "high" if _is_rejected(scene) else severity,
            turn=first,
            evidence=Evidence(
                content_hashes=tuple(block.content_hash for block in blocks[:LISTED]),
                positions=tuple(scene.turn.positions[index] for index in indices[:LISTED]),
                names=tuple(name for index in indices[:LISTED] for name in broken[index] if name),
                excerpts=tuple(excerpt(scene.text(block)) for block in blocks[:3]),
                counts=(("blocks", len(blocks)),),
                path=holder_of(scene.mine, scene.turn, indices[0]),
            ),
            tokens=tokens,
            tokens_method=method,
            next=NextCall("ctxdiff_block", (("content_hash", blocks[0].content_hash),)),
        )


def _is_rejected(scene: Scene) -> bool:
    """True when the provider said that the request itself is wrong."""
    call = scene.turn.call
    if call.error is None:
        return False
    if call.error_status is not None:
        return call.error_status in REJECTED
    return WRONG_REQUEST.search(call.error) is not None


def _since(scene: Scene, code: Code, block: int) -> Turn:
    """The earliest turn from which on the pair has been broken without a break."""
    broken: Callable[[Pairs, Turn], set[int]] = (
        _of_calls if code == "orphan_tool_call" else _of_results
    )
    mine = scene.mine.turns
    at = next(i for i, turn in enumerate(mine) if turn.seq == scene.turn.seq)
    earlier = mine[max(0, at - LOOK_BACK) : at]
    still = takewhile(
        lambda turn: block in turn.inputs and block in broken(pairs(scene.mine, turn), turn),
        reversed(earlier),
    )
    return [scene.turn, *still][-1]


def _of_calls(found: Pairs, turn: Turn) -> set[int]:
    return {turn.inputs[call.index] for call in found.unanswered}


def _of_results(found: Pairs, turn: Turn) -> set[int]:
    return {turn.inputs[one.index] for one in found.results if one.is_orphan}
