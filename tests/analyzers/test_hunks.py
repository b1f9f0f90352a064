from __future__ import annotations

from time import process_time

import pytest
from ctxdiff_analyzers.hunks import Budget, Segment, hunk, text_diff
from hypothesis import given, settings
from hypothesis import strategies as st

texts = st.one_of(
    st.text(alphabet="ab \n,", max_size=60),
    st.lists(st.sampled_from(["the ", "order ", "ships ", "late\n", "é"]), max_size=40).map(
        "".join
    ),
)
PROSE = "The order 42 ships on Monday, unless the depot is closed for stock taking.\n"


def pieces(old: str, new: str, budget: Budget | None = None) -> list[tuple[str, str]]:
    return [
        (s.op, old[s.old_start : s.old_end] or new[s.new_start : s.new_end])
        for s in text_diff(old, new, budget).spans
    ]


def test_one_changed_character_is_one_change() -> None:
    assert pieces("price is 10 EUR", "price is 12 EUR") == [
        ("equal", "price is 1"),
        ("delete", "0"),
        ("insert", "2"),
        ("equal", " EUR"),
    ]


def test_short_texts_are_compared_by_characters() -> None:
    assert pieces("abcdef", "axcdzf") == [
        ("equal", "a"),
        ("delete", "b"),
        ("insert", "x"),
        ("equal", "cd"),
        ("delete", "e"),
        ("insert", "z"),
        ("equal", "f"),
    ]


def test_unrelated_texts_are_replaced_whole_and_not_a_letter_soup() -> None:
    old, new = "refund policy for order 42?", "Berlin weather today, please"
    assert pieces(old, new) == [("delete", old), ("insert", new)]


def test_equal_texts_have_no_first_difference() -> None:
    found = text_diff("same", "same")
    assert (found.first_diff_char, found.equal_chars, len(found.spans)) == (None, 4, 1)


@settings(deadline=None)
@given(texts, texts, st.sampled_from([0, 20, 40_000]))
def test_the_spans_rebuild_both_texts(old: str, new: str, steps: int) -> None:
    found = text_diff(old, new, Budget(steps=steps))
    assert "".join(old[s.old_start : s.old_end] for s in found.spans) == old
    assert "".join(new[s.new_start : s.new_end] for s in found.spans) == new
    equal = [s for s in found.spans if s.op == "equal"]
    assert all(old[s.old_start : s.old_end] == new[s.new_start : s.new_end] for s in equal)
    assert found.equal_chars + found.deleted_chars == len(old)
    assert found.equal_chars + found.inserted_chars == len(new)


@settings(deadline=None)
@given(texts, texts)
def test_the_first_difference_is_where_the_texts_part(old: str, new: str) -> None:
    shared = next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    assert text_diff(old, new).first_diff_char == (None if old == new else shared)


@settings(deadline=None)
@given(texts, texts, st.integers(0, 80), st.integers(0, 12))
def test_a_hunk_stays_within_its_budget(old: str, new: str, most: int, context: int) -> None:
    found = hunk(old, new, Budget(max_chars=most, context_chars=context))
    assert sum(len(segment.text) for segment in found.segments) <= most


def test_a_change_in_a_long_text_is_shown_with_little_around_it() -> None:
    old = "x" * 5_000 + " one " + "y" * 5_000
    found = hunk(old, old.replace("one", "two"), Budget(context_chars=5))
    assert found.segments == (
        Segment("equal", "xxxx ", omitted_before=4_996),
        Segment("delete", "one"),
        Segment("insert", "two"),
        Segment("equal", " yyyy", omitted_after=4_996),
    )


@pytest.mark.parametrize(
    ("name", "old", "new", "most_ms"),
    [
        ("a clock", "12:00:01 " + PROSE * 530, "12:00:02 " + PROSE * 530, 5),
        ("one letter", "a" * 30_000, "a" * 29_000 + "b", 50),
        ("shifted", "ab" * 20_000, "ba" * 20_000, 50),
        ("rewritten", PROSE * 13_000, PROSE.upper()[::-1] * 13_000, 50),
        ("many lines", "a\nb\n" * 4_000, "b\nc\n" * 4_000, 50),
    ],
)
def test_the_cost_is_bounded(name: str, old: str, new: str, most_ms: int) -> None:
    best = min(_milliseconds(old, new) for _ in range(3))
    # A loaded machine is slow, and no machine turns milliseconds into the peer's seconds.
    assert best < 10 * most_ms, f"{name}: {best:.1f} ms, goal {most_ms} ms"


def _milliseconds(old: str, new: str) -> float:
    start = process_time()
    text_diff(old, new)
    return (process_time() - start) * 1_000
