"""Longest common runs of two sequences under a budget (Myers 1986, greedy, forward)."""

from __future__ import annotations

from collections.abc import Sequence


class Steps:
    """A budget that several searches share."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, count: int) -> bool:
        """Take `count` steps; False when they are not there any more."""
        self.left -= count
        return self.left >= 0


def equal_runs(
    old: Sequence[str], new: Sequence[str], steps: Steps
) -> list[tuple[int, int, int]] | None:
    """Runs (old index, new index, length) of a longest common subsequence, in order.

    None when the budget did not suffice. Items that only one side has cost nothing.
    """
    common = set(old) & set(new)
    kept_old = [i for i, item in enumerate(old) if item in common]
    kept_new = [j for j, item in enumerate(new) if item in common]
    found = _pairs([old[i] for i in kept_old], [new[j] for j in kept_new], steps)
    if found is None:
        return None
    runs: list[tuple[int, int, int]] = []
    for x, y in found:
        i, j = kept_old[x], kept_new[y]
        if runs and runs[-1][0] + runs[-1][2] == i and runs[-1][1] + runs[-1][2] == j:
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((i, j, 1))
    return runs


def _pairs(old: list[str], new: list[str], steps: Steps) -> list[tuple[int, int]] | None:
    ends = {1: 0}  # diagonal -> furthest old index reached on it
    trail: list[dict[int, int]] = []
    for edits in range(len(old) + len(new) + 1):
        trail.append(ends.copy())
        if not steps.spend(edits + 1):
            return None
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and ends[diagonal - 1] < ends[diagonal + 1]
            )
            x = ends[diagonal + 1] if down else ends[diagonal - 1] + 1
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            ends[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _walked_back(trail, len(old), len(new))
    return []


def _walked_back(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs = []
    for edits in range(len(trail) - 1, -1, -1):
        ends = trail[edits]
        diagonal = x - y
        down = diagonal == -edits or (diagonal != edits and ends[diagonal - 1] < ends[diagonal + 1])
        came_from = diagonal + 1 if down else diagonal - 1
        start_x = ends[came_from]
        start_y = start_x - came_from
        while x > start_x and y > start_y and x > 0 and y > 0:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = start_x, start_y
    return pairs[::-1]
