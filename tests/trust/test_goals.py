"""The table of promises says what was measured."""

from __future__ import annotations

import pytest

from tests.trust.goals import Row


def test_failures_add_up_and_break_a_promise() -> None:
    row = Row("a promise")
    assert (row.is_kept, row.line()) == (False, "| a promise | not tried | | |")
    row.add(10, part="strings")
    assert (row.is_kept, row.line()) == (True, "| a promise | 10 (strings: 10) | 0 | 0: kept |")
    row.add(2_000, 1)
    row.add(1, part="strings")
    assert row.line() == "| a promise | 2,011 (strings: 11) | 1 | 0: BROKEN |"


@pytest.mark.parametrize(("measured", "verdict"), [(5.0, "kept"), (5.1, "BROKEN")])
def test_of_a_measure_the_largest_counts(measured: float, verdict: str) -> None:
    row = Row("seconds", 5, "s")
    for seconds in (1.0, measured, 2.0):
        row.add(1, seconds)
    assert row.line() == f"| seconds | 3 | {measured:g} | 5 s: {verdict} |"
