"""Whether the model's last answer is sent back at its place: by other words, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from ctxdiff_analyzers.align import in_order
from ctxdiff_analyzers.cache.ledger import started
from ctxdiff_analyzers.content import is_thought
from ctxdiff_analyzers.detectors.copies import copied_messages
from ctxdiff_analyzers.detectors.scene import Scene, is_conversation, is_prompt
from ctxdiff_analyzers.exchanges import call_at, result_at
from ctxdiff_analyzers.findings import Finding
from ctxdiff_analyzers.matching import bare_digest, is_marker
from ctxdiff_analyzers.timeline import Timeline, Turn

LEAST_PART = 8
"""Code points of an answer that stand for all of it by no chance."""
LOOK_BACK = 24
"""Earlier turns that show whether the program sends answers back at all."""
_LABEL = re.compile(r"(\w[\w .-]*):")
_WORD = re.compile(r"\w")
_BRACKETS = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|<[^<>]*>|【[^【】]*】")
_ROLES = frozenset(("assistant", "ai", "agent", "model", "bot", "answer", "final answer"))


def is_wrapping(piece: str, scene: Scene | None) -> bool:
    """True for what a program puts around an answer and is no word of it.

    Brackets, signs and, in front of an answer of `scene`, the name of who speaks.
    """
    bare = _BRACKETS.sub("", piece).strip()
    if _WORD.search(bare) is None:
        return True
    label = _LABEL.fullmatch(bare)
    if scene is None or label is None:
        return False
    name = label[1].casefold()
    if name in _ROLES or name == (scene.turn.agent or "").casefold():
        return True
    said = (scene.old_block(i) for i, _ in scene.matching.same)
    return any(
        block.role == "assistant" and scene.text(block).startswith(f"{label[1]}:") for block in said
    )


def stand_in(scene: Scene, answer: str, texts: Mapping[int, str]) -> int | None:
    """The new message that stands at the answer's place, however unlike it; None without one.

    Args:
        scene: a turn whose previous one was answered with `answer`.
        answer: its words.
        texts: new index to words of what may be the answer in another form.
    """
    tail = _tail(scene)
    if not tail or any(is_prompt(scene.old_block(i)) for i in scene.matching.gone):
        return None
    run = []
    for j in tail:
        if scene.new_block(j).role != "assistant":
            break
        run.append(j)
    # Where nothing follows, the model is to go on from it.
    if len(run) == len(tail) or copied_messages(scene):
        return None
    said = [j for j in run if j in texts and not _is_thought(scene, j)]
    answers = _answers(scene.whole)
    if not said or any(bare_digest(scene.mine, scene.turn.inputs[j]) in answers for j in said):
        return None
    return None if any(_is_taken_from(answer, texts[j]) for j in said) else said[0]


def dropped(scene: Scene) -> Iterator[Finding]:
    """The answer to the previous turn where this one goes on without it."""
    previous = scene.previous
    if previous is None or previous.call.error is not None or previous.call.finish_reason is None:
        return
    tail = _tail(scene)
    if not tail or scene.matching.gone or scene.matching.edited or not _is_answered(scene):
        return
    if any(_is_models_or_result(scene, j) or not _is_said_anew(scene, j) for j in tail):
        return
    if not _sends_answers_back(scene) or _is_at_once(scene):
        return
    later = scene.mine.last_seen({*previous.outputs})
    if later:
        return
    blocks = [scene.mine.blocks[block] for block in previous.outputs]
    yield scene.about("context_evicted", "medium", blocks, (), cause="evicted_block")


def _tail(scene: Scene) -> list[int]:
    """What was said behind all that the previous turn said; nothing where that has changed."""
    if scene.previous is None:
        return []
    if any(_is_told(scene.mine, scene.previous.inputs[i]) for i in scene.matching.gone):
        return []
    if any(is_conversation(scene.old_block(i)) for i, _ in scene.matching.edited):
        return []
    same = [(i, j) for i, j in scene.matching.same if is_conversation(scene.new_block(j))]
    if not same or in_order(same) != same:
        return []
    last = same[-1][1]
    new = [j for j in scene.matching.new if _is_told(scene.mine, scene.turn.inputs[j])]
    return new if new and new[0] > last else []


def _is_told(timeline: Timeline, block: int) -> bool:
    return is_conversation(timeline.blocks[block]) and not is_marker(timeline, block)


def _is_thought(scene: Scene, j: int) -> bool:
    head = scene.new_block(j)
    return head.opens_json and scene.mine.fact("is thought", scene.turn.inputs[j], is_thought)


def _answers(timeline: Timeline) -> frozenset[bytes]:
    """Digests of all that the model answered in the session."""
    return timeline.remembered(
        "answers",
        lambda: frozenset(
            bare_digest(timeline, block)
            for turn in timeline.turns
            for block in turn.outputs
            if timeline.blocks[block].kind != "image"
        ),
    )


def is_read_from(answer: str, text: str) -> bool:
    """True for the part of a structured answer that is its result: a value, or what ends it."""
    if text and answer.endswith(text):
        return answer[: -len(text)].rstrip().endswith((">", ":", "#", "*"))
    return bool(text) and text in _values(answer)


def _is_taken_from(answer: str, text: str) -> bool:
    """True for a part of an answer that programs take out of it, or its values in a sentence."""
    is_part = len(text) >= LEAST_PART or answer.endswith(text)
    if text and is_part and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", answer):
        return True
    return bool(text) and any(value in text or text in value for value in _values(answer))


def _values(answer: str) -> list[str]:
    try:
        return _leaves(_json(answer))
    except RecursionError:
        return []


def _json(text: str) -> Any:
    """The value where the text is a JSON object or list, else None."""
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _leaves(value: Any) -> list[str]:
    """Strings and numbers in JSON, white space made one."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [leaf for one in inner for leaf in _leaves(one)]
    told = isinstance(value, str | int | float) and not isinstance(value, bool)
    found = " ".join(str(value).split()) if told else ""
    return [found] if found else []


