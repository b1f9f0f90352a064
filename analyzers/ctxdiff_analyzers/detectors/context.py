"""What was said and is gone, altered, moved or put in between."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import islice

from ctxdiff_analyzers.align import in_order
from ctxdiff_analyzers.cache.places import leaf_of, place_of, resolved, wire_body
from ctxdiff_analyzers.compaction import Compaction
from ctxdiff_analyzers.content import is_thought, unmarked
from ctxdiff_analyzers.counts import total_tokens
from ctxdiff_analyzers.detectors.compaction import compaction_of
from ctxdiff_analyzers.detectors.copies import copied_messages
from ctxdiff_analyzers.detectors.pairs import broken_partners
from ctxdiff_analyzers.detectors.repeated import lost_repeats, said_anew
from ctxdiff_analyzers.detectors.replay import merged_messages
from ctxdiff_analyzers.detectors.scene import Scene, is_conversation, tokens_of
from ctxdiff_analyzers.detectors.truncation import cut_pairs
from ctxdiff_analyzers.edits import FORM_ONLY, edit
from ctxdiff_analyzers.evictions import Eviction, evictions
from ctxdiff_analyzers.exchanges import result_at
from ctxdiff_analyzers.findings import Finding, NextCall, Severity
from ctxdiff_analyzers.lineage import predecessor
from ctxdiff_analyzers.matching import is_marker, is_renumbered
from ctxdiff_analyzers.paths import path_of
from ctxdiff_analyzers.similar import FLOOR, Candidate, similarity, sketch
from ctxdiff_analyzers.timeline import Timeline, Turn

LARGE_SHARE = 0.05
"""Part of the previous turn that makes a loss of untagged text more than a trifle."""
EDITS_TOLD = 5
NOTE = 200
"""Code points of a note that stands for an image, at most."""


def tagged_losses(scene: Scene) -> Iterator[Finding]:
    """Blocks that the program had tagged: lost at this turn, or earlier and still missing."""
    groups: defaultdict[tuple[int, str], list[Eviction]] = defaultdict(list)
    for event in evictions(scene.mine).events:
        if event.evicted_turn <= scene.turn.seq:
            groups[event.evicted_turn, event.label].append(event)
    blocks = {block.content_hash: block for block in scene.mine.blocks} if groups else {}
    for (turn, label), events in groups.items():
        lost = [blocks[event.content_hash] for event in events]
        before = scene.mine.turn(events[0].last_seen_turn)
        places = [] if before is None else [_place(scene, before.seq, one) for one in lost]
        yield scene.about(
            "context_evicted",
            "high",
            lost,
            places,
            names=[label],
            turn=turn,
            cause="evicted_block",
            next=NextCall("ctxdiff_diff", (("turn_a", events[0].last_seen_turn), ("turn_b", turn))),
        )


def losses(scene: Scene) -> Iterator[Finding]:
    """Untagged messages of the previous turn that are gone and do not come back."""
    repeated = lost_repeats(scene)
    if scene.previous is None or not (scene.matching.gone or repeated) or scene.stands_alone():
        return
    inputs = scene.previous.inputs
    last = scene.mine.last_seen(inputs)
    told = {event.content_hash for event in evictions(scene.mine).events}
    compacted = compaction_of(scene)
    # What a broken pair misses is told with the pair, what a summary carries with the summary.
    elsewhere = broken_partners(scene) | _carried(compacted) | _merged(scene) | _tail(scene)
    gone = [
        i
        for i in _gone(scene, compacted)
        if i not in elsewhere
        and is_conversation(scene.old_block(i))
        and (last[inputs[i]] == scene.previous.seq or i in repeated)
        and not scene.old_block(i).is_empty
        and scene.old_block(i).content_hash not in told
        and not is_marker(scene.mine, inputs[i])
    ]
    kept = scene.kept_conversation()
    if not gone:
        return
    gone_blocks = sorted((scene.old_block(i) for i in gone), key=lambda block: -block.token_count)
    tokens, _ = tokens_of(gone_blocks)
    cause = _cause_of_loss(scene, gone, kept)
    goes_on = bool(kept) or scene.sends_back()
    severity: Severity = "medium"
    small = tokens < LARGE_SHARE * total_tokens(scene.mine, scene.previous)
    if small or cause == "thinking_blocks_dropped" or not kept or min(gone) > max(kept):
        severity = "low"
    if compacted is not None and set(gone) <= set(compacted.lost):
        severity, cause = "low", "evicted_block"
    by_hash = {scene.old_block(i).content_hash: scene.previous.positions[i] for i in gone}
    yield scene.about(
        "context_evicted",
        severity,
        gone_blocks,
        [by_hash[block.content_hash] for block in gone_blocks],
        cause=cause,
        counts=(("blocks", len(gone)), ("dropped", len(gone)))
        if cause == "history_front_trimmed"
        else None,
        path=path_of(scene.mine, scene.previous, min(gone)),
        certainty="measured" if goes_on else "inferred",
        why=None
        if goes_on
        else "nothing of the earlier conversation remains; it may be a new conversation",
        next=NextCall("ctxdiff_block", (("content_hash", gone_blocks[0].content_hash),))
        if len(gone) == 1
        else scene.to_diff(),
    )


def edits(scene: Scene) -> Iterator[Finding]:
    """Messages of the previous turn that are there with other content."""
    if scene.previous is None or scene.starts_over():
        return
    cut, compacted, joined = cut_pairs(scene), compaction_of(scene), merged_messages(scene)
    replaced = frozenset(() if compacted is None else compacted.replaced)
    standing = frozenset(() if compacted is None else compacted.standing_in)
    said = (
        (i, j)
        for i, j in scene.matching.edited
        if is_conversation(scene.new_block(j))
        and (i, j) not in cut
        and i not in replaced
        and j not in standing
        and j not in joined
        and (_has_grown(scene) or not _asks_anew(scene, i, j))
        and not _is_same_image(scene, i, j)
        and not _points_to_image(scene, i, j)
    )
    is_told = False
    for i, j in islice(said, EDITS_TOLD):
        old, new = scene.previous.inputs[i], scene.turn.inputs[j]
        if renumbered := is_renumbered(scene.mine, old, new):
            # A program that loads a conversation may give all ids anew: the first tells of it.
            if is_told:
                continue
            is_told = True
        before, now, inner = _strings(scene, i, j)
        found = edit(before, now)
        form_only = found.cause in FORM_ONLY
        is_little = form_only or renumbered or _asks_anew(scene, i, j)
        severity: Severity = "low" if is_little else "medium"
        cause = found.cause if form_only else None
        place = path_of(scene.mine, scene.turn, j)
        path = None if place is None else f"{place}{inner}"
        yield scene.edited("context_edited", severity, i, j, found=found, cause=cause, path=path)


def _asks_anew(scene: Scene, i: int, j: int) -> bool:
    """True for another last question behind the same examples: the earlier one is not past."""
    assert scene.previous is not None
    if scene.new_block(j).role != "user" or scene.previous.call.error is not None:
        return False
    if result_at(scene.mine, scene.turn.inputs[j]) is not None:
        return False
    olds, news = range(len(scene.previous.inputs)), range(len(scene.turn.inputs))
    return (
        i == max(at for at in olds if is_conversation(scene.old_block(at)))
        and j == max(at for at in news if is_conversation(scene.new_block(at)))
        and not any(is_conversation(scene.new_block(new)) for new in scene.matching.new)
    )


def _has_grown(scene: Scene) -> bool:
    """True where the previous turn went on from one before it: its last message is history."""
    assert scene.previous is not None
    earlier = predecessor(scene.mine, scene.previous)
    said = [b for b in earlier.inputs if is_conversation(scene.mine.blocks[b])] if earlier else []
    return 0 < len({*said}) == len({*said}.intersection(scene.previous.inputs))


def _is_same_image(scene: Scene, i: int, j: int) -> bool:
    """True for an image that differs by its cache marker alone, which only the request shows."""
    assert scene.previous is not None
    if scene.new_block(j).kind != "image" or scene.old_block(i).kind != "image":
        return False
    sides = ((scene.previous, i), (scene.turn, j))
    before, now = (
        unmarked(resolved(wire_body(scene.mine, turn), place_of(scene.mine, turn, at) or "/"))
        for turn, at in sides
    )
    return before is not None and before == now


def _points_to_image(scene: Scene, i: int, j: int) -> bool:
    """True for a text that gained but a note where the image beside it was taken out."""
    assert scene.previous is not None
    gone = {at for at in scene.matching.gone if scene.old_block(at).kind == "image"}
    if gone.isdisjoint((i - 1, i + 1)):
        return False
    before, now, _ = _strings(scene, i, j)
    if len(now) - len(before) > NOTE:
        return False
    return now.startswith(before) or now.endswith(before)


def _strings(scene: Scene, i: int, j: int) -> tuple[str, str, str]:
    """Old and new string that differ, and where in the new block they stand: `.text`.

    The texts of the blocks where they differ in more than one string.
    """
    old, new = scene.old_block(i), scene.new_block(j)
    before, now = scene.text(old), scene.text(new)
    if new.kind != "content_part":
        return before, now, ""
    if not old.opens_json and not new.opens_json:
        return before, now, ".text"
    try:
        leaf = leaf_of(json.loads(before), json.loads(now))
    except (ValueError, RecursionError):
        return before, now, ""
    return (leaf.old, leaf.new, leaf.path) if leaf.is_text else (before, now, "")


def moves(scene: Scene) -> Iterator[Finding]:
    """Messages that stand in another order than before."""
    said = _stayed(scene)
    unmoved = set(in_order(said))
    moved = [pair for pair in said if pair not in unmoved]
    if not moved or scene.previous is None:
        return
    blocks = [scene.new_block(j) for _, j in moved]
    places = [scene.turn.positions[j] for _, j in moved]
    first_old, first_new = moved[0]
    before = path_of(scene.mine, scene.previous, first_old)
    yield scene.about(
        "context_edited",
        "low",
        blocks,
        places,
        cause="block_moved",
        names=() if before is None else (before,),
        path=path_of(scene.mine, scene.turn, first_new),
    )


def insertions(scene: Scene) -> Iterator[Finding]:
    """New messages in front of old ones, where nothing was taken away."""
    said = _stayed(scene)
    unmoved = in_order(said)
    if not unmoved:
        return
    gone = sorted(i for i in scene.matching.gone if is_conversation(scene.old_block(i)))
    last_old, last_new = unmoved[-1]
    if compaction_of(scene) is not None:
        return
    copies = frozenset(copied_messages(scene))
    inserted = [
        j
        for j in scene.matching.new
        if j < last_new
        and is_conversation(scene.new_block(j))
        and not is_marker(scene.mine, scene.turn.inputs[j])
        and j not in copies
    ]
    inserted = _not_seen_before(scene, inserted)
    if inserted and not any(i < last_old for i in gone):
        blocks = [scene.new_block(j) for j in inserted]
        places = [scene.turn.positions[j] for j in inserted]
        yield scene.about(
            "context_edited",
            "low",
            blocks,
            places,
            cause="item_inserted_in_prefix",
            path=path_of(scene.mine, scene.turn, inserted[0]),
        )


def _stayed(scene: Scene) -> list[tuple[int, int]]:
    """Old and new index of each message that was kept, and not said anew behind the answer."""
    again = said_anew(scene)
    return [
        (i, j)
        for i, j in scene.matching.same
        if is_conversation(scene.new_block(j)) and i not in again
    ]


def _not_seen_before(scene: Scene, new: list[int]) -> list[int]:
    """New indices without blocks that an earlier turn of the agent had: these are back."""
    if not new or scene.previous is None:
        return new
    first = scene.mine.present({scene.turn.inputs[j] for j in new})
    return [j for j in new if first[scene.turn.inputs[j]] > scene.previous.seq]


def _gone(scene: Scene, compacted: Compaction | None) -> list[int]:
    """Old indices of what is gone, also where a summary or another such text resembles it."""
    lost = () if compacted is None else compacted.lost
    return sorted({*scene.matching.gone, *lost, *lost_repeats(scene)})


def _merged(scene: Scene) -> frozenset[int]:
    return frozenset(i for olds in merged_messages(scene).values() for i in olds)


def _tail(scene: Scene) -> frozenset[int]:
    """The last message of the previous turn where each turn ends with another such one.

    A program that puts a reminder behind the user's message takes it back with the next one.
    """
    assert scene.previous is not None
    old, new = _last_two(scene.mine, scene.previous), _last_two(scene.mine, scene.turn)
    if old is None or new is None or old[1] not in scene.matching.gone:
        return frozenset()
    before, now = scene.text(scene.old_block(old[1])), scene.text(scene.new_block(new[1]))
    is_like = similarity(*(Candidate(text, None, partial(sketch, text)) for text in (before, now)))
    is_new = new[1] in scene.matching.new and old[0] not in scene.matching.gone
    return frozenset((old[1],)) if is_new and is_like >= FLOOR else frozenset()


def _last_two(timeline: Timeline, turn: Turn) -> tuple[int, int] | None:
    """The last two messages, where both are no word of the model's and the last no result."""
    said = [
        index
        for index, block in enumerate(turn.inputs)
        if is_conversation(timeline.blocks[block]) and not is_marker(timeline, block)
    ][-2:]
    if len(said) < 2 or any(timeline.blocks[turn.inputs[i]].role == "assistant" for i in said):
        return None
    return None if result_at(timeline, turn.inputs[said[1]]) is not None else (said[0], said[1])


def _carried(compacted: Compaction | None) -> frozenset[int]:
    if compacted is None:
        return frozenset()
    return frozenset(compacted.replaced).difference(compacted.lost)


def _cause_of_loss(scene: Scene, gone: list[int], kept: list[int]) -> str:
    blocks = [scene.old_block(i) for i in gone]
    if all(block.kind == "image" for block in blocks):
        return "image_removed"
    if all(block.kind == "content_part" and is_thought(scene.text(block)) for block in blocks[:50]):
        return "thinking_blocks_dropped"
    if kept and max(gone) < min(kept):
        return "history_front_trimmed"
    return "evicted_block"


def _place(scene: Scene, seq: int, block: object) -> int:
    turn = scene.mine.turn(seq)
    assert turn is not None
    hashes = [scene.mine.blocks[i] for i in turn.inputs]
    return turn.positions[hashes.index(block)] if block in hashes else -1
