from __future__ import annotations

from collections import Counter

from ctxdiff_analyzers.align import Alignment, align, in_order
from hypothesis import given, settings
from hypothesis import strategies as st

lists = st.lists(st.integers(0, 6), max_size=14)


def test_a_moved_item_is_paired_where_it_went() -> None:
    assert align([1, 2, 3, 4], [1, 3, 2, 4]) == Alignment(((0, 0), (2, 1), (1, 2), (3, 3)), (), ())


def test_surplus_copies_are_left_over() -> None:
    assert align([1, 2, 2, 3], [1, 2, 3]) == Alignment(((0, 0), (1, 1), (3, 2)), (2,), ())


def test_a_window_that_moved_on_loses_its_front() -> None:
    assert align([9, 1, 2, 3], [9, 2, 3, 4]) == Alignment(((0, 0), (2, 1), (3, 2)), (1,), (3,))


@settings(deadline=None)
@given(lists, lists)
def test_every_index_is_accounted_for_once(old: list[int], new: list[int]) -> None:
    found = align(old, new)
    assert sorted([i for i, _ in found.pairs] + list(found.only_old)) == list(range(len(old)))
    assert sorted([j for _, j in found.pairs] + list(found.only_new)) == list(range(len(new)))
    assert all(old[i] == new[j] for i, j in found.pairs)


@settings(deadline=None)
@given(lists, lists)
def test_as_many_are_paired_in_either_direction(old: list[int], new: list[int]) -> None:
    both = sum((Counter(old) & Counter(new)).values())
    assert len(align(old, new).pairs) == len(align(new, old).pairs) == both


@settings(deadline=None)
@given(st.permutations(range(8)))
def test_what_did_not_move_ascends_on_both_sides_and_is_as_long_as_can_be(
    order: list[int],
) -> None:
    pairs = [(i, j) for j, i in enumerate(order)]
    kept = in_order(pairs)
    longest = 0
    for bits in range(1 << 8):
        some = [pair[0] for k, pair in enumerate(pairs) if bits >> k & 1]
        if some == sorted(some):
            longest = max(longest, len(some))
    assert [i for i, _ in kept] == sorted(i for i, _ in kept)
    assert set(kept) <= set(pairs)
    assert len(kept) == longest


def test_repeated_items_in_thousands_are_aligned_at_once() -> None:
    old = [1, 2] * 2_000
    new = [2, 1] * 2_000
    assert len(align(old, new).pairs) == 4_000
