"""A turn's input blocks in the order in which the provider makes one prefix of them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from ctxdiff_capture.light import light

from ctxdiff_analyzers.cache.rules import Rules, Section
from ctxdiff_analyzers.matching import bare_digest, is_marker, may_differ_by_marker
from ctxdiff_analyzers.timeline import Timeline, Turn

PROMPT_ROLES = frozenset(("system", "developer"))
_CHUNK = 64
_KEPT = 32
"""Turns whose order is remembered: each is asked for as the newer and as the older one."""


@light(frozen=True, slots=True)
class Rendered:
    """A turn as a provider reads it."""

    turn: Turn
    blocks: list[int]
    """Indices into `Timeline.blocks`."""
    head: tuple[int, ...]
    """Of each block before the conversation its index in `turn.inputs`; behind them the order is
    that of the inputs."""
    tools: int
    """How many of the head are tool schemas."""
    order: tuple[Section, ...]

    def input_at(self, index: int) -> int:
        """The index in `turn.inputs` of a block by its place here."""
        return self.head[index] if index < len(self.head) else index

    def index_of(self, at: int) -> int:
        """The place here of a block by its index in `turn.inputs`."""
        return self.head.index(at) if at < len(self.head) else at

    def section(self, index: int) -> Section:
        """What part of the request a block belongs to."""
        if index >= len(self.head):
            return "messages"
        first, second = self.order[:2]
        leading = self.tools if first == "tools" else len(self.head) - self.tools
        return first if index < leading else second

    def placed(self, position: int) -> int | None:
        """The place here of the block at a stored position."""
        at = bisect_left(self.turn.positions, position)
        found = at < len(self.turn.positions) and self.turn.positions[at] == position
        return self.index_of(at) if found else None


def rendered(timeline: Timeline, turn: Turn, rules: Rules) -> Rendered:
    """The turn in the provider's order. Costs what stands before the conversation."""
    kept: dict[tuple[int, str], Rendered] = timeline.known("cache views", dict)
    key = id(turn), rules.name
    found = kept.get(key)
    if found is None or found.turn is not turn:
        if len(kept) >= _KEPT:
            kept.clear()
        found = kept[key] = _rendered(timeline, turn, rules)
    return found


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands before a conversation: mostly the same from turn to turn."""

    blocks: list[int]
    """As in the turn's inputs."""
    order: tuple[int, ...]
    is_in_order: bool
    tools: int


def _rendered(timeline: Timeline, turn: Turn, rules: Rules) -> Rendered:
    blocks = list(turn.inputs)
    heads: dict[str, _Head] = timeline.known("cache heads", dict)
    head = heads.get(rules.name)
    if head is None or not _begins_with(timeline, blocks, head.blocks):
        head = heads[rules.name] = _head(timeline, blocks, rules)
    if not head.is_in_order:
        blocks[: len(head.order)] = [blocks[at] for at in head.order]
    return Rendered(turn, blocks, head.order, head.tools, rules.order)


def _begins_with(timeline: Timeline, blocks: list[int], head: list[int]) -> bool:
    """Whether these blocks, and no more, stand before the conversation."""
    end = len(head)
    if blocks[:end] != head:
        return False
    return end == len(blocks) or _section(timeline, blocks[end]) == "messages"


def _head(timeline: Timeline, blocks: list[int], rules: Rules) -> _Head:
    kinds: dict[Section, list[int]] = {"tools": [], "system": []}
    for at, block in enumerate(blocks):
        section = _section(timeline, block)
        if section == "messages":
            break
        kinds[section].append(at)
    order = tuple(at for section in rules.order[:2] for at in kinds[section])
    return _Head(
        blocks[: len(order)], order, order == tuple(range(len(order))), len(kinds["tools"])
    )


def _section(timeline: Timeline, block: int) -> Section:
    head = timeline.blocks[block]
    if head.kind == "tool_schema":
        return "tools"
    return "system" if head.role in PROMPT_ROLES else "messages"


def parting(timeline: Timeline, old: Rendered, new: Rendered) -> tuple[int, int]:
    """Places of the first blocks that differ in content; the length of a side that ended.

    Markers are no content, and a text is the same whether it stands alone or as a list's only
    part. Costs what is equal at the speed of a copy, and a look at the texts around a marker.
    """
    olds, news = old.blocks, new.blocks
    i = j = 0
    while True:
        same = _equal_run(olds, news, i, j)
        i, j = i + same, j + same
        if i >= len(olds) or j >= len(news):
            return i, j
        if is_marker(timeline, olds[i]):
            i += 1
        elif is_marker(timeline, news[j]):
            j += 1
        elif _same_but_for_a_marker(timeline, olds[i], news[j]):
            i, j = i + 1, j + 1
        else:
            return i, j


def _equal_run(olds: list[int], news: list[int], i: int, j: int) -> int:
    """How many blocks from `i` and `j` on are equal."""
    at = 0
    while olds[i + at : i + at + _CHUNK] == news[j + at : j + at + _CHUNK]:
        at += _CHUNK
        if i + at >= len(olds) or j + at >= len(news):
            return min(len(olds) - i, len(news) - j)
    most = min(len(olds) - i, len(news) - j)
    while at < most and olds[i + at] == news[j + at]:
        at += 1
    return at


def _same_but_for_a_marker(timeline: Timeline, old: int, new: int) -> bool:
    heads = timeline.blocks[old], timeline.blocks[new]
    # A marker makes a part of a message; it shows in the JSON of a part or a tool.
    parts = [head.kind != "message" and head.opens_json for head in heads]
    return (
        any(parts)
        and may_differ_by_marker(timeline, old, timeline, new)
        and bare_digest(timeline, old) == bare_digest(timeline, new)
    )
