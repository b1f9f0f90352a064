"""Why what had been said is not there any more as it was."""

from __future__ import annotations

import json

from ctxdiff_analyzers.align import in_order
from ctxdiff_analyzers.cache.order import PROMPT_ROLES
from ctxdiff_analyzers.cache.pair import Difference, Pair
from ctxdiff_analyzers.content import is_tool_result, part_type, without_markers
from ctxdiff_analyzers.edits import FORM_ONLY, ends, form_cause

ALIKE = 0.6
"""Part of a message that must have stayed for it to be the same message, edited."""
OF_A_PROMPT = frozenset(("volatile_value", "session_id_in_prefix"))
"""Causes of an edit that a prompt's template brings about."""
THINKING = frozenset(("thinking", "redacted_thinking", "reasoning"))


def taken_out(pair: Pair) -> Difference | None:
    """What is at fault where blocks are gone and all that was said behind them still follows.

    None for any other difference; costs a comparison at the speed of a copy.
    """
    i, j = pair.inputs
    olds, news = pair.old.blocks, pair.new.blocks
    if pair.i >= len(olds) or pair.j >= len(news) or pair.i < len(pair.old.head):
        return None
    try:
        behind = olds.index(news[pair.j], pair.i)
    except ValueError:
        return None
    if olds[pair.i] in news[pair.j :]:
        return None
    if olds[behind:] != news[pair.j : pair.j + len(olds) - behind]:
        return None
    run = list(range(i, i + behind - pair.i))
    cause = _cause_of_loss(pair, run, j, 0)
    return pair.told("messages", cause, i, None, counts=(("dropped", len(run)),))


def said_otherwise(pair: Pair) -> Difference:
    """What is at fault where two turns part behind their system text."""
    i, j = pair.inputs
    if _is_other_form(pair, i, j):
        return _edited(pair, i, j)
    stayed = {**dict(pair.found.same), **dict(pair.found.edited)}
    if not _goes_on(pair, i, j, stayed):
        return pair.told("messages", None, i, j, goes_on=False)
    if (i, j) in pair.found.edited:
        return _edited(pair, i, j)
    return _displaced(pair, i, j, stayed) if i in stayed else _gone(pair, i, j, stayed)


def _is_other_form(pair: Pair, i: int, j: int) -> bool:
    """Whether a past message is edited and has lost or got a marker, which makes a part of it.

    The conversation then goes on behind it, so that the one is in the other's place.
    """
    old, new = pair.head(pair.old, i), pair.head(pair.new, j)
    if {old.kind, new.kind} != {"message", "content_part"} or old.role != new.role:
        return False
    olds, news = pair.old.blocks, pair.new.blocks
    if olds[pair.i] in news or news[pair.j] in olds or j + 1 >= len(news):
        return False
    if i + 1 < len(olds) and olds[pair.i + 1] not in news[pair.j + 1 : pair.j + 3]:
        return False
    texts = [without_markers(pair.text(side, at)) for side, at in ((pair.old, i), (pair.new, j))]
    if form_cause(*texts) is not None:
        return True
    return sum(ends(*texts)) >= ALIKE * max(map(len, texts))


def _goes_on(pair: Pair, i: int, j: int, stayed: dict[int, int]) -> bool:
    """Whether what was said from `i` on, or the answer to it, is said again."""
    if any(a > i for a in stayed) or (i in stayed and stayed[i] != j):
        return True
    if stayed.get(i) == j and j + 1 < len(pair.new.turn.inputs):
        return True
    if not set(pair.old.turn.outputs).isdisjoint(pair.new.turn.inputs[j:]):
        return True
    # Part of the last question is another, and what follows answers it.
    asked = {pair.head(pair.old, a).role for a in range(i, len(pair.old.turn.inputs))}
    then = {pair.head(pair.new, b).role for b in range(j, len(pair.new.turn.inputs))}
    shares = i > len(pair.old.head)
    return shares and "assistant" not in asked and "assistant" in then


