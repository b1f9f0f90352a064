"""Which block of one turn is which block of another: the same, an edited form, gone, or new."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

from ctxdiff_analyzers import similar
from ctxdiff_analyzers.align import Alignment, align, in_order
from ctxdiff_analyzers.content import (
    is_tool_result,
    part_id,
    schema_names,
    without_id,
    without_markers,
)
from ctxdiff_analyzers.timeline import Timeline, Turn

MARKER_TOKENS = 64
"""Tokens by which a cache marker and its wrapping may change a block's count, at most."""


@dataclass(frozen=True, slots=True)
class Matching:
    """Every index of either turn's inputs occurs exactly once."""

    same: tuple[tuple[int, int], ...]
    """(old index, new index), ascending by new index; blocks that differ in nothing but a cache
    marker are the same."""
    edited: tuple[tuple[int, int], ...]
    """Ascending by new index."""
    gone: tuple[int, ...]
    new: tuple[int, ...]


def matching(old: Turn, new: Turn, timeline: Timeline, other: Timeline | None = None) -> Matching:
    """How the input blocks of `old` and `new` correspond.

    Identical blocks first, wherever they stand. Of the rest, blocks of one role and kind that
    stand between the same unmoved neighbours are paired by similarity. `other` holds the blocks
    of `new` when it is of another session.
    """
    there = other or timeline
    sides = _Sides(old.inputs, new.inputs, timeline, there)
    aligned = _in_place(align(list(old.inputs), _translated(new, timeline, there)), sides)
    if not aligned.only_old or not aligned.only_new:
        return Matching(aligned.pairs, (), aligned.only_old, aligned.only_new)
    anchors = in_order(aligned.pairs)
    # What follows the answer to the old turn is new, however much it resembles what is gone.
    end = _answered(old, new, anchors, aligned.only_new) if there is timeline else len(new.inputs)
    gaps = _gaps(anchors, aligned.only_old, tuple(j for j in aligned.only_new if j < end))
    same, edited = list(aligned.pairs), []
    behind = anchors[-1][0] if anchors else -1
    is_same_agent = there is timeline and old.agent == new.agent
    for left, right in gaps:
        # The last gap is open where nothing shows at which message the old turn ended; a turn of
        # another conversation has no message in the old place at all.
        is_closed = is_same_agent and (left[0] < behind or end < len(new.inputs))
        found_same, found_edited = _paired(left, right, sides, is_closed=is_closed)
        same += found_same
        edited += found_edited
    left_old, left_new = _left(aligned.only_old, aligned.only_new, same + edited)
    edited += _joined((old, left_old), (new, left_new), timeline, there, same)
    left_old, left_new = _left(left_old, left_new, edited)
    return Matching(
        tuple(sorted(same, key=_by_new)),
        tuple(sorted(edited, key=_by_new)),
        left_old,
        left_new,
    )


def bare_digest(timeline: Timeline, block: int) -> bytes:
    """A digest of the block's content without cache markers, see `content.without_markers`."""
    return timeline.fact("bare", block, lambda text: _digest(without_markers(text)))


def is_marker(timeline: Timeline, block: int) -> bool:
    """True for a block that is nothing but a cache marker."""
    head = timeline.blocks[block]
    return (
        not head.is_empty
        and head.token_count <= MARKER_TOKENS
        and head.kind != "image"
        and bare_digest(timeline, block) == NOTHING
    )


def is_renumbered(timeline: Timeline, old: int, new: int) -> bool:
    """True for a call or result under another id: nothing that the model reads of it changed."""
    one = _without_id(timeline, old)
    return one is not None and one == _without_id(timeline, new)


def may_differ_by_marker(timeline: Timeline, old: int, there: Timeline, new: int) -> bool:
    """True unless the heads of two blocks already show that their contents differ."""
    one, two = timeline.blocks[old], there.blocks[new]
    return (
        one.role == two.role
        and (one.kind == "tool_schema") == (two.kind == "tool_schema")
        and "image" not in (one.kind, two.kind)
        and abs(one.token_count - two.token_count) <= MARKER_TOKENS
    )


def _in_place(aligned: Alignment, sides: _Sides) -> Alignment:
    """The same with the old turn's last block where it stood, if there it only lost its marker.

    A client marks the newest message: where that says what an earlier one said, it looks as if the
    earlier one had moved.
    """
    last = len(sides.old) - 1
    at = {i: j for i, j in aligned.pairs if i >= last - 1}
    place = at.get(last - 1, -1) + 1
    if last not in at or place == at[last] or place not in aligned.only_new:
        return aligned
    if not sides.same_content(last, place):
        return aligned
    pairs = [(i, place if i == last else j) for i, j in aligned.pairs]
    free = {*aligned.only_new, at[last]} - {place}
    return Alignment(tuple(sorted(pairs, key=_by_new)), aligned.only_old, tuple(sorted(free)))


