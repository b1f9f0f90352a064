"""`ctxdiff-mcp diff RUN_A RUN_B`: a good run against a bad one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
Trace = Callable[..., Path]

GOOD = [("system", "Be brief."), ("user", "How many are left?")]


def answered(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "model": "gpt-5",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }


def calls(second: str, session: str) -> list[dict[str, Any]]:
    history = [*GOOD, ("assistant", "Twelve."), ("user", second)]
    return [
        {"messages": GOOD, "response": answered("Twelve."), "session": session},
        {"messages": history, "response": answered("Done."), "session": session},
    ]


@pytest.fixture
def runs(ctxdiff: Cli, trace: Trace) -> tuple[Path, str, str]:
    """A trace of two sessions, the good one first."""
    path = trace(*calls("Order 40.", "good"), *calls("Order 4.", "bad"))
    rows = json.loads(ctxdiff("runs", "--project", path, "--json").out)["runs"]
    ids = {row["turn_count"]: row["session_id"] for row in rows}
    assert len(rows) == 2
    assert ids
    listed = [row["session_id"] for row in rows]
    first = json.loads(
        ctxdiff("search", "Order 40.", "--project", path, "--session", listed[0], "--json").out
    )
    good = listed[0] if first["matches"] else listed[1]
    return path, good, next(one for one in listed if one != good)


def test_two_sessions_of_a_trace_part_where_they_do(
    ctxdiff: Cli, runs: tuple[Path, str, str]
) -> None:
    path, good, bad = runs
    done = ctxdiff("diff", good[:12], bad[:12], "--project", path)
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        f"── {good[:12]}  →  {bad[:12]} ──\n"
        "(unlabeled) · 2 and 2 turns, 1 alike\n"
        "\n"
        "they part at turn 2: other user input · first at character 7\n"
        "− 'Order 40.'\n"
        "+ 'Order 4.'\n"
    )


def test_the_same_is_told_with_flags_files_and_json(
    ctxdiff: Cli, runs: tuple[Path, str, str]
) -> None:
    path, good, bad = runs
    spellings = [
        ["--project", path, "--session", good, "--session", bad],
        [f"{path}#{good}", f"{path}#{bad[:10]}"],
    ]
    for flags in spellings:
        answer = json.loads(ctxdiff("diff", *flags, "--json").out)
        assert (answer["session_id"], answer["session_id_new"]) == (good, bad)
        first = answer["first"]
        assert (first["kind"], first["seq_old"], first["seq_new"]) == ("user_input", 2, 2)
        assert (first["old"]["excerpt"], first["new"]["excerpt"]) == ("Order 40.", "Order 4.")
        assert answer["counts"] == {"user_input": 1}
        assert answer["differences"] == [first]


def test_two_files_are_compared(ctxdiff: Cli, trace: Trace) -> None:
    good = trace(*calls("Order 40.", "s"), name="good")
    bad = trace(*calls("Order 40.", "s"), name="bad")
    assert "no difference in what was sent" in ctxdiff("diff", good, bad).out
    other = trace(*calls("Order 5.", "s"), name="other")
    assert "they part at turn 2: other user input" in ctxdiff("diff", good, other).out


def test_agents_without_turns_are_compared_whole(ctxdiff: Cli, demo: Path) -> None:
    done = ctxdiff("diff", "--project", demo, "--agent", "researcher", "--agent", "writer")
    assert done.status == 0
    assert done.out.startswith("── researcher  →  writer ──\nresearcher / writer · 6 and 3 turns")


def test_a_run_is_not_compared_with_itself(ctxdiff: Cli, runs: tuple[Path, str, str]) -> None:
    path, good, _ = runs
    done = ctxdiff("diff", good, good, "--project", path)
    assert (done.status, done.out) == (2, "")
    assert "a comparison has two sides" in done.err


def test_a_run_that_is_not_there_is_named(ctxdiff: Cli, runs: tuple[Path, str, str]) -> None:
    path, good, _ = runs
    done = ctxdiff("diff", good, "ffff", "--project", path)
    assert done.status == 2
    assert "no session starts with 'ffff'" in done.err
    assert ctxdiff("diff", path, "no.ctrace").status == 2


def test_a_turn_is_explained_beside_the_run_that_went_well(
    ctxdiff: Cli, runs: tuple[Path, str, str]
) -> None:
    path, good, bad = runs
    flags = ("explain", "--project", path, "--session", bad, "--against", good[:10], "--turn")
    assert ctxdiff(*flags, "2").out.startswith(
        f"── turn 2 beside {good[:12]}: its turn 2 ──\n"
        "\n"
        "they part at turn 2: other user input · first at character 7\n"
        "− 'Order 40.'\n"
        "+ 'Order 4.'\n"
        "\n"
        "── turn 2 of 2 "
    )
    assert "the two runs agree up to here\n" in ctxdiff(*flags, "1").out
    beside = json.loads(ctxdiff(*flags, "2", "--json").out)["against"]
    assert (beside["session_id"], beside["turn"]) == (good, 2)
    assert beside["first"] == beside["new_here"][0]
    assert "against" not in json.loads(ctxdiff(*flags[:5], "--turn", "2", "--json").out)
