"""Tool results that are no longer whole, or never were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ctxdiff_capture.model import BlockHead

from ctxdiff_analyzers.counts import EXACT
from ctxdiff_analyzers.cuts.cut import Cut, broken_off, is_start_of
from ctxdiff_analyzers.cuts.shortened import Shortening, shortening
from ctxdiff_analyzers.detectors.scene import Scene, excerpt, last_words
from ctxdiff_analyzers.exchanges import given_at, may_be_result, result_at
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.pairing import pairs
from ctxdiff_analyzers.paths import path_of

TOLD = 5
"""Cut results that one turn tells, at most."""
LOOKED_AT = 64
"""New results that are read, newest first."""
AROUND = 60
"""Code points quoted on each side of a cut."""
LARGE_SHARE = 0.5
RAW = "tool_result"
"""Name of the stage that holds what a tool gave."""
WHY = {
    "mark": "the result says itself that a part of it was left out",
    "json": "the result is JSON that ends before its brackets close",
    "markup": "the result is markup that ends before its first element closes",
    "fence": "the result opens a code fence and does not close it",
    "table": "the last row of the result has fewer cells than all others",
    "length": "the result's length is a round number and its last sentence does not end",
    "line": "the result ends with the indent or the space before its next word",
    "sentence": "the result ends in the middle of a sentence",
    "word": "the result ends in the middle of a word",
}


def past(scene: Scene) -> Iterator[Finding]:
    """Results of the previous turn that are there in a cut form."""
    for (i, j), found in list(cut_pairs(scene).items())[:TOLD]:
        old, new = scene.old_block(i), scene.new_block(j)
        text = content_text(scene, scene.turn.inputs[j])
        at = found.first_difference
        share = found.cut_chars / (found.kept_chars + found.cut_chars)
        gone = content_text(scene, _old_input(scene, i))[at : at + AROUND * 2]
        yield scene.finding(
            "tool_result_truncated",
            "high" if share >= LARGE_SHARE else "medium",
            evidence=Evidence(
                content_hashes=(old.content_hash, new.content_hash),
                positions=(scene.turn.positions[j],),
                first_difference=at,
                names=_names(scene, j),
                excerpts=(text[max(0, at - AROUND) : at + AROUND * 2], gone),
                counts=(("chars_kept", found.kept_chars), ("chars_cut", found.cut_chars)),
                path=path_of(scene.mine, scene.turn, j),
            ),
            tokens=max(0, old.token_count - new.token_count),
            tokens_method=_method(old, new),
            next=scene.to_diff(),
        )


def fresh(scene: Scene) -> Iterator[Finding]:
    """Results that are new to this turn and that are cut: the record, a mark or their end says so.

    What a tool says itself may be all that it has; it is told because the model cannot see more.
    """
    told = 0
    raw = None
    for j in _new_results(scene):
        text = content_text(scene, scene.turn.inputs[j])
        raw = _raw_results(scene) if raw is None else raw
        longer = _longer(scene, j, text, raw)
        cut = broken_off(text) if longer is None else None
        if longer is None and cut is None:
            continue
        yield _whole_is_known(scene, j, text, longer) if longer else _broken(scene, j, cut)
        told += 1
        if told == TOLD:
            return


def cut_pairs(scene: Scene) -> dict[tuple[int, int], Shortening]:
    """Old and new index of the results that were cut since the previous turn."""
    if scene.previous is None:
        return {}
    here, before = scene.turn, scene.previous
    return scene.mine.known(
        f"cut {before.call.id} {here.call.id}",
        lambda: {
            (i, j): found
            for i, j in scene.matching.edited
            if may_be_result(scene.mine, here.inputs[j])
            and (found := _cut(scene, before.inputs[i], here.inputs[j])) is not None
        },
    )


def content_text(scene: Scene, block: int) -> str:
    """What a tool gave, without the wrapping of its part; empty for what is no result."""
    result = result_at(scene.mine, block)
    return "" if result is None else plain(result.content)


def unwrapped(content: Any) -> Any:
    """The text that is a result's only member, as Gemini wraps it; other content as it is."""
    if isinstance(content, dict) and len(content) == 1:
        (only,) = content.values()
        if isinstance(only, str):
            return only
    return content


