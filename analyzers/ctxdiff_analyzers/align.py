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

    Repeated items are paired by the longest common runs (Ratcliff/Obershelp, no junk), surplus
    copies first come, first served.
    """
    head = common_start(old, new)
    if head == min(len(old), len(new)):
        pairs = [(i, i) for i in range(head)]
    else:
        places = {item: i for i, item in enumerate(old)}
        if len(places) == len(old) and len(set(new)) == len(new):
            pairs = [(places[item], j) for j, item in enumerate(new) if item in places]
        else:
            pairs = sorted(_matches(old, new, head), key=lambda pair: pair[1])
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
    """A longest choice of pairs that ascend on both sides: what did not move.

    Args:
        pairs: ascending by new index, each index once.
    """
    if (order := [i for i, _ in pairs]) == sorted(order):
        return list(pairs)
    ends: list[int] = []  # smallest old index that ends a chain of each length
    chain: list[int] = []  # for each pair the length of the longest chain that it ends, minus 1
    for i in order:
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


def _matches(old: Sequence[int], new: Sequence[int], head: int) -> list[tuple[int, int]]:
    counts, others = Counter(old), Counter(new)
    weight = sum(count * others[item] for item, count in counts.items() if item in others)
    if weight <= MATCHER_BUDGET:
        runs = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        pairs = [(run.a + k, run.b + k) for run in runs for k in range(run.size)]
    else:
        pairs = [(i, i) for i in range(head)]
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
