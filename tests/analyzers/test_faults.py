"""Faults that were put into healthy conversations are found first, at their turn, and no others."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.timeline import Timeline

from tests.analyzers import outcome_faults
from tests.analyzers.faults import FAULTS, clean
from tests.analyzers.scripts import SCRIPTS, Script
from tests.analyzers.wire import SURFACES, recorded

WINDOW = 200_000
PAIRS = list(product(SURFACES, SCRIPTS))
assert outcome_faults.CUT


def chosen() -> list[object]:
    """Each fault on four surfaces and scripts, other ones for each."""
    found = []
    for number, name in enumerate(FAULTS):
        of_fault = [(s, c) for s, c in PAIRS if FAULTS[name](s, c) is not None]
        for step in range(4):
            surface, script = of_fault[(number * 7 + step * 11) % len(of_fault)]
            id_ = f"{name}-{surface}-{script.name}"
            found.append(pytest.param(name, surface, script, id=id_))
    return found


def told(timeline: Timeline, turn: int) -> list[tuple[str, int]]:
    """Codes and turns, without the remark that a short prompt is too short to be cached."""
    return [
        (finding.code, finding.turn)
        for finding in explain(timeline, turn, window=WINDOW).findings
        if finding.cause != "below_min_cacheable"
    ]


@pytest.mark.parametrize(("name", "surface", "script"), chosen())
def test_a_fault_is_told_first_at_its_turn(
    name: str, surface: str, script: Script, tmp_path: Path
) -> None:
    faulty = FAULTS[name](surface, script)
    assert faulty is not None
    found = told(recorded(faulty.log, tmp_path), faulty.turn)
    assert found
    assert found[0][0] in faulty.codes, found
    assert found[0][1] == faulty.turn


@pytest.mark.parametrize(
    ("surface", "script"),
    [pytest.param(s, c, id=f"{s}-{c.name}") for n, (s, c) in enumerate(PAIRS) if n % 2 == 0],
)
def test_a_healthy_conversation_has_no_finding_at_any_turn(
    surface: str, script: Script, tmp_path: Path
) -> None:
    timeline = recorded(clean(surface, script), tmp_path)
    assert {turn.seq: told(timeline, turn.seq) for turn in timeline.turns} == {
        turn.seq: [] for turn in timeline.turns
    }
