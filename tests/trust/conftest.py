"""Prints the table of promises after a run of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trust.goals import GOALS, IS_FULL


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let full numbers of attempts take the time that they need."""
    for item in items if IS_FULL else ():
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(7_200), append=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tried = [row for row in GOALS if row.measured is not None]
    if not tried:
        return
    size = "full numbers" if IS_FULL else "few attempts; CTXDIFF_STRESS=1 makes all"
    terminalreporter.section(f"promises, {size}")
    terminalreporter.line("| what | attempts | found | limit |")
    terminalreporter.line("|---|--:|--:|--:|")
    for row in GOALS:
        terminalreporter.line(row.line())