def _edited(pair: Pair, i: int, j: int) -> Difference:
    old, new = pair.head(pair.old, i), pair.head(pair.new, j)
    if "image" in (old.kind, new.kind):
        what = "image_removed" if new.kind != "image" else "replay_differs_from_sent"
        return pair.told("messages", what, i, j)
    told_apart = i + 1 < len(pair.old.turn.inputs) and i + 1 not in dict(pair.found.same)
    if told_apart and _merges(pair, [i, i + 1], pair.text(pair.new, j)):
        return pair.told("messages", "messages_merged", i, j, is_edit=True)
    cause = pair.edit_cause(i, j)
    if cause not in FORM_ONLY and not (cause in OF_A_PROMPT and _is_written_by_program(pair, j)):
        cause = "replay_differs_from_sent"
    return pair.told("messages", cause, i, j, is_edit=True)


def _is_written_by_program(pair: Pair, j: int) -> bool:
    """Whether a text is one that a program fills in anew: neither an answer nor a tool's result."""
    head = pair.head(pair.new, j)
    if head.role not in ("user", *PROMPT_ROLES):
        return False
    return not (head.opens_json and is_tool_result(pair.text(pair.new, j)))


def _displaced(pair: Pair, i: int, j: int, stayed: dict[int, int]) -> Difference:
    """The old block is still there, further behind."""
    came = {b: a for a, b in pair.found.same}
    moved = {a for a, _ in pair.found.same} - {a for a, _ in in_order(pair.found.same)}
    if i in moved:
        counts = (("to_position", pair.new.turn.positions[stayed[i]]),)
        return pair.told("messages", "block_moved", i, None, counts=counts)
    if came.get(j) in moved:
        return pair.told("messages", "block_moved", None, j)
    put = sum(1 for b in pair.found.new if j <= b < stayed[i])
    repeats = pair.new.turn.inputs[j] in list(pair.new.turn.inputs[:j])
    cause = "duplicated_history" if repeats else "item_inserted_in_prefix"
    return pair.told("messages", cause, None, j, counts=(("inserted", max(put, 1)),))


def _gone(pair: Pair, i: int, j: int, stayed: dict[int, int]) -> Difference:
    """The old block is gone, and what was said behind it goes on."""
    gone = set(pair.found.gone)
    run = [i]
    while run[-1] + 1 in gone:
        run.append(run[-1] + 1)
    end = min((b for a, b in stayed.items() if a > run[-1]), default=j + 1)
    put = sum(1 for b in pair.found.new if j <= b < end)
    cause = _cause_of_loss(pair, run, j, put)
    stands_in = cause in ("messages_merged", "history_compacted", "replay_differs_from_sent")
    old, new = pair.head(pair.old, i), pair.head(pair.new, j)
    same_kind = (old.role, old.kind) == (new.role, new.kind) and "image" not in (old.kind, new.kind)
    return pair.told(
        "messages",
        cause,
        i,
        j if stands_in else None,
        is_edit=stands_in and same_kind and cause != "history_compacted",
        counts=(("dropped", len(run)),),
    )


def _cause_of_loss(pair: Pair, run: list[int], j: int, put: int) -> str:
    """Why a run of old blocks is gone, `put` new ones standing in its place."""
    first = pair.head(pair.old, run[0])
    if first.kind == "image":
        return "image_removed"
    text = pair.text(pair.old, run[0]) if first.opens_json else ""
    if text and (part_type(text) in THINKING or _is_thought(text)):
        return "thinking_blocks_dropped"
    if put:
        is_new_text = j in pair.found.new and pair.head(pair.new, j).kind != "image"
        if is_new_text and _merges(pair, run, pair.text(pair.new, j)):
            return "messages_merged"
        return "history_compacted" if put < len(run) else "replay_differs_from_sent"
    start = len(pair.old.head)
    at_front = run[0] == start or (len(run) > 1 and run[0] == start + 1)
    return "history_front_trimmed" if at_front else "evicted_block"


def _merges(pair: Pair, run: list[int], arrived: str) -> bool:
    """Whether a new text holds the first two of the old ones."""
    olds = [pair.head(pair.old, a) for a in run[:2]]
    if len(olds) < 2 or any(head.kind == "image" or head.is_empty for head in olds):
        return False
    return all(pair.text(pair.old, a) in arrived for a in run[:2])


def _is_thought(text: str) -> bool:
    """Whether a part is Gemini's form of a thought."""
    if not text.startswith("{") or '"thought"' not in text:
        return False
    try:
        return json.loads(text).get("thought") is True
    except (ValueError, RecursionError):
        return False
