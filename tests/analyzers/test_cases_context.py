"""Cases from real reports about what was in the context (area B)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analyzers import cases

REPORTED = cases.cases("B")


@pytest.mark.skipif(not REPORTED, reason=cases.ABSENT)
@pytest.mark.parametrize("case", REPORTED, ids=[case["id"] for case in REPORTED])
def test_a_reported_case_is_answered_as_its_reporter_needed(
    case: cases.Json, tmp_path: Path
) -> None:
    assert cases.problems(cases.ask(case, tmp_path)) == []