def _translated(new: Turn, timeline: Timeline, there: Timeline) -> list[int]:
    """The new turn's blocks as indices of `timeline`; -1, -2, ... for those it does not have."""
    if there is timeline or there.blocks is timeline.blocks:
        return list(new.inputs)
    known = timeline.known(
        "index", lambda: {block.content_hash: i for i, block in enumerate(timeline.blocks)}
    )
    return [known.get(there.blocks[i].content_hash, -1 - i) for i in new.inputs]


def _answered(
    old: Turn, new: Turn, anchors: list[tuple[int, int]], only_new: tuple[int, ...]
) -> int:
    """Where the new turn gives back what was answered to the old one; its length if nowhere."""
    answers = frozenset(old.outputs)
    last = anchors[-1][1] if anchors else -1
    found = (j for j in only_new if j > last and new.inputs[j] in answers)
    return min(found, default=len(new.inputs))


def _gaps(
    anchors: list[tuple[int, int]], old: tuple[int, ...], new: tuple[int, ...]
) -> list[tuple[list[int], list[int]]]:
    """What is left over on both sides between the same two neighbours that did not move."""
    left: defaultdict[int, list[int]] = defaultdict(list)
    right: defaultdict[int, list[int]] = defaultdict(list)
    anchors_old, anchors_new = [i for i, _ in anchors], [j for _, j in anchors]
    for i in old:
        left[bisect_left(anchors_old, i)].append(i)
    for j in new:
        right[bisect_left(anchors_new, j)].append(j)
    return [(left[gap], right[gap]) for gap in sorted(left) if gap in right]


_Pairs = list[tuple[int, int]]
_Left = tuple[int, ...]


def _left(old: Iterable[int], new: Iterable[int], taken: _Pairs) -> tuple[_Left, _Left]:
    olds, news = {i for i, _ in taken}, {j for _, j in taken}
    return tuple(i for i in old if i not in olds), tuple(j for j in new if j not in news)


def _joined(
    old: tuple[Turn, _Left],
    new: tuple[Turn, _Left],
    timeline: Timeline,
    there: Timeline,
    same: _Pairs,
) -> _Pairs:
    """Tool results that are left over on both sides and answer the same call, however unlike.

    By the call's id, without one by their place right behind the same call.
    """
    olds = [i for i in old[1] if _is_result(timeline, old[0].inputs[i])]
    news = [j for j in new[1] if _is_result(there, new[0].inputs[j])]
    if not olds or not news:
        return []
    by_id = {found: i for i in olds if (found := _call_id(timeline, old[0], i)) is not None}
    after = {(j, there.blocks[new[0].inputs[j]].role): i for i, j in same}
    pairs: _Pairs = []
    for j in news:
        found = _call_id(there, new[0], j)
        before = after.get((j - 1, "assistant"))
        i = by_id.pop(found, None) if found is not None else None
        if found is None and before is not None and before + 1 in olds:
            i = before + 1
        if i is not None and i not in {one for one, _ in pairs}:
            pairs.append((i, j))
    return pairs


def _is_result(timeline: Timeline, block: int) -> bool:
    head = timeline.blocks[block]
    if head.role == "tool":
        return True
    if head.role not in ("user", "function") or not head.opens_json:
        return False
    return timeline.fact("is result", block, is_tool_result)


def _call_id(timeline: Timeline, turn: Turn, index: int) -> str | None:
    """The id of the call that a result answers."""
    known = timeline.detail(turn).tool_call_ids.get(turn.positions[index])
    block = turn.inputs[index]
    head = timeline.blocks[block]
    # What a message says in JSON may have an id of its own.
    if known is None and head.opens_json and head.kind == "content_part":
        return timeline.fact("part id", block, part_id)
    return known


@dataclass(frozen=True, slots=True)
class _Sides:
    old: Sequence[int]
    new: Sequence[int]
    timeline: Timeline
    there: Timeline

    def ids(self, i: int, j: int) -> tuple[str | None, str | None]:
        """Of the call that a part of either side is, or answers."""
        return (
            self.timeline.fact("part id", self.old[i], part_id),
            self.there.fact("part id", self.new[j], part_id),
        )

    def same_content(self, i: int, j: int) -> bool:
        old, new = self.old[i], self.new[j]
        return may_differ_by_marker(self.timeline, old, self.there, new) and (
            bare_digest(self.timeline, old) == bare_digest(self.there, new)
        )


