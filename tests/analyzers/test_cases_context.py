"""Cases from real reports about what was in the context (area B)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analyzers import cases

REPORTED = cases.cases("B")
NOT_YET = ("B21",)
"""Cases that are not answered yet; each is removed by the change that answers it."""


def params(reported: list[cases.Json]) -> list[object]:
    marks = {True: [pytest.mark.xfail(reason="not answered yet")], False: []}
    return [
        pytest.param(case, id=case["id"], marks=marks[case["id"].startswith(NOT_YET)])
        for case in reported
    ]


@pytest.mark.skipif(not REPORTED, reason=cases.ABSENT)
@pytest.mark.parametrize("case", params(REPORTED))
def test_a_reported_case_is_answered_as_its_reporter_needed(
    case: cases.Json, tmp_path: Path
) -> None:
    assert cases.problems(cases.ask(case, tmp_path)) == []
