"""Alignment of two lists of items: which stayed, which moved, what is left over."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MATCHER_BUDGET = 40_000
"""Equal pairs of items that the exact matcher may be asked to weigh."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Equal items paired one to one; the rest is named. Every index occurs exactly once."""

    pairs: tuple[tuple[int, int], ...]
    """(old index, new index) of equal items, ascending by new index."""
    only_old: tuple[int, ...]
    """Ascending."""
    only_new: tuple[int, ...]
    """Ascending."""


def align(old: Sequence[int], new: Sequence[int]) -> Alignment:
    """Pair as many equal items as there are: those in order first, then the moved ones.

    Common ends of the two lists stay in place. Of what is between, repeated items are paired by
    the longest common runs (Ratcliff/Obershelp), surplus copies first come, first served.
    """
    head = common_start(old, new)
    tail = _common_end(old, new, head)
    last_old, last_new = len(old) - tail, len(new) - tail
    middle = _slide(old[head:last_old], new[head:last_new]) or _matches(
        old[head:last_old], new[head:last_new]
    )
    pairs = [(i, i) for i in range(head)]
    pairs += sorted(((i + head, j + head) for i, j in middle), key=lambda pair: pair[1])
    pairs += zip(range(last_old, len(old)), range(last_new, len(new)), strict=True)
    return Alignment(
        tuple(pairs),
        _left_over(len(old), {i for i, _ in pairs}),
        _left_over(len(new), {j for _, j in pairs}),
    )


def common_start(old: Sequence[int], new: Sequence[int]) -> int:
    """How many items at the start of both lists are equal."""
    shorter = min(len(old), len(new))
    if old[:shorter] == new[:shorter]:
        return shorter
    return next(i for i in range(shorter) if old[i] != new[i])


def in_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A longest choice of pairs that ascend on both sides: what did not move."""
    ends: list[int] = []  # smallest old index that ends a chain of each length
    chain: list[int] = []  # for each pair the length of the longest chain that it ends, minus 1
    for i, _ in pairs:
        length = bisect_left(ends, i)
        ends[length : length + 1] = [i]
        chain.append(length)
    kept: list[tuple[int, int]] = []
    wanted = len(ends) - 1
    for pair, length in zip(reversed(pairs), reversed(chain), strict=True):
        if length == wanted and (not kept or pair[0] < kept[-1][0]):
            kept.append(pair)
            wanted -= 1
    return kept[::-1]


def _common_end(old: Sequence[int], new: Sequence[int], head: int) -> int:
    most = min(len(old), len(new)) - head
    tail = 0
    while tail < most and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return tail


def _slide(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of a window that moved on: a front is gone, the rest starts `new`."""
    if not old or not new:
        return []
    gone = next((i for i, item in enumerate(old) if item == new[0]), len(old))
    stayed = len(old) - gone
    if 0 < stayed <= len(new) and old[gone:] == new[:stayed]:
        return [(gone + k, k) for k in range(stayed)]
    return []


def _matches(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    counts, others = Counter(old), Counter(new)
    weight = sum(count * others[item] for item, count in counts.items() if item in others)
    repeated = weight > sum((counts & others).values())
    pairs = []
    if repeated and weight <= MATCHER_BUDGET:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        for run in matcher.get_matching_blocks():
            pairs += [(run.a + k, run.b + k) for k in range(run.size)]
    taken_old, taken_new = {i for i, _ in pairs}, {j for _, j in pairs}
    waiting: defaultdict[int, deque[int]] = defaultdict(deque)
    for i, item in enumerate(old):
        if i not in taken_old and item in others:
            waiting[item].append(i)
    for j, item in enumerate(new):
        if j not in taken_new and waiting.get(item):
            pairs.append((waiting[item].popleft(), j))
    return pairs


def _left_over(length: int, taken: set[int]) -> tuple[int, ...]:
    if len(taken) == length:
        return ()
    return tuple(i for i in range(length) if i not in taken)
