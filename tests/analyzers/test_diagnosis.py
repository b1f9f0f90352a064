"""The set of diagnosed conversations: imported, asked by the command line, scored by its script.

The set is no part of this repository: `CTXDIFF_SHARED` names the folder that holds
`diagnosis/dev` and `diagnosis/score.py`; the test skips where it is absent.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.importers.base import import_log

from ctxdiff_mcp.__main__ import main

SET = Path(os.environ.get("CTXDIFF_SHARED", "/work/shared")) / "diagnosis"
CASES = sorted(path.parent for path in SET.glob("dev/*/case.json"))


@pytest.fixture(scope="module")
def score(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The set's own score of our answers, and what it misses."""
    if not CASES:
        pytest.skip(f"no diagnosed conversations at {SET} (set CTXDIFF_SHARED)")
    answers = tmp_path_factory.mktemp("answers")
    traces = tmp_path_factory.mktemp("traces")
    for case in CASES:
        (answers / f"{case.name}.json").write_text(answered(case, traces), encoding="utf-8")
    result = answers.parent / "score.json"
    judged = subprocess.run(
        [sys.executable, SET / "score.py", SET / "dev", answers, "--json", result, "--misses"],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(result.read_text(encoding="utf-8")), judged.stdout.partition("Misses")[2]


def answered(case: Path, traces: Path) -> str:
    """What `ctxdiff-mcp explain --json` prints about the turn that the case asks about."""
    asked = json.loads((case / "case.json").read_text(encoding="utf-8"))
    trace = traces / f"{case.name}.ctrace"
    import_log(case / asked["log"], trace)
    window = asked.get("context_window")
    flags = ["--context-window", str(window)] if window else []
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        turn = str(asked["ask_turn"])
        assert main(["explain", "--project", str(trace), "--turn", turn, "--json", *flags]) == 0
    return printed.getvalue()


def test_the_cause_is_named_first_in_95_of_100_and_among_three_always(score: Any) -> None:
    result, misses = score
    found = result["all"]
    assert found["top1"] >= 0.95 * found["n"], misses
    assert found["top3"] == found["n"], misses


def test_of_two_faults_the_likelier_cause_comes_first(score: Any) -> None:
    result, misses = score
    assert result["double"]["right_order"] >= 0.9 * result["double"]["n"], misses


@pytest.mark.parametrize("kind", ["clean", "clean_several_agents"])
def test_a_conversation_without_a_fault_raises_no_alarm(score: Any, kind: str) -> None:
    result, misses = score
    assert result[kind]["n"] > 0
    assert result[kind]["alarms"] == 0, misses
