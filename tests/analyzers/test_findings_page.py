"""docs/findings.md and the closed sets of codes and causes say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import CAUSES, Code

from tests.analyzers import outcome_faults
from tests.analyzers.faults import FAULTS
from tests.analyzers.scripts import SCRIPTS
from tests.analyzers.wire import SURFACES, recorded

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"
ROW = re.compile(r"^\| `(\w+)` \| .+ \| (.*)\|$", re.MULTILINE)
assert outcome_faults.CUT


def test_the_page_lists_every_code_once_with_its_causes() -> None:
    rows = ROW.findall(PAGE.read_text("utf-8"))
    told = {code: frozenset(re.findall(r"`(\w+)`", causes)) for code, causes in rows}
    known = {code: CAUSES.get(code, frozenset()) for code in get_args(Code)}
    # The page spells the causes of a lost cache by naming whose they are.
    known["cache_break"] = frozenset(("model_changed", "params_changed"))
    assert len(rows) == len(told)
    assert told == known


@pytest.mark.parametrize("name", FAULTS)
def test_every_cause_is_one_of_its_code(name: str, tmp_path: Path) -> None:
    made = (FAULTS[name](surface, script) for surface in SURFACES for script in SCRIPTS)
    faulty = next(one for one in made if one is not None)
    timeline = recorded(faulty.log, tmp_path)
    for turn in timeline.turns:
        for finding in explain(timeline, turn.seq, window=faulty.window).findings:
            assert finding.cause is None or finding.cause in CAUSES[finding.code]
