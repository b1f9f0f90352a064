"""The cases of area A, a lost or unused cache: every expectation through the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.answers.cache import cache
from ctxdiff_mcp.gate.raw import raw
from tests.analyzers.cases import ABSENT, CHECKS, Asked, Found, ask, cases, problems


def cache_break_at_turn(asked: Asked, expected: Mapping[str, Any]) -> str | None:
    turn = expected["cache_break_at_turn"]
    found = [
        one
        for one in asked.findings(turn)
        if one.row.code == "cache_break" and one.row.turn == turn
    ]
    if not found:
        return f"no break among {list(asked.findings(turn))}"
    (one,) = found
    wrong = [key for key, shown in _shown(one).items() if not _holds(key, expected, shown)]
    return f"{one} has other {wrong}: {_shown(one)}" if wrong else None


def cross_session_break(asked: Asked, expected: Mapping[str, Any]) -> str | None:
    earlier, later = map(asked.run_of, expected["cross_session_break"])
    found = [
        one
        for one in cache(asked.source, later).sessions
        if (raw(one.earlier.name.text), raw(one.later.name.text)) == (earlier, later)
    ]
    if len(found) != 1:
        return f"not one break but {found}"
    (one,) = found
    old, new = map(raw, one.excerpts)
    shown = {
        "culprit_section": one.section,
        "culprit_path": one.path,
        "cause": one.cause,
        "first_diff_char": one.first_difference,
        "reusable_sections": list(one.reusable),
        "old_excerpt": old,
        "new_excerpt": new,
    }
    wrong = [key for key, value in shown.items() if not _holds(key, expected, value)]
    return f"other {wrong}: {shown}" if wrong else None


def _shown(one: Found) -> dict[str, Any]:
    old, new = (*one.excerpts, "", "")[:2]
    return {
        "culprit_path": one.path,
        "cause": one.row.cause,
        "first_diff_char": one.row.first_difference,
        "reusable_sections": list(one.row.reusable),
        "old_excerpt": old,
        "new_excerpt": new,
    }


def _holds(key: str, expected: Mapping[str, Any], shown: Any) -> bool:
    if key not in expected:
        return True
    wanted = expected[key]
    if key.endswith("_excerpt"):
        return bool(shown.startswith(wanted) and (wanted or not shown))
    return bool(shown == wanted)


@pytest.mark.skipif(not cases("A"), reason=ABSENT)
@pytest.mark.parametrize("case", cases("A"), ids=lambda case: case["id"])
def test_a_reported_case_is_answered_as_its_reporter_needed(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CHECKS, "cache_break_at_turn", cache_break_at_turn)
    monkeypatch.setitem(CHECKS, "cross_session_break", cross_session_break)
    assert problems(ask(case, tmp_path)) == []