def plain(content: Any) -> str:
    """A result's content as one text: a text as it is, other values as JSON."""
    content = unwrapped(content)
    if isinstance(content, str):
        return content
    return "" if content is None else json.dumps(content, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True)
class _Whole:
    """A longer form of a result, and where the record has it."""

    text: str
    content_hash: str | None
    """None where the program told it and no request held it."""
    first_difference: int


def _cut(scene: Scene, old: int, new: int) -> Shortening | None:
    return shortening(content_text(scene, old), content_text(scene, new))


def _new_results(scene: Scene) -> list[int]:
    """Indices of results that the previous turn did not have, in order."""
    found = [
        j
        for j in scene.matching.new
        if may_be_result(scene.mine, scene.turn.inputs[j])
        and scene.new_block(j).role != "assistant"
        and not scene.new_block(j).is_empty
    ]
    return found[-LOOKED_AT:]


def _broken(scene: Scene, j: int, cut: Cut | None) -> Finding:
    assert cut is not None
    block = scene.new_block(j)
    text = content_text(scene, scene.turn.inputs[j])
    return scene.finding(
        "tool_result_truncated",
        "medium",
        certainty="inferred",
        why=WHY[cut.sign],
        evidence=Evidence(
            content_hashes=(block.content_hash,),
            positions=(scene.turn.positions[j],),
            names=_names(scene, j),
            excerpts=(last_words(text), *((excerpt(cut.mark),) if cut.sign == "mark" else ())),
            counts=(("chars_kept", len(text)),),
            path=path_of(scene.mine, scene.turn, j),
        ),
        tokens=block.token_count,
        tokens_method="exact" if block.token_method == EXACT else "estimate",
        next=NextCall("ctxdiff_block", (("content_hash", block.content_hash),)),
    )


def _whole_is_known(scene: Scene, j: int, text: str, whole: _Whole) -> Finding:
    block = scene.new_block(j)
    at = whole.first_difference
    hashes = (block.content_hash, *((whole.content_hash,) if whole.content_hash else ()))
    return scene.finding(
        "tool_result_truncated",
        "medium",
        evidence=Evidence(
            content_hashes=hashes,
            positions=(scene.turn.positions[j],),
            first_difference=at,
            names=_names(scene, j),
            excerpts=(text[max(0, at - AROUND) : at + AROUND], whole.text[at : at + AROUND * 2]),
            counts=(
                ("chars_kept", len(text)),
                ("chars_cut", len(whole.text) - len(text)),
            ),
            path=path_of(scene.mine, scene.turn, j),
        ),
        tokens=block.token_count,
        tokens_method="exact" if block.token_method == EXACT else "estimate",
        next=NextCall("ctxdiff_block", (("content_hash", block.content_hash),)),
    )


def _longer(scene: Scene, j: int, text: str, raw: dict[str, str]) -> _Whole | None:
    """What the tool gave, or an earlier result of the same call that goes on where this ends."""
    result = pairs(scene.mine, scene.turn).result_at(j)
    given = raw.get(result.id or "") if result is not None else None
    if given is not None and (found := shortening(given, text)) is not None:
        return _Whole(given, None, found.first_difference)
    if result is None or result.call is None or scene.previous is None:
        return None
    for earlier in pairs(scene.mine, scene.turn).results:
        if earlier.index >= j or earlier.call is None or earlier.call.key != result.call.key:
            continue
        block = scene.turn.inputs[earlier.index]
        whole = content_text(scene, block)
        if is_start_of(text, whole):
            return _Whole(whole, scene.mine.blocks[block].content_hash, len(text))
    return None


def _raw_results(scene: Scene) -> dict[str, str]:
    """Tool call id to what the tool gave, where the program told it."""
    return {
        placed.tool_call_id: placed.block.text
        for stage in scene.mine.stages(scene.turn)
        if stage.name == RAW
        for placed in stage.inputs
        if placed.tool_call_id is not None
    }


def _names(scene: Scene, j: int) -> tuple[str, ...]:
    given = given_at(scene.mine, scene.turn, j)
    return () if given is None or given.name is None else (given.name,)


def _old_input(scene: Scene, i: int) -> int:
    assert scene.previous is not None
    return scene.previous.inputs[i]


def _method(*blocks: BlockHead) -> Any:
    return "exact" if all(block.token_method == EXACT for block in blocks) else "estimate"
