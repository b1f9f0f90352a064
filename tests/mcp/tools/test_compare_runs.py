"""`ctxdiff_diff` without turns: a good run against a bad one, and one agent against another."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.answers.compare import compare_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy

Ask = Callable[..., Any]
SECRET = "sk-proj-" + "Ab1" * 16


@pytest.fixture
def good_and_bad(new_trace: Callable[..., Path], block: Any, turn: Any) -> Path:
    """The bad run gets another tool result at its second turn, and one turn more."""

    def run(result: str, name: str, session: str, extra: bool) -> Path:
        system, asked = block("Be brief.", "system", "system"), block("How many?")
        given = block(result, "tool", "tool_output")
        said, last = block("Twelve.", "assistant", "history"), block("Bye.")
        turns = [turn([system, asked]), turn([system, asked, given], [said])]
        if extra:
            more = block("And now?")
            turns.append(turn([system, asked, given, said, more]))
        turns.append(turn([system, asked, given, said, last]))
        return new_trace(*turns, name=name, session_id=session)

    run(f"12 pieces, key {SECRET}", "good", "90" * 16, extra=False)
    return run(f"0 pieces, key {SECRET}x", "bad", "ba" * 16, extra=True)


def test_the_first_difference_is_told_with_both_sides(good_and_bad: Path, ask: Ask) -> None:
    text = ask("ctxdiff_diff", run="good", run_b="bad").text
    assert text.startswith(
        "run good and run bad side by side: no agent 3 and 4 turns, 2 alike\n"
        "2 differences: tool_result 1, extra_turn 1\n"
        "they part at turn 2 (no agent): another tool result, first at character 0; blocks "
    )
    assert re.search(r"^- turn 3 of the second \(no agent\): a turn that only", text, re.MULTILINE)
    assert 'next: ctxdiff_diff(run="good", turn_a=2, turn_b=2, run_b="bad")' in text
    assert "12 pieces" in text
    assert "0 pieces" in text
    assert SECRET not in text


def test_a_healthy_pair_says_so(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Ask
) -> None:
    for name, session in (("one", "11" * 16), ("two", "22" * 16)):
        new_trace(turn([block("Hello.")]), name=name, session_id=session)
    text = ask("ctxdiff_diff", run="one", run_b="two").text
    assert "no difference in what was sent and answered" in text


def test_two_agents_of_a_run_are_compared(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Ask
) -> None:
    new_trace(
        turn([block("Search.")], agent="ann"),
        turn([block("Search.")], agent="bob"),
        turn([block("Stop.")], agent="bob"),
    )
    text = ask("ctxdiff_diff", run="latest", agent="ann", agent_b="bob").text
    assert text.startswith("run demo side by side: ann / bob 1 and 2 turns, 1 alike\n")
    assert "they part at turn 3 of the second (bob): a turn that only the second has" in text


def test_pages_of_differences_keep_both_sides(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Ask
) -> None:
    for name, session in (("one", "11" * 16), ("two", "22" * 16)):
        turns = [turn([block(f"question {n} of {name}")]) for n in range(12)]
        new_trace(*turns, name=name, session_id=session)
    seen: list[str] = []
    cursor: int | None = 0
    while cursor is not None:
        text = ask("ctxdiff_diff", run="one", run_b="two", limit=5, cursor=cursor).text
        seen += re.findall(r"^- turn (\d+) \(no agent\): other user input", text, re.MULTILINE)
        more = re.search(r'next: ctxdiff_diff\(run="one", run_b="two", cursor=(\d+)\)', text)
        cursor = int(more[1]) if more else None
    assert seen == [str(n) for n in range(1, 13)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"run": "good"}, "error nothing_to_compare"),
        ({"run": "good", "run_b": "good"}, "error nothing_to_compare"),
        ({"run": "good", "agent": "x", "agent_b": "y"}, "error unknown_agent"),
        ({"run": "good", "run_b": "bad", "turn_a": 1}, "`turn_b` is missing"),
        ({"run": "good", "run_b": "bad", "turn_b": 1}, "`turn_a` is missing"),
        ({"run": "good", "turn_a": 1, "turn_b": 2, "agent_b": "x"}, "`agent_b` is for whole runs"),
        ({"run": "good", "stage": "all"}, "`turn_a` is missing"),
        ({"run": "good", "run_b": "worse"}, "error unknown_run"),
    ],
)
def test_half_a_comparison_is_refused_with_what_is_missing(
    good_and_bad: Path, ask: Ask, given: dict[str, Any], words: str
) -> None:
    answer = ask("ctxdiff_diff", given)
    assert answer.is_error
    assert words in answer.text


@pytest.mark.parametrize("turns", [{}, {"turn_a": 1, "turn_b": 1}], ids=["runs", "turns"])
@pytest.mark.parametrize("redact", ["all", "text"])
def test_no_comparison_of_two_runs_in_redact_mode(
    good_and_bad: Path, ask: Ask, redact: Any, turns: dict[str, int]
) -> None:
    answer = ask("ctxdiff_diff", run="r1", run_b="r2", policy=Policy(redact), **turns)
    assert answer.is_error
    assert answer.text.startswith("error not_in_redact_mode")


def test_one_turn_is_laid_beside_its_counterpart(good_and_bad: Path) -> None:
    source = Source(good_and_bad.parent)
    found = [compare_turn(source, "bad", turn, "good") for turn in (1, 2, 3, 4)]
    source.close()
    assert [one.counterpart for one in found] == [1, 2, None, 3]
    assert [[row.kind for row in one.here] for one in found] == [
        [],
        ["tool_result"],
        ["extra_turn"],
        [],
    ]
    assert [one.first and one.first.turn_new for one in found] == [None, 2, 2, 2]


def test_a_turn_is_explained_beside_the_run_that_went_well(good_and_bad: Path, ask: Ask) -> None:
    at = {
        turn: ask("ctxdiff_explain", run="bad", turn=turn, run_b="good").text
        for turn in (1, 2, 3, 4)
    }
    assert (
        "\nbeside run good: its turn 1 stands for this one\nthe two runs agree up to here\n"
        in at[1]
    )
    assert (
        "\nbeside run good: its turn 2 stands for this one\n"
        "they part at turn 2 (no agent): another tool result, first at character 0; blocks "
    ) in at[2]
    assert 'both turns: ctxdiff_diff(run="good", turn_a=2, turn_b=2, run_b="bad")' in at[2]
    assert "\nbeside run good: that run has no such turn\nthey part at turn 2 " in at[3]
    assert "\nnew at this turn: a turn that only the second has\n" in at[3]
    assert "\nbeside run good: its turn 3 stands for this one\nthey part at turn 2 " in at[4]
    assert SECRET not in "".join(at.values())
    assert ask("ctxdiff_explain", run="bad", turn=2, run_b="bad").is_error
    redacted = ask("ctxdiff_explain", run="r1", turn=2, run_b="r2", policy=Policy("all"))
    assert redacted.text.startswith("error not_in_redact_mode")


def test_a_turn_that_only_the_good_run_has_is_no_difference_before_it(
    new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    asked = [turn([block(f"question {n}")]) for n in range(4)]
    path = new_trace(*asked, name="good", session_id="90" * 16)
    new_trace(*asked[:2], *asked[3:], name="bad", session_id="ba" * 16)
    source = Source(path.parent)
    found = [compare_turn(source, "bad", seq, "good") for seq in (1, 2, 3)]
    source.close()
    assert [one.counterpart for one in found] == [1, 2, 4]
    assert [one.first and one.first.kind for one in found] == [None, None, "missing_turn"]