def _paired(
    left: list[int], right: list[int], sides: _Sides, *, is_closed: bool
) -> tuple[_Pairs, _Pairs]:
    same: _Pairs = []
    waiting = list(left)
    rest = right[similar.MOST_BLOCKS :]
    for j in right[: similar.MOST_BLOCKS]:
        twin = next(
            (i for i in waiting[:8] if sides.same_content(i, j)),
            None,
        )
        if twin is None:
            rest.append(j)
        else:
            waiting.remove(twin)
            same.append((twin, j))
    edited: _Pairs = []
    edited += _renumbered(waiting, rest, sides)
    waiting, rest = map(list, _left(waiting, rest, edited))
    kinds: defaultdict[tuple[str, str], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for i in waiting:
        head = sides.timeline.blocks[sides.old[i]]
        kinds[head.role, _form(head.kind)][0].append(i)
    for j in rest:
        head = sides.there.blocks[sides.new[j]]
        kinds[head.role, _form(head.kind)][1].append(j)
    for (_, kind), (olds, news) in kinds.items():
        if not olds or not news:
            continue
        if kind == "image":
            # An image's text is a descriptor: that two descriptors are alike says nothing.
            edited += zip(olds, news, strict=False)
            continue
        before = _candidates(sides.timeline, [sides.old[i] for i in olds[: similar.MOST_BLOCKS]])
        now = _candidates(sides.there, [sides.new[j] for j in news[: similar.MOST_BLOCKS]])
        found = similar.pairs(before, now)
        is_lone = is_closed and len(before) == len(now) == 1
        if not found and is_lone and similar.may_be_form(before[0], now[0]):
            found = [(0, 0)]
        edited += [(olds[a], news[b]) for a, b in found]
    return same, edited


def _renumbered(olds: list[int], news: list[int], sides: _Sides) -> _Pairs:
    """Calls and their results that differ in nothing but the ids that join them, in order.

    A call alone counts where no result is left over: its own then stayed as it was.
    """
    waiting: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
    for j in reversed(news):
        if (key := _without_id(sides.there, sides.new[j])) is not None:
            waiting[key].append(j)
    keys = ((i, _without_id(sides.timeline, sides.old[i])) for i in olds if waiting)
    found = [(i, waiting[key].pop()) for i, key in keys if key is not None and waiting.get(key)]
    results = {pair: None for pair in found if _is_result(sides.timeline, sides.old[pair[0]])}
    ids = {pair: sides.ids(*pair) for pair in found}
    calls = {ids[pair]: pair for pair in found if pair not in results}
    if not any(_is_result(sides.timeline, sides.old[i]) for i in olds):
        return list(calls.values())
    return [one for pair in results if ids[pair] in calls for one in (calls[ids[pair]], pair)]


def _without_id(timeline: Timeline, block: int) -> tuple[str, bytes] | None:
    """Role and digest of what a part with an id is beside it; None for any other block."""
    head = timeline.blocks[block]
    if head.kind != "content_part" or not head.opens_json:
        return None
    digest = timeline.fact("without id", block, _digest_without_id)
    return None if digest == NOTHING else (head.role, digest)


def _digest_without_id(text: str) -> bytes:
    return _digest(without_id(text))


def _form(kind: str) -> str:
    """A message that gets a marker is sent as a part; its content stays what it is."""
    return "message" if kind == "content_part" else kind


def _candidates(timeline: Timeline, blocks: Sequence[int]) -> list[similar.Candidate]:
    # What is remembered are sketches and no texts, which may be many and long.
    return [
        similar.Candidate(
            without_markers(timeline.text_of(timeline.blocks[block].content_hash)),
            timeline.fact("identity", block, _identity(timeline.blocks[block].kind)),
            partial(timeline.fact, "sketch", block, _sketch),
        )
        for block in blocks
    ]


def _sketch(text: str) -> frozenset[int]:
    return similar.sketch(without_markers(text))


def _identity(kind: str) -> Callable[[str], str | None]:
    if kind == "tool_schema":
        return lambda text: ", ".join(schema_names(text)) or None
    # What a message says in JSON may have an id of its own.
    return part_id if kind == "content_part" else _nothing


def _nothing(text: str) -> None:  # noqa: ARG001 - as the other readers of texts
    return None


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


NOTHING = _digest("")


def _by_new(pair: tuple[int, int]) -> int:
    return pair[1]
