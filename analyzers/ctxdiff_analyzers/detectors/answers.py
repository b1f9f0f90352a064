"""How the model's answer ended: cut off, refused, or empty."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from ctxdiff_analyzers.calling import joined
from ctxdiff_analyzers.content import part_type
from ctxdiff_analyzers.detectors.scene import Scene, excerpt, last_words
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.finish import is_cut_off, was_declined
from ctxdiff_analyzers.schemas import calls_in, is_unanswered
from ctxdiff_analyzers.timeline import Timeline, Turn

LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "maxTokens")
REFUSAL_TOKENS = 80
"""A longer answer says more than that it refuses."""
DECLINED = re.compile(
    r"(?:(?:i'm|i am) (?:very )?sorry|sorry|i apologi[sz]e|unfortunately)?[,.]? ?(?:but )?"
    r"i(?: can't|'m not able to| can ?not| am not able to|'m unable to| am unable to| won't) "
    r"(?:help|assist|comply|continue|engage|fulfil|fulfill|discuss|answer|provide|support|process)"
    r"(?: you)?(?: with| to)? ?(?:that|this|it|your|the)?(?: kind of| type of)?"
    r"(?: request| question| topic| information| conversation)?[.!]?",
    re.IGNORECASE,
)
"""The set phrases with which models refuse, as a whole answer."""
TEXTS = frozenset(("text", "output_text"))
SILENT = frozenset(("thinking", "redacted_thinking", "reasoning"))


def truncated(scene: Scene) -> Iterator[Finding]:
    """The answer ended at a token limit."""
    if not is_cut_off(scene.turn.call):
        return
    limits = ((key, scene.turn.call.params.get(key)) for key in LIMITS)
    counts = [(key, value) for key, value in limits if isinstance(value, int)]
    if (written := scene.turn.usage.output_tokens) is not None:
        counts.append(("output_tokens", written))
    yield scene.finding(
        "output_truncated",
        "high",
        evidence=_evidence(scene, tuple(counts)),
        tokens=written,
        tokens_method=None if written is None else "exact",
        next=_show_answer(scene),
    )


def refused(scene: Scene) -> Iterator[Finding]:
    """The model refused, or a filter stopped it."""
    if not _is_refused(scene):
        yield from _declined_in_words(scene)
        return
    evidence = _evidence(scene)
    if (said := scene.turn.call.refusal) is not None:
        evidence = replace(evidence, excerpts=(excerpt(said),))
    yield scene.finding("output_refused", "high", evidence=evidence, next=_show_answer(scene))


def _declined_in_words(scene: Scene) -> Iterator[Finding]:
    """An answer that is nothing but the set phrase of a refusal."""
    if declines_in_words(scene.mine, scene.turn):
        yield scene.finding(
            "output_refused",
            "medium",
            certainty="inferred",
            why="the whole answer is a set phrase of refusal",
            evidence=_evidence(scene),
            next=_show_answer(scene),
        )


def declines_in_words(mine: Timeline, turn: Turn) -> bool:
    """Whether the turn's whole answer is the set phrase of a refusal."""
    answer = [mine.blocks[block] for block in turn.outputs]
    if len(answer) != 1 or answer[0].is_empty or answer[0].token_count > REFUSAL_TOKENS:
        return False
    if answer[0].kind == "image":
        return False
    return mine.fact("declines", turn.outputs[0], _declines)


def _declines(text: str) -> bool:
    return DECLINED.fullmatch(_words(text)) is not None


def _words(text: str) -> str:
    """What an answer's block says; the text of a text part."""
    if part_type(text) in TEXTS:
        text = str(joined([json.loads(text)]))
    return " ".join(text.replace("’", "'").split())  # noqa: RUF001


def empty(scene: Scene) -> Iterator[Finding]:
    """The answer has neither content nor a tool call."""
    unknown = not scene.whole.has_outputs or is_unanswered(scene.mine, scene.turn)
    if unknown or scene.turn.call.error is not None:
        return
    if is_cut_off(scene.turn.call) or _is_refused(scene):
        return
    if any(_says_something(scene, block) for block in scene.turn.outputs):
        return
    written = scene.turn.usage.output_tokens
    yield scene.finding(
        "output_empty",
        "high",
        evidence=_evidence(scene, () if written is None else (("output_tokens", written),)),
        next=_show_answer(scene),
    )


def _is_refused(scene: Scene) -> bool:
    return (
        was_declined(scene.turn.call)
        or scene.turn.call.refusal is not None
        or any(
            part_type(scene.text(scene.mine.blocks[block])) == "refusal"
            for block in scene.turn.outputs
        )
    )


def _says_something(scene: Scene, block: int) -> bool:
    head = scene.mine.blocks[block]
    if head.is_empty:
        return False
    if head.kind == "image" or calls_in(scene.mine, block):
        return True
    text = scene.text(head)
    if not text.strip() or part_type(text) in SILENT:
        return False
    if part_type(text) not in TEXTS:
        return True
    said = joined([json.loads(text)])  # a part without its text is given back as it is
    return isinstance(said, str) and bool(said.strip())


def _evidence(scene: Scene, counts: tuple[tuple[str, int], ...] = ()) -> Evidence:
    answer = [scene.mine.blocks[block] for block in scene.turn.outputs]
    reason = scene.turn.call.finish_reason
    said = [last_words(scene.text(block)) for block in answer[-1:] if not block.is_empty]
    return Evidence(
        content_hashes=tuple(block.content_hash for block in answer[:10]),
        names=() if reason is None else (excerpt(reason),),
        excerpts=tuple(said),
        counts=counts,
    )


def _show_answer(scene: Scene) -> NextCall:
    return NextCall("ctxdiff_block", (("turn", scene.turn.seq),))
