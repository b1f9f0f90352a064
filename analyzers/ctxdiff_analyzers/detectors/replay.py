"""Messages that come back other than they were: answers as sent back, and messages made one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from unicodedata import normalize

from ctxdiff_capture.model import BlockHead

from ctxdiff_analyzers.content import is_thought, part_type, spoken, without_markers
from ctxdiff_analyzers.detectors.scene import Scene, is_conversation, tokens_of
from ctxdiff_analyzers.detectors.sent_back import is_read_from, is_wrapping, stand_in
from ctxdiff_analyzers.edits import edit
from ctxdiff_analyzers.exchanges import call_at
from ctxdiff_analyzers.findings import Evidence, Finding
from ctxdiff_analyzers.matching import bare_digest
from ctxdiff_analyzers.paths import path_of
from ctxdiff_analyzers.similar import FLOOR, Candidate, similarity, sketch
from ctxdiff_analyzers.timeline import Timeline

READ = 20_000
"""Code points read of a message."""
BETWEEN = 12
"""Code points that a program may put between two messages that it makes one."""
WRAPPING = 24
"""Code points that a program may put around an answer."""
CUT_OUT = "\0"
LEAST_START = 8
"""Code points of an answer's start that are sent back for it by no chance."""
WHOLE = 0.9
"""Part of the new message that the old ones must make up."""
LEFT_OUT = 2
"""Messages between those made one that may be gone."""
TOLD = 5
START = 8
"""Code points of an old message's start by which it is looked up."""
MOST_STARTS = 50
"""Old messages with which a new one may begin, at most."""
MOST_LOOKS = 100_000
"""Old messages looked at for all new ones; past it, no more are found to be made of others."""
_MESSAGE = re.compile(r"/(?:messages|contents|input)/(\d+)")


def replayed(scene: Scene) -> Iterator[Finding]:
    """Answers of the model that this turn sends back with other words than the model's."""
    previous = scene.previous
    if previous is None or previous.call.error is not None or previous.call.finish_reason is None:
        return
    here = {bare_digest(scene.mine, block) for block in scene.turn.inputs}
    new = [
        j
        for j in scene.matching.new
        if scene.new_block(j).role == "assistant" and is_conversation(scene.new_block(j))
    ]
    told = 0
    for block in previous.outputs:
        if not new or told == TOLD:
            return
        if bare_digest(scene.mine, block) in here or not _is_said(scene.mine, block):
            continue
        j = _other_form(scene, block, new)
        if j is not None:
            yield _differs(scene, block, j)
            told += 1


def merged(scene: Scene) -> Iterator[Finding]:
    """Old messages that this turn sends as one: their words in one text, or in one message."""
    made = merged_messages(scene)
    joined = {} if made else _joined(scene)
    for j, olds in list((made or joined).items())[:TOLD]:
        blocks = [scene.new_block(j)]
        yield scene.about(
            "context_edited",
            "low",
            blocks,
            [scene.turn.positions[j]],
            cause="messages_merged",
            counts=(("merged", len(olds)),),
            path=path_of(scene.mine, scene.turn, j),
        )


def merged_messages(scene: Scene) -> dict[int, tuple[int, ...]]:
    """New index of each message that is made of several old ones, to their indices."""
    if scene.previous is None:
        return {}
    key = f"merged {scene.previous.call.id} {scene.turn.call.id}"
    return scene.mine.known(key, lambda: _merged(scene))


def _merged(scene: Scene) -> dict[int, tuple[int, ...]]:
    assert scene.previous is not None
    partners = {j: i for i, j in scene.matching.edited}
    free = {*scene.matching.gone, *partners.values()}
    if len(free) < 2:
        return {}
    said = [i for i in range(len(scene.previous.inputs)) if is_conversation(scene.old_block(i))]
    words = [_words(scene, scene.old_block(i)) if i in free else "" for i in said]
    starts: dict[str, list[int]] = {}
    for place, spoken_there in enumerate(words):
        if spoken_there:
            starts.setdefault(spoken_there[:START], []).append(place)
    found: dict[int, tuple[int, ...]] = {}
    looks = 0
    for j in sorted((*scene.matching.new, *partners)):
        if not is_conversation(scene.new_block(j)) or scene.new_block(j).kind == "image":
            continue
        text = _words(scene, scene.new_block(j))
        for start in _starts_in(text, starts):
            places, looked = _parts_from(start, text, words)
            looks += looked
            if places:
                found[j] = tuple(said[place] for place in places)
                for place in places:
                    words[place] = ""
                break
        if looks > MOST_LOOKS:
            break
    return found


def _starts_in(text: str, starts: dict[str, list[int]]) -> list[int]:
    """Places of the first old messages with which `text` may begin, in order."""
    heads = {text[at : at + size] for at in range(BETWEEN + 1) for size in range(1, START + 1)}
    return sorted({place for head in heads for place in starts.get(head, ())})[:MOST_STARTS]


