"""A good run against a bad one: where they first part, and what differs after that.

Turns are aligned by what was new to the model in them, and compared by content. Ids, dates and
times may differ; what was said of once is not told again for every later turn that still has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from ctxdiff_analyzers.align import align, common_start, in_order
from ctxdiff_analyzers.roles import is_conversation
from ctxdiff_analyzers.runs.differences import Difference, Kind
from ctxdiff_analyzers.runs.pairwise import Pairwise, new_inputs
from ctxdiff_analyzers.stable import stable_text
from ctxdiff_analyzers.timeline import Timeline, Turn

ANSWERS: frozenset[Kind] = frozenset(("answer", "tool_call", "outcome"))
"""What the model did with what it was given; models seldom say the same twice."""
WORD = re.compile(r"\w+")
GAP = 24
"""Turns between two that agree, up to which the others are paired by likeness."""


@dataclass(frozen=True, slots=True)
class AgentPair:
    """Two agents whose turns were compared. None: the turns without an agent."""

    old: str | None
    new: str | None
    turns: tuple[tuple[int | None, int | None], ...]
    """Aligned turns; None where the other side has no such turn."""
    alike: int
    """Aligned turns without a difference, first to last."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, or two agents, side by side."""

    agents: tuple[AgentPair, ...]
    only_old: tuple[str | None, ...]
    """Agents that only the old run has."""
    only_new: tuple[str | None, ...]
    first: Difference | None
    """The earliest; None when the runs agree."""
    first_given: Difference | None
    """The earliest in what the model was given, where `first` is something that it answered."""
    differences: tuple[Difference, ...]
    """In order of turns. After many of them the texts are not looked at, and sides are None."""
    counts: Mapping[Kind, int]
    """All of them."""
    volatile: int
    """Blocks that differ in ids, dates or times only."""


def compare(old: Timeline, new: Timeline) -> Comparison:
    """Two runs, agent by agent; agents are matched by name, a single one on each side in any case.

    Args:
        old: the run that went well, or one agent of it.
        new: the other one; may be another agent of the same session.
    """
    # The last one only: it keeps the other run from being let go.
    known: dict[int, tuple[Timeline, Comparison]] = old.remembered("comparison", dict)
    if id(new) not in known:
        known.clear()
        known[id(new)] = new, _compare(old, new)
    return known[id(new)][1]


def _compare(old: Timeline, new: Timeline) -> Comparison:
    pairs, only_old, only_new = _agents(old, new)
    found: list[Difference] = []
    told: list[AgentPair] = []
    volatile = 0
    for one, other in pairs:
        mine, theirs = old.groups()[one], new.groups()[other]
        walk = Pairwise(mine, theirs)
        turns = _aligned(mine, theirs)
        alike = 0
        for left, right in turns:
            differences = list(walk.step(left, right))
            alike += not differences
            found += differences
        volatile += walk.volatile
        told.append(
            AgentPair(one, other, tuple((_seq(left), _seq(right)) for left, right in turns), alike)
        )
    found.sort(key=_when)
    first = found[0] if found else None
    given = None
    if first is not None and first.kind in ANSWERS:
        given = next((one for one in found if one.kind not in ANSWERS), None)
    return Comparison(
        tuple(told),
        only_old,
        only_new,
        first,
        given,
        tuple(found),
        Counter(one.kind for one in found),
        volatile,
    )


def counterpart(old: Timeline, new: Timeline, seq: int) -> int | None:
    """The turn of `old` that turn `seq` of `new` is aligned with; None where there is none."""
    turn = new.turn(seq)
    if turn is None:
        return None
    pairs, _, _ = _agents(old, new)
    for one, other in pairs:
        if other == turn.agent:
            aligned = _aligned(old.groups()[one], new.groups()[other])
            return next((left.seq for left, right in aligned if right is turn and left), None)
    return None


_Agents: TypeAlias = tuple[str | None, ...]
_Pair: TypeAlias = tuple[Turn | None, Turn | None]


def _agents(
    old: Timeline, new: Timeline
) -> tuple[list[tuple[str | None, str | None]], _Agents, _Agents]:
    left, right = list(old.groups()), list(new.groups())
    pairs: list[tuple[str | None, str | None]] = [(one, one) for one in left if one in right]
    only_old = [one for one in left if one not in right]
    only_new = [one for one in right if one not in left]
    if len(only_old) == len(only_new) == 1:
        pairs.append((only_old.pop(), only_new.pop()))
    return pairs, tuple(only_old), tuple(only_new)


