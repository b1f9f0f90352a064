"""Which turns of a run broke first, without looking at every turn in full."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.suspects import broken_turns

from tests.analyzers import outcome_faults
from tests.analyzers.faults import FAULTS, clean
from tests.analyzers.scripts import SCRIPTS, Script
from tests.analyzers.wire import SURFACES, recorded

assert outcome_faults.CUT
AT_EVERY_TURN = ("dear_tool", "stream_without_usage", "added_tool")
"""Faults that begin with the run, or change too little to be suspected."""
FIRST_SHOWN_EARLIER = ("cut_when_new", "retried_call")
PAIRS = list(product(SURFACES, SCRIPTS))
NAMES = [name for name in FAULTS if name not in AT_EVERY_TURN + FIRST_SHOWN_EARLIER]


def told(timeline: Any, scope: Any = None) -> list[tuple[int, str]]:
    return [(one.turn, one.finding.code) for one in broken_turns(timeline, scope or timeline)]


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_the_turn_of_a_fault_is_the_first_that_is_suspected(number: int, tmp_path: Path) -> None:
    name = NAMES[number]
    possible = [(s, c) for s, c in PAIRS if FAULTS[name](s, c) is not None]
    surface, script = possible[(number * 13) % len(possible)]
    faulty = FAULTS[name](surface, script)
    assert faulty is not None
    assert told(recorded(faulty.log, tmp_path))[0][0] == faulty.turn


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.name)
def test_a_healthy_run_has_no_suspect(script: Script, tmp_path: Path) -> None:
    assert told(recorded(clean("openai.chat", script), tmp_path)) == []


def test_the_loss_comes_before_the_call_that_failed_for_it(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    fact, q = make.user("The gate code is 4711.", tag="rag", tokens=9), make.user("q")
    done = {"outputs": [make.assistant("a")], "finish_reason": "stop"}
    run.add(fact, q, **done)
    run.add(q, make.user("r"), **done)
    run.add(q, make.user("r"), make.user("s"), error="BadRequestError", error_status=400)
    assert told(run.done()) == [(2, "context_evicted"), (3, "call_failed")]


def test_only_the_agent_that_is_asked_about_is_suspected(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    run.add(make.user("q"), agent="a", error="APIError")
    run.add(make.user("q"), agent="b", outputs=[make.assistant("x")], finish_reason="length")
    timeline = run.done()
    assert told(timeline) == [(1, "call_failed"), (2, "output_truncated")]
    assert told(timeline, timeline.of_agent("b")) == [(2, "output_truncated")]


def test_a_refusal_and_a_retry_are_suspected_without_a_turn(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    done = {"outputs": [make.assistant("a")], "finish_reason": "stop"}
    words = make.assistant("I'm sorry, but I can't help with that.")
    part = make.call({"type": "refusal", "refusal": "No."})
    run.add(make.user("q"), **done)
    run.add(make.user("q"), make.user("r"), outputs=[words], finish_reason="stop")
    run.add(make.user("q"), make.user("s"), outputs=[part], finish_reason="stop")
    assert [code for _, code in told(run.done())] == ["output_refused", "output_refused"]
    again = make.run(has_outputs=True)
    again.add(make.user("q"), **done)
    again.add(make.user("q"), make.assistant("a"), make.user("r"), attempts=3, **done)
    assert told(again.done()) == [(2, "call_retried")]


def test_the_last_line_of_a_longer_result_is_read_too(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    call = make.call({"type": "tool_use", "id": "1", "name": "stock", "input": {}})
    offered, q = make.schema({"name": "stock"}), make.user("q")
    rows = "\n".join(f"lamp {number}, {number} pieces" for number in range(200))
    text = f"{rows}\nError: connection reset by peer"
    cut = make.part({"type": "tool_result", "tool_use_id": "1", "content": text}, tokens=1_400)
    done = {"outputs": [make.assistant("Many.")], "finish_reason": "end_turn"}
    run.add(offered, q, outputs=[call], finish_reason="tool_use")
    run.add(offered, q, call, cut, **done)
    assert told(run.done()) == [(2, "tool_error")]


def test_a_long_run_is_searched_without_reading_it(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    system = make.system("be brief")
    said = [make.user(f"question {number} of the long run", tokens=8) for number in range(5_000)]
    answers = [make.assistant(f"answer {number}") for number in range(5_000)]
    for number in range(5_000):
        failed = {"error": "APIError"} if number == 4_000 else {"finish_reason": "stop"}
        outputs = [] if number == 4_000 else [answers[number]]
        window = said[max(0, number - 20) : number + 1]
        run.add(system, *window, outputs=outputs, **failed)
    found = told(run.done())
    assert (4_001, "call_failed") in found
    assert len(run.fetched) < 2_000
