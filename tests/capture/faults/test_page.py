"""docs/faults.md and the tests of this folder speak of the same rows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = Path(__file__).resolve().parents[3] / "docs" / "faults.md"
ROW = re.compile(r"^\| `([^`]+)` \|(.+)\|(.+)\|(.+)\|$", re.MULTILINE)


def names_tested() -> set[str]:
    """What each `pytest.mark.fault("...")` of this folder names."""
    return {
        ast.literal_eval(call.args[0])
        for path in HERE.glob("test_*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.fault"
    }


def test_each_row_of_the_page_has_a_test_and_each_test_a_row() -> None:
    rows = [name for name, *_ in ROW.findall(PAGE.read_text(encoding="utf-8"))]

    assert sorted(rows) == sorted(names_tested())


def test_each_row_says_what_happens_and_what_either_keeps() -> None:
    for name, *cells in ROW.findall(PAGE.read_text(encoding="utf-8")):
        assert all(cell.strip() for cell in cells), name
