"""The page on threats says what the tests measure, and what it names exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trust.goals import GOALS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "threat-model.md"
COMMAND = "CTXDIFF_STRESS=1 pytest tests/trust -s"
FEW = ("frames/test_ordinary_use.py", "-k", "escaped")


def figures(text: str) -> list[list[str]]:
    """The cells of the printed table's rows."""
    _, head, rest = text.partition("| what | attempts | found | limit |")
    assert head, "there is no table"
    lines = [line for line in rest.splitlines()[2:] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_gives_a_figure_for_each_promise_and_all_are_kept() -> None:
    rows = figures(PAGE.read_text(encoding="utf-8").partition("\n### ")[0])
    assert [row[0] for row in rows] == [row.what for row in GOALS]
    assert [row for row in rows if not row[-1].endswith(": kept")] == []


def test_what_the_page_names_exists() -> None:
    named = re.findall(r"`((?:tests|ctxdiff_mcp|docs)/[\w/.]+)`", PAGE.read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.slow
def test_the_command_of_the_page_prints_each_promise() -> None:
    _, *arguments = COMMAND.split()
    assert COMMAND in PAGE.read_text(encoding="utf-8")
    assert arguments == ["pytest", "tests/trust", "-s"]
    # The same for a quick file of the folder: the whole is what this test is part of.
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", "-q", *FEW],
        cwd=ROOT / "tests" / "trust",
        env={name: value for name, value in os.environ.items() if name != "CTXDIFF_STRESS"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    printed = figures(done.stdout)
    assert [row[0] for row in printed] == [row.what for row in GOALS]
    assert any(row[-1].endswith(": kept") for row in printed)
