"""Passages of prose that stand in several messages of one request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxdiff_analyzers.content import spoken
from ctxdiff_analyzers.detectors.duplicates import result_print
from ctxdiff_analyzers.detectors.scene import LISTED, Scene, excerpt, is_conversation
from ctxdiff_analyzers.detectors.truncation import content_text
from ctxdiff_analyzers.exchanges import may_be_result, result_at
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.hunks import common_prefix
from ctxdiff_analyzers.pairing import Result, pairs

LEAST = 200
"""Code points from which a passage is more than a greeting, a template or a signature."""
LEAST_WORDS = 20
COPIES = 3
"""Messages that must begin alike: two may be a question put again."""
COMPARED = 64
"""Earlier messages that new ones are compared with, the latest."""
READ = 100_000
"""Code points read of a result."""
TOLD = 3
_END = re.compile(r"[^\W\d_][)\]\"'»”]{0,2}[.!?:;](?=\s|$)|[\u3002\uff01\uff1f]")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def preambles(scene: Scene) -> Iterator[Finding]:
    """A passage with which the user's new message begins, and earlier ones began, too."""
    new = set(scene.matching.new)
    last = max((j for j in new if _may_be_users(scene, j)), default=None)
    if last is None:
        return
    text = _words(scene, last)
    if len(text) < LEAST or not _is_prose(text):
        return
    earlier = [j for j in range(last) if _may_be_users(scene, j)][-COMPARED:]
    said = {j: _words(scene, j) for j in earlier}
    alike = [j for j in earlier if said[j][:LEAST] == text[:LEAST]]
    shared = sorted((common_prefix(said[j], text), j) for j in alike if said[j] != text)
    if len(shared) < COPIES - 1:
        return
    length = shared[-(COPIES - 1)][0]
    passage = text[:length].rstrip()
    if len(passage) < LEAST or not _is_prose(passage):
        return
    holders = [j for size, j in shared if size >= length]
    yield _twice(scene, passage, [*sorted(holders), last], "repeated_text_in_block")


def quoted(scene: Scene) -> Iterator[Finding]:
    """An earlier result that a new one of another call holds word for word, among other text."""
    found = pairs(scene.mine, scene.turn).results
    fresh = set(scene.matching.new)
    new = [one for one in found if one.index in fresh]
    told = 0
    for later in new[:COMPARED]:
        earlier = [one for one in found if one.index < later.index][-COMPARED:]
        inner = _quoted_in(scene, earlier, later)
        if inner is not None:
            passage = content_text(scene, scene.turn.inputs[inner.index]).strip()
            yield _twice(scene, passage, [inner.index, later.index], "overlapping_reads")
            told += 1
            if told == TOLD:
                return


def _quoted_in(scene: Scene, earlier: Sequence[Result], later: Result) -> Result | None:
    size = result_print(scene, later.index)[1]
    if size <= LEAST:
        return None
    whole = content_text(scene, scene.turn.inputs[later.index])[:READ]
    for one in earlier:
        if not LEAST <= result_print(scene, one.index)[1] < size or _is_one_call(one, later):
            continue
        passage = content_text(scene, scene.turn.inputs[one.index]).strip()
        # What has many lines is compared by its lines.
        if passage.count("\n") < COPIES and _is_prose(passage) and passage in whole:
            return one
    return None


def _is_one_call(one: Result, other: Result) -> bool:
    return one.call is not None and other.call is not None and one.call.key == other.call.key


def _may_be_users(scene: Scene, j: int) -> bool:
    """True for a longer message that is the user's by its head."""
    head = scene.new_block(j)
    is_text = head.role == "user" and head.kind != "image" and head.token_count >= LEAST_WORDS
    return is_text and is_conversation(head)


def _words(scene: Scene, j: int) -> str:
    """What the user said; nothing of a tool's result."""
    block, head = scene.turn.inputs[j], scene.new_block(j)
    if may_be_result(scene.mine, block) and result_at(scene.mine, block) is not None:
        return ""
    text = scene.text(head)
    return spoken(text) if head.opens_json and head.kind == "content_part" else text


def _is_prose(text: str) -> bool:
    is_worded = len(text.split()) >= LEAST_WORDS or len(_UNSPACED.findall(text)) > len(text) // 2
    return is_worded and _END.search(text) is not None


def _twice(scene: Scene, passage: str, places: Sequence[int], cause: str) -> Finding:
    block = scene.new_block(places[-1])
    share = len(passage) / max(len(passage), len(scene.text(block)))
    tokens = min(block.token_count, round(block.token_count * share)) * (len(places) - 1)
    return scene.finding(
        "duplicate_context",
        "low",
        cause=cause,
        certainty="inferred",
        why="the same passage stands in several messages",
        evidence=Evidence(
            content_hashes=tuple(scene.new_block(j).content_hash for j in places[-LISTED:]),
            positions=tuple(scene.turn.positions[j] for j in places[-LISTED:]),
            excerpts=(excerpt(passage),),
            counts=(("copies", len(places)), ("duplicate_tokens", tokens)),
        ),
        tokens=tokens,
        tokens_method="estimate",
        next=NextCall("ctxdiff_block", (("content_hash", block.content_hash),)),
    )
