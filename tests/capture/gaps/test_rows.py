"""The page of gaps, the table of tests and the tests themselves agree."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.analyzers.cases import SHARED
from tests.capture.gaps.rows import OPEN, ROWS

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "peer.md"
LISTED = SHARED / "spec" / "peer-capture-gaps.md"
_ROW = re.compile(r"^\| ([A-F]\d*) \|([^\n]*)\|$", re.MULTILINE)


def page() -> dict[str, list[str]]:
    """By row: what it is about, the peer's answer, ours."""
    text = PAGE.read_text(encoding="utf-8")
    return {row: [cell.strip() for cell in cells.split(" | ")] for row, cells in _ROW.findall(text)}


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / "capture" / f"{file}.py").read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_the_page_has_the_rows_of_the_table() -> None:
    assert list(page()) == list(ROWS)


def test_each_row_of_the_page_says_three_things() -> None:
    assert [row for row, cells in page().items() if len(cells) != 3 or not all(cells)] == []


def test_the_page_says_where_our_answer_is_not_whole() -> None:
    assert {row for row, cells in page().items() if "**open**" in cells[-1]} == OPEN


@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_tests_that_exist(row: str) -> None:
    named = [test.split("::") for test in ROWS[row]]
    assert named
    assert [(file, name) for file, name in named if name not in functions_of(file)] == []


@pytest.mark.skipif(not LISTED.is_file(), reason=f"the list of gaps is not at {LISTED}")
def test_every_gap_that_is_listed_is_a_row() -> None:
    listed = re.findall(r"^\| ([A-D]\d+) \|", LISTED.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed
    assert [row for row in listed if row not in ROWS] == []
