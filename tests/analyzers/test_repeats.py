"""What one text says twice, and what it repeats by nature."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ctxdiff_analyzers.repeats import (
    doubled,
    doubled_in_result,
    passage_twice,
    repeated,
    windows,
)
from hypothesis import given
from hypothesis import strategies as st

RULE = "Hand the tools out only against a signature, and note the deposit in euro."
ROWS = {"rows": [{"tool": "saw", "shelf": 4}, {"tool": "drill", "shelf": 9}]}
SPELLED = json.dumps(ROWS)


@pytest.mark.parametrize(
    ("text", "piece", "copies"),
    [
        (f"You keep tools.\n\n{RULE}\n\n{RULE}", RULE, 2),
        (f"You keep tools.\n\n{RULE}\n\n{RULE}\n\n{RULE}\n", RULE, 3),
        (f"Rules:\n{RULE}\nBe kind.\n{RULE}", RULE, 2),
        (f"{RULE}{RULE}", RULE, 2),
        (f"{RULE}\n\n{RULE}", RULE, 2),
        (f"A\n\n{RULE}\nMore here, and more words.\n\nB\n\n{RULE}\nMore here, and more words.", f"{RULE}\nMore here, and more words.", 2),
    ],
)  # fmt: skip
def test_a_paragraph_or_line_that_is_said_again_is_found(
    text: str, piece: str, copies: int
) -> None:
    found = repeated(text)
    assert found is not None
    assert (found.piece, found.copies) == (piece, copies)
    assert text[found.second_at :].startswith(piece)


@pytest.mark.parametrize(
    "text",
    [
        "",
        RULE,
        "- yes\n- no\n- yes\n- no",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "----------------------------------------\n----------------------------------------",
        f"{RULE} {RULE[:30]}",
        "pump one: idle\npump two: idle\n\npump one: idle\npump two: idle\npump three: idle",
        "| a | b | c | d |\n|---|---|---|---|\n| 1 | 2 | 3 | 4 |\n|---|---|---|---|",
    ],
)
def test_short_pieces_and_patterns_are_repeated_by_nature(text: str) -> None:
    assert repeated(text) is None


def test_lines_are_left_alone_where_only_paragraphs_count() -> None:
    log = f"{RULE}\nsomething else came in between\n{RULE}"
    assert repeated(log, paragraphs_only=True) is None


@pytest.mark.parametrize(
    "content",
    [
        f"{SPELLED}\n<structured>{json.dumps(ROWS, separators=(',', ':'))}</structured>",
        f"{SPELLED}\n{SPELLED}",
        f"{RULE}\n\n{RULE}",
        json.dumps({"content": [{"type": "text", "text": SPELLED}], "structuredContent": ROWS}),
        {"content": [{"type": "text", "text": SPELLED}], "structuredContent": ROWS},
        [{"type": "text", "text": RULE}, {"type": "text", "text": RULE}],
        f"The rows are {SPELLED} and, as a value, {json.dumps(ROWS, indent=2)}.",
    ],
)
def test_a_payload_that_a_result_holds_twice_is_found(content: Any) -> None:
    found = doubled_in_result(content)
    assert found is not None
    assert found.copies == 2


@pytest.mark.parametrize(
    "content",
    [
        "",
        None,
        SPELLED,
        ROWS,
        {"rows": [ROWS["rows"][0], ROWS["rows"][0]], "text": "two equal rows are two rows"},
        "[1] [1] [2] [2]",
        "{} {} [] []",
        "ok ok",
        [{"type": "text", "text": "ok"}, {"type": "text", "text": "ok"}],
        json.dumps({"text": "[]", "list": []}),
        "a" * 300,
        "word " * 400,
        "10:00 the pump of the yard does not answer\n" * 6,
        '[{"a": ' * 60,
    ],
)
def test_equal_rows_and_small_values_are_no_copies(content: Any) -> None:
    assert doubled_in_result(content) is None


def test_overlapping_pieces_of_a_text_share_windows() -> None:
    lines = [f"line {n}: tool number {n * 37 % 101} stands on its shelf" for n in range(60)]
    first, second = windows("\n".join(lines[:40])), windows("\n".join(lines[25:]))
    assert len(first & second) == 13
    assert not windows("\n".join(lines[:30])) & windows("\n".join(lines[30:]))


@given(st.text(max_size=200) | st.text('ab \n{}[]"', max_size=200))
def test_any_text_is_read_without_harm(text: str) -> None:
    repeated(text)
    doubled_in_result(text)
    windows(text)


@given(st.text("abcdefgh ", min_size=20, max_size=80), st.sampled_from(["", " ", "\n", "\n\n"]))
def test_a_text_that_is_itself_twice_is_found(text: str, between: str) -> None:
    piece = f"x{text.strip()}y"
    found = doubled(f"{piece}{between}{piece}")
    is_pattern = len(set(piece)) <= 3 or any(
        piece.startswith(piece[n:]) for n in range(1, len(piece) // 2 + 1)
    )
    if not is_pattern:
        assert found is not None
        assert found.copies == 2


PASSAGE = (
    "Members may borrow up to four tools for nine days each, and one of them may be a machine. "
    "Whoever brings a machine back without cleaning it pays eight euro, and whoever brings it back "
    "broken pays what the repair costs, up to the price of a new one."
)
CLAUSES = "\n".join(f"{n}. {part}." for n, part in enumerate(PASSAGE[:-1].split(". "), 1))
TRACE = "\n".join(
    f'  File "/srv/yard/{name}.py", line {n}, in {name}\n    return step(self.store, name, {n})'
    for n, name in enumerate(("open", "read", "lend", "give", "book", "save"), 11)
)
REGEL = (
    "会員は工具を四つまで九日間借りることができ、そのうち一つは機械でもよい。掃除をせずに返した者は八ユーロを払う。"
    * 4
)


@pytest.mark.parametrize(
    "text",
    [
        f"[1] {PASSAGE}\n[2] {PASSAGE}\nWhat do I pay?",
        f"(a) {PASSAGE}\n(b) Other words.\n(c) {PASSAGE}",
        f"- {PASSAGE}\nand once more\n- {PASSAGE}",
        f"doc-4: {PASSAGE}\ndoc-9: {PASSAGE}",
        f"【1】 {PASSAGE}\n【2】 {PASSAGE}",
    ],
)
def test_a_passage_that_comes_again_under_another_name_is_found(text: str) -> None:
    found = passage_twice(text)
    assert found is not None
    assert (found.piece, found.copies) == (PASSAGE, 2)
    assert text[found.second_at :].startswith(PASSAGE)


def test_a_passage_of_several_lines_is_found_whole() -> None:
    found = passage_twice(f"<ctx>\n[a] {CLAUSES}\n[b] {CLAUSES}\n</ctx>\nWhat now?")
    assert found is not None
    assert (found.piece, found.copies) == (CLAUSES.removeprefix("1. "), 2)


def test_a_passage_without_spaces_is_one_by_its_full_stops() -> None:
    found = passage_twice(f"[1] {REGEL}\n[2] {REGEL}")
    assert found is not None
    assert found.piece == REGEL


@pytest.mark.parametrize(
    "text",
    [
        PASSAGE,
        f"[1] {PASSAGE}\n[2] {PASSAGE.replace('nine', 'ten')}",
        f"[1] {PASSAGE[:150]}\n[2] {PASSAGE[:150]}",
        "\n".join(["x=1;" * 90] * 3),
        "\n".join([",".join(map(str, range(120)))] * 2),
        f"{TRACE}\nand again\n{TRACE}",
        "\n".join([PASSAGE[:60] + "."] * 9),
        "",
    ],
)
def test_altered_and_short_passages_and_rows_are_left_alone(text: str) -> None:
    assert passage_twice(text) is None