def _parts_from(start: int, text: str, words: list[str]) -> tuple[list[int], int]:
    """Places of old messages whose words, one after the other, make up `text`, or none.

    Few between are left out. Beside it, how many messages were looked at.
    """
    end, made, left_out = 0, 0, 0
    places: list[int] = []
    place = start
    for place in range(start, len(words)):
        old = words[place]
        at = text.find(old, end, end + BETWEEN + len(old)) if old else -1
        if at < 0:
            left_out += 1
            if not places or left_out > LEFT_OUT:
                break
            continue
        end, made = at + len(old), made + len(old)
        places.append(place)
    is_whole = len(places) > 1 and made >= WHOLE * len(text)
    return places if is_whole else [], place - start + 1


def _joined(scene: Scene) -> dict[int, tuple[int, ...]]:
    """Unchanged blocks of several old messages that are parts of one message now."""
    if scene.previous is None:
        return {}
    before, now = scene.mine.detail(scene.previous).paths, scene.mine.detail(scene.turn).paths
    homes: dict[str, list[tuple[int, int, str]]] = {}
    for i, j in scene.matching.same:
        old = _MESSAGE.match(before.get(scene.previous.positions[i], ""))
        new = _MESSAGE.match(now.get(scene.turn.positions[j], ""))
        if old is not None and new is not None:
            homes.setdefault(new[1], []).append((i, j, old[1]))
    return {
        blocks[0][1]: tuple(i for i, _, _ in blocks)
        for blocks in homes.values()
        if len({old for _, _, old in blocks}) > 1
    }


def _is_said(timeline: Timeline, block: int) -> bool:
    head = timeline.blocks[block]
    if head.kind == "image" or head.is_empty:
        return False
    if not head.opens_json:
        return True
    return not timeline.fact("is unsaid", block, _is_unsaid)


def _is_unsaid(text: str) -> bool:
    return is_thought(text) or part_type(text) == "compaction"


def _other_form(scene: Scene, block: int, new: list[int]) -> int | None:
    """The new message that is the answer `block` with other words; None where it is unchanged.

    White space, Unicode form, the spelling of arguments and what wraps a text are not its words.
    """
    asked = call_at(scene.mine, block)
    if asked is not None:
        for j in new:
            other = call_at(scene.mine, scene.turn.inputs[j])
            if other is not None and other.id == asked.id and other.name == asked.name:
                return None if other.arguments == asked.arguments else j
        return None
    spelled = _plain(without_markers(scene.text(scene.mine.blocks[block])))
    if any(spelled == _plain(without_markers(scene.text(scene.new_block(j)))) for j in new):
        return None
    answer = _plain(_text(scene, scene.mine.blocks[block]))
    texts = {
        j: _plain(_words(scene, scene.new_block(j)))
        for j in new
        if call_at(scene.mine, scene.turn.inputs[j]) is None
    }
    if not answer or any(
        _is_all_told(scene, answer, text) or is_read_from(answer, text) for text in texts.values()
    ):
        return None
    pieces = "".join(text for text in texts.values() if text in answer)
    if pieces.replace(" ", "") == answer.replace(" ", ""):
        return None
    last = len(scene.turn.inputs) - 1
    for j, text in texts.items():
        # Where it is the newest message the model is to go on from it.
        if j != last and len(text) >= LEAST_START and answer.startswith(text):
            return j
    scores = {j: similarity(_candidate(answer), _candidate(text)) for j, text in texts.items()}
    best = max(scores, key=scores.__getitem__, default=None)
    if best is not None and scores[best] >= FLOOR:
        return best
    return stand_in(scene, answer, texts)


def _is_all_told(scene: Scene, answer: str, text: str) -> bool:
    """True for the answer with a wrapping at most, or with the model's other texts."""
    if answer not in text:
        return False
    assert scene.previous is not None
    for block in scene.previous.outputs:
        if _is_said(scene.mine, block):
            text = text.replace(_plain(_text(scene, scene.mine.blocks[block])), CUT_OUT, 1)
    before, *others = (piece.strip() for piece in text.split(CUT_OUT))
    return sum(map(len, (before, *others))) <= WRAPPING and (
        is_wrapping(before, scene) and all(is_wrapping(piece, None) for piece in others)
    )


def _candidate(text: str) -> Candidate:
    return Candidate(text, None, partial(sketch, text))


def _differs(scene: Scene, block: int, j: int) -> Finding:
    old, new = scene.mine.blocks[block], scene.new_block(j)
    found = edit(scene.text(old), scene.text(new))
    tokens, method = tokens_of([new])
    return scene.finding(
        "context_edited",
        "medium",
        cause="replay_differs_from_sent",
        evidence=Evidence(
            content_hashes=(old.content_hash, new.content_hash),
            positions=(scene.turn.positions[j],),
            first_difference=found.first_difference,
            excerpts=(found.old, found.new),
            path=path_of(scene.mine, scene.turn, j),
        ),
        tokens=tokens,
        tokens_method=method,
        next=scene.to_diff(),
    )


def _words(scene: Scene, block: BlockHead) -> str:
    return "" if block.kind == "image" else _text(scene, block).strip()


def _text(scene: Scene, block: BlockHead) -> str:
    text = scene.text(block)
    return spoken(text)[:READ] if block.opens_json and block.kind == "content_part" else text[:READ]


def _plain(text: str) -> str:
    """The words alone; of JSON the value in one spelling."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    return " ".join(normalize("NFKC", text).split())
