"""Small pieces of text: names, snippets, edits, spans of turns, the next command."""

from __future__ import annotations

from typing import get_args

import pytest
from ctxdiff_analyzers.findings import NextCall
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.answers.diff import Edit, Piece
from ctxdiff_mcp.answers.explain import ChosenBy
from ctxdiff_mcp.gate.captured import Captured
from ctxdiff_mcp.text.block import numbers
from ctxdiff_mcp.text.diff import edited
from ctxdiff_mcp.text.explain import CHOSEN, command
from ctxdiff_mcp.text.shown import paragraphs, shown, snippet


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words, שלום, 你好", "plain words, שלום, 你好"),
        ("two\nlines\tand a tab", "two⏎lines⇥and a tab"),
        ("\x1b[31mred", "⟦1B⟧[31mred"),
        ("left\u202eright", "left⟦202E⟧right"),
    ],
)
def test_what_acts_on_a_terminal_is_shown(text: str, expected: str) -> None:
    assert shown(Captured(text)) == expected


def test_a_snippet_folds_blanks_and_is_cut_with_an_ellipsis() -> None:
    assert snippet(Captured("  one\n\n two\t three ")) == "'one two three'"
    assert snippet(Captured("x" * 100)) == f"'{'x' * 70}…'"
    assert snippet(Captured("x" * 70)) == f"'{'x' * 70}'"


def test_the_lines_of_a_block_stay_lines() -> None:
    assert paragraphs(Captured("a\n\tb\x1b\n")) == ["a", "    b⟦1B⟧", ""]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [((), ""), ((4,), "4"), ((1, 2, 3, 7), "1-3, 7"), ((1, 3, 5), "1, 3, 5")],
)
def test_turns_that_follow_each_other_are_a_span(turns: tuple[int, ...], expected: str) -> None:
    assert numbers(turns) == expected


@given(st.sets(st.integers(1, 60)))
def test_spans_name_every_turn_once(turns: set[int]) -> None:
    named: list[int] = []
    for span in filter(None, numbers(sorted(turns)).split(", ")):
        first, _, last = span.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == sorted(turns)


def test_an_edit_shows_what_was_left_out() -> None:
    pieces = (
        Piece("equal", Captured("the price is "), 900, 0),
        Piece("delete", Captured("10"), 0, 40),
        Piece("insert", Captured("12"), 0, 0),
    )
    edit = Edit(pieces, 913, 42, 2, 913, "characters", truncated=True)
    assert edited(edit) == "…the price is [-10…-]{+12+} …"


def test_every_reason_to_choose_a_turn_has_words() -> None:
    assert set(CHOSEN) == set(get_args(ChosenBy))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            NextCall("ctxdiff_diff", (("turn_a", 7), ("turn_b", 8))),
            "ctxdiff-mcp diff --turn 7 --turn 8",
        ),
        (NextCall("ctxdiff_block", (("content_hash", "9c1e44aa"),)), "ctxdiff-mcp block 9c1e44aa"),
        (NextCall("ctxdiff_tokens", (("turn", 8),)), "ctxdiff-mcp tokens --turn 8"),
        (
            NextCall("ctxdiff_block", (("turn", 8), ("position", 3))),
            "ctxdiff-mcp block --turn 8 --position 3",
        ),
    ],
)
def test_the_next_question_is_spelled_as_a_command(call: NextCall, expected: str) -> None:
    assert command(call) == expected
