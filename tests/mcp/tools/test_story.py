"""`ctxdiff_search`: how a text left, which agents never got it, where a tool's values came from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.gate.policy import Policy

Ask = Callable[..., Any]
FACT = "The depot in Malmö closes at six on Fridays and at four on Saturdays."
EDITED = "The depot in Malmö closes at seven on Fridays and at four on Saturdays."


@pytest.fixture
def trace(new_trace: Callable[..., Path], block: Any, turn: Any) -> Path:
    """The fact is edited, dropped and comes back; a writer never gets it."""
    system, fact, edited = block("Be brief.", "system", "system"), block(FACT), block(EDITED)
    noted, ask = block("Noted.", "assistant", "history"), block("When does it close?")
    part = {"type": "tool_use", "id": "t", "name": "book", "input": {"site": "Malmö", "nr": 7781}}
    call = block(json.dumps(part, sort_keys=True), "assistant", "history", "content_part")
    return new_trace(
        turn([system, fact, ask], agent="ann"),
        turn([system, edited, ask], agent="ann"),
        turn([system, edited, noted, ask], agent="ann"),
        turn([system, noted, ask], [call], agent="ann"),
        turn([system, edited, noted, ask], agent="ann"),
        turn([system, block("Write it.")], agent="bob"),
    )


def test_a_text_has_a_story(trace: Path, ask: Ask) -> None:
    text = ask("ctxdiff_search", run="latest", query="closes at").text
    assert "never given to: bob\n" in text
    first, second = (line for line in text.splitlines() if line.startswith("- block "))
    successor = second.split()[2].rstrip(":")
    assert f": entered at turn 1 (position 1), left at turn 2 (edited into {successor})" in first
    assert (
        ": entered at turn 2 (position 1), left at turn 4 (trimmed with what was before it), "
        "came back at turn 5 (position 1), still there at turn 5 [text"
    ) in second


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (1, "at turn 1 it is in context: block "),
        (4, "at turn 4 it is not in context: last in turn 3 as block "),
        (6, "at turn 6 it is not in context, and the agent never had it before\n"),
    ],
)
def test_a_turn_is_told_to_have_a_text_or_to_have_lost_it(
    trace: Path, ask: Ask, at: int, words: str
) -> None:
    text = ask("ctxdiff_search", run="latest", query="closes at", turn=at).text
    assert f"\n{words}" in text
    assert (", left at turn 4 (trimmed" in text.split("\n- block")[0]) is (at == 4)


def test_the_values_of_a_tool_call_are_traced_to_what_gave_them(trace: Path, ask: Ask) -> None:
    text = ask("ctxdiff_search", run="latest", turn=4).text
    assert text.startswith("run demo, turn 4 (ann): 2 values in the arguments of its tool calls\n")
    assert "- book nr = 7781: in nothing that the agent was given or said before\n" in text
    (line,) = (line for line in text.splitlines() if " site = " in line)
    assert (
        "(user message), not in context any more: last in turn 3, left at turn 4 (trimmed" in line
    )


def test_a_turn_without_tool_calls_has_no_values(trace: Path, ask: Ask) -> None:
    text = ask("ctxdiff_search", run="latest", turn=1).text
    assert text == "run demo, turn 1 (ann): 0 values in the arguments of its tool calls\n"


def test_neither_text_nor_turn_is_a_question(trace: Path, ask: Ask) -> None:
    answer = ask("ctxdiff_search", run="latest")
    assert answer.is_error
    assert "`query` is missing" in answer.text
    assert ask("ctxdiff_search", run="latest", turn=99).is_error


@pytest.mark.parametrize("redact", ["all", "text"])
def test_values_are_not_traced_in_redact_mode(trace: Path, ask: Ask, redact: Any) -> None:
    answer = ask("ctxdiff_search", run="r1", turn=4, policy=Policy(redact))
    assert answer.is_error
    assert answer.text.startswith("error not_in_redact_mode")