def _seq(turn: Turn | None) -> int | None:
    return None if turn is None else turn.seq


def _when(difference: Difference) -> tuple[int, int]:
    turns = [turn for turn in (difference.turn_old, difference.turn_new) if turn is not None]
    return min(turns), max(turns)


def _aligned(old: Timeline, new: Timeline) -> list[_Pair]:
    """Turns of two agents side by side, in order."""
    numbers: dict[tuple[str, ...], int] = {}
    left = [numbers.setdefault(key, len(numbers)) for key in _keys(old, new)]
    right = [numbers.setdefault(key, len(numbers)) for key in _keys(new, old)]
    kept = _kept(left, right)
    found: list[_Pair] = []
    i = j = 0
    for x, y in [*kept, (len(left), len(right))]:
        found += _gap(old, new, old.turns[i:x], new.turns[j:y])
        if x < len(left):
            found.append((old.turns[x], new.turns[y]))
        i, j = x + 1, y + 1
    return found


def _kept(left: list[int], right: list[int]) -> list[tuple[int, int]]:
    """Indices of turns that agree, ascending on both sides; ends first, as prompts repeat."""
    head = common_start(left, right)
    tail = min(common_start(left[::-1], right[::-1]), len(left) - head, len(right) - head)
    middle = align(left[head : len(left) - tail], right[head : len(right) - tail])
    return [
        *((at, at) for at in range(head)),
        *((i + head, j + head) for i, j in in_order(middle.pairs)),
        *((len(left) - at, len(right) - at) for at in range(tail, 0, -1)),
    ]


def _keys(timeline: Timeline, other: Timeline) -> Iterator[tuple[str, ...]]:
    """Of each turn what was new in it and not the model's, known by hash or by stable text."""
    shared = {block.content_hash for block in other.blocks}
    before: Turn | None = None
    for turn in timeline.turns:
        blocks = (timeline.blocks[b] for b in new_inputs(before, turn))
        asked = [b for b in blocks if is_conversation(b) and b.role != "assistant"]
        yield tuple(
            block.content_hash
            if block.content_hash in shared
            else stable_text(timeline.text_of(block.content_hash))
            for block in asked
        )
        before = turn


def _gap(old: Timeline, new: Timeline, left: Sequence[Turn], right: Sequence[Turn]) -> list[_Pair]:
    """Turns between two that agree: the likest are paired, in order."""
    if not left or not right or len(left) == len(right) or max(len(left), len(right)) > GAP:
        return list(zip_longest(left, right))
    shapes = [_shape(old, turn) for turn in left], [_shape(new, turn) for turn in right]
    best: dict[tuple[int, int], float] = {}
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            paired = _likeness(shapes[0][i], shapes[1][j]) + best.get((i + 1, j + 1), 0.0)
            best[i, j] = max(paired, best.get((i + 1, j), 0.0), best.get((i, j + 1), 0.0))
    found: list[_Pair] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i == len(left) or (j < len(right) and best[i, j] == best.get((i, j + 1), 0.0)):
            found.append((None, right[j]))
            j += 1
        elif j == len(right) or best[i, j] == best.get((i + 1, j), 0.0):
            found.append((left[i], None))
            i += 1
        else:
            found.append((left[i], right[j]))
            i, j = i + 1, j + 1
    return found


def _shape(timeline: Timeline, turn: Turn) -> Counter[str]:
    """What a turn looks like: roles, kinds and first words of what was new and not the model's."""
    shape: Counter[str] = Counter()
    for block in new_inputs(timeline.previous(turn.seq), turn):
        head = timeline.blocks[block]
        if is_conversation(head) and head.role != "assistant":
            words = WORD.findall(stable_text(timeline.text_of(head.content_hash)[:400]))
            shape.update((f"{head.role} {head.kind}", *words[:40]))
    return shape


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Above 0.0, as two turns in the same place are paired rather than not."""
    total = one.total() + other.total()
    return 0.05 + (2 * (one & other).total() / total if total else 1.0)