def _is_answered(scene: Scene) -> bool:
    """True for a previous turn that ended with another's word and was answered in plain words."""
    assert scene.previous is not None
    said = [block for block in scene.previous.inputs if _is_told(scene.mine, block)]
    if not said or scene.mine.blocks[said[-1]].role == "assistant":
        return False
    return _is_worded(scene.mine, scene.previous)


def _is_worded(timeline: Timeline, turn: Turn) -> bool:
    """True for an answer of plain text alone; in JSON it is a program's, which keeps a part."""
    heads = [timeline.blocks[block] for block in turn.outputs]
    return bool(heads) and all(
        head.role == "assistant"
        and head.kind != "image"
        and not head.is_empty
        and call_at(timeline, block) is None
        and not (head.opens_json and timeline.fact("is thought", block, is_thought))
        and not timeline.fact(f"is value in {head.kind}", block, partial(_is_value, head.kind))
        for head, block in zip(heads, turn.outputs, strict=True)
    )


def _is_value(kind: str, text: str) -> bool:
    part = _json(text) if kind == "content_part" else None
    inner = part.get("text") if isinstance(part, dict) else None
    said = inner if isinstance(inner, str) else text
    return said.lstrip("` \njson").startswith(("{", "["))


def _is_models_or_result(scene: Scene, j: int) -> bool:
    block = scene.turn.inputs[j]
    return scene.mine.blocks[block].role != "user" or result_at(scene.mine, block) is not None


def _is_said_anew(scene: Scene, j: int) -> bool:
    return scene.new_block(j).kind != "image" and not scene.new_block(j).is_empty


def _sends_answers_back(scene: Scene) -> bool:
    """True where earlier answers stand in the turn, and of those in plain words the last too."""
    assert scene.previous is not None
    here = frozenset(scene.turn.inputs)
    end = scene.mine.place(scene.previous.seq)
    earlier = scene.mine.turns[max(0, end - LOOK_BACK) : end]
    if all(here.isdisjoint(turn.outputs) for turn in earlier):
        return False
    worded = [turn for turn in earlier if _is_worded(scene.mine, turn)]
    return not worded or not here.isdisjoint(worded[-1].outputs)


def _is_at_once(scene: Scene) -> bool:
    """True where the turn began before the previous one was answered."""
    assert scene.previous is not None
    before, now, took = started(scene.previous), started(scene.turn), scene.previous.call.latency_ms
    if before is None or now is None or took is None:
        return False
    try:
        return now < before + timedelta(milliseconds=took)
    except (OverflowError, TypeError):
        return False
