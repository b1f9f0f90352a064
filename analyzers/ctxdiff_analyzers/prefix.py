"""Where the context stops being an extension of the same agent's previous one.

By position only: the order in which blocks are stored. What the provider's cache makes of it is
another question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from ctxdiff_analyzers.align import common_start
from ctxdiff_analyzers.counts import is_approximate
from ctxdiff_analyzers.hunks import common_prefix, common_suffix, text_diff
from ctxdiff_analyzers.labels import label_of
from ctxdiff_analyzers.matching import bare_digest, is_marker, matching, may_differ_by_marker
from ctxdiff_analyzers.timeline import Timeline, Turn

Side: TypeAlias = Literal["old", "new"]
CulpritKind: TypeAlias = Literal["modified", "added", "evicted", "reordered", "changed"]


@dataclass(frozen=True, slots=True)
class Break:
    """A pair of neighbouring turns whose common prefix ends before the shorter one does."""

    seq_old: int
    seq_new: int
    agent: str | None
    stable_blocks: int
    """Equal blocks at the start; the index of the first different one."""
    stable_tokens: int
    divergent_position: int
    """Stored position of that block in the newer turn."""
    rebilled_tokens: int
    """Of the newer turn from there to its end, new content included."""
    culprit_kind: CulpritKind
    culprit_label: str
    """Captured text."""
    content_hash: str
    """The block at fault: of the newer turn, for `evicted` of the older one."""
    content_hash_before: str | None
    """Its earlier form, for `modified`."""
    moved_from: int | None
    """Old position, for `reordered`."""
    moved_to: int | None
    first_diff_char: int | None
    """Code point offset, for `modified` text."""
    is_dynamic: bool
    """A small part of a longer text differs, as a clock in a prompt does."""
    pairs_denominator: int
    """Pairs of the same agent in the timeline."""


@dataclass(frozen=True, slots=True)
class BreakGroup:
    """Breaks with the same agent, culprit and position."""

    agent: str | None
    culprit_kind: CulpritKind
    culprit_label: str
    divergent_position: int
    count: int
    denominator: int
    first: Break


@dataclass(frozen=True, slots=True)
class PrefixReport:
    """Prefix stability over a timeline."""

    pairs_analyzed: int
    agents_analyzed: int | None
    """None when the timeline has fewer than two distinct agents."""
    pairs_by_agent: tuple[tuple[str | None, int], ...] | None
    stable_prefix_tokens_min: int
    """0 without pairs."""
    rebilled_tokens_total: int
    breaks: tuple[Break, ...]
    """Ascending by newer turn."""
    groups: tuple[BreakGroup, ...]
    """In order of first appearance."""
    fix_hint: bool
    """True when one volatile value in an early system block explains every break."""
    approximate: bool


def prefix_report(timeline: Timeline) -> PrefixReport:
    """Every neighbouring pair of each agent's turns, and where its prefix broke.

    Blocks that differ in nothing but a cache marker are equal, a block that is only a marker is
    passed over.
    """
    return timeline.remembered("prefix", lambda: _report(timeline))


def _report(timeline: Timeline) -> PrefixReport:
    groups = timeline.groups()
    pairs_by_agent = {agent: max(0, len(mine.turns) - 1) for agent, mine in groups.items()}
    breaks: list[Break] = []
    stable: list[int] = []
    for agent, mine in groups.items():
        for old, new in pairwise(mine.turns):
            i, j = _stable(timeline, old, new)
            stable.append(_tokens(timeline, new.inputs[:j]))
            if i < len(old.inputs) and j < len(new.inputs):
                breaks.append(_break(timeline, old, new, (i, j), pairs_by_agent[agent]))
    breaks.sort(key=lambda one: one.seq_new)
    split = len(groups) >= 2
    return PrefixReport(
        sum(pairs_by_agent.values()),
        len(groups) if split else None,
        tuple(pairs_by_agent.items()) if split else None,
        min(stable, default=0),
        sum(one.rebilled_tokens for one in breaks),
        tuple(breaks),
        _grouped(breaks),
        _one_volatile_value(breaks),
        any(is_approximate(timeline, turn) for turn in timeline.turns),
    )


def _stable(timeline: Timeline, old: Turn, new: Turn) -> tuple[int, int]:
    """Indices of the first blocks that differ; the length of a side that ended."""
    olds, news = old.inputs, new.inputs
    i = j = common_start(olds, news)
    while i < len(olds) and j < len(news):
        if olds[i] == news[j]:
            i, j = i + 1, j + 1
        elif is_marker(timeline, olds[i]):
            i += 1
        elif is_marker(timeline, news[j]):
            j += 1
        elif _same_but_for_a_marker(timeline, olds, news, i, j):
            i, j = i + 1, j + 1
        else:
            break
    return i, j


def _same_but_for_a_marker(
    timeline: Timeline, olds: Sequence[int], news: Sequence[int], i: int, j: int
) -> bool:
    # A block that stands elsewhere on the other side has moved; its text need not be read.
    return (
        may_differ_by_marker(timeline, olds[i], timeline, news[j])
        and olds[i] not in news
        and news[j] not in olds
        and bare_digest(timeline, olds[i]) == bare_digest(timeline, news[j])
    )


def _break(timeline: Timeline, old: Turn, new: Turn, at: tuple[int, int], pairs: int) -> Break:
    i, j = at
    kind, side, before, moved = _culprit(timeline, old, new, at)
    turn, index = (old, i) if side == "old" else (new, j)
    block = timeline.blocks[turn.inputs[index]]
    earlier = None if before is None else timeline.blocks[before]
    first_diff, dynamic = None, False
    if earlier is not None and block.kind != "image":
        # Hunks are for showing; a clock in a long prompt is found by its ends.
        first_diff, dynamic = _edit(timeline, earlier.content_hash, block.content_hash)
    return Break(
        old.seq,
        new.seq,
        new.agent,
        j,
        _tokens(timeline, new.inputs[:j]),
        new.positions[j],
        _tokens(timeline, new.inputs[j:]),
        kind,
        label_of(timeline, turn, index),
        block.content_hash,
        None if earlier is None else earlier.content_hash,
        moved[0] if moved else None,
        moved[1] if moved else None,
        first_diff,
        dynamic,
        pairs,
    )


def _culprit(
    timeline: Timeline, old: Turn, new: Turn, at: tuple[int, int]
) -> tuple[CulpritKind, Side, int | None, tuple[int, int] | None]:
    """What happened at the divergence, and with what.

    That is: the side on which the block stands, its earlier form, its old and new position.
    """
    i, j = at
    olds, news = list(old.inputs[i:]), list(new.inputs[j:])
    if olds[0] not in news and news[0] in olds:
        return "evicted", "old", None, None
    found = matching(old, new, timeline)
    if (i, j) in found.edited:
        return "modified", "new", old.inputs[i], None
    if j in found.new:
        return "added", "new", None, None
    if i in found.gone:
        return "evicted", "old", None, None
    for a, b in found.same:
        if a != b and b == j:
            return "reordered", "new", None, (old.positions[a], new.positions[b])
    return "changed", "new", None, None


def _edit(timeline: Timeline, before: str, after: str) -> tuple[int, bool]:
    """Offset of the first difference, and whether most of the text stayed as it was."""
    old, new = timeline.text_of(before), timeline.text_of(after)
    head = common_prefix(old, new)
    tail = common_suffix(old, new, min(len(old), len(new)) - head)
    equal = head + tail
    if equal <= len(old) + len(new) - 2 * equal:
        equal = text_diff(old, new).equal_chars
    return head, equal > len(old) + len(new) - 2 * equal


def _tokens(timeline: Timeline, blocks: Sequence[int]) -> int:
    return sum(timeline.blocks[block].token_count for block in blocks)


def _grouped(breaks: Sequence[Break]) -> tuple[BreakGroup, ...]:
    groups: dict[object, list[Break]] = {}
    for one in breaks:
        key = (one.agent, one.culprit_kind, one.culprit_label, one.divergent_position)
        groups.setdefault(key, []).append(one)
    return tuple(
        BreakGroup(
            mine[0].agent,
            mine[0].culprit_kind,
            mine[0].culprit_label,
            mine[0].divergent_position,
            len(mine),
            mine[0].pairs_denominator,
            mine[0],
        )
        for mine in groups.values()
    )


def _one_volatile_value(breaks: Sequence[Break]) -> bool:
    return bool(breaks) and all(
        one.culprit_kind == "modified"
        and one.is_dynamic
        and one.culprit_label == "system"
        and one.divergent_position == breaks[0].divergent_position <= 2
        for one in breaks
    )
