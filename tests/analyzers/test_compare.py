"""Two runs side by side: the first thing that differs has a name, what follows is counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.runs.compare import Comparison, compare, counterpart
from ctxdiff_analyzers.runs.differences import Side
from ctxdiff_analyzers.timeline import Timeline

CALL = {"type": "tool_use", "id": "toolu_01aaaa1111", "name": "stock", "input": {"sku": "A-1"}}


def result(text: str, call_id: str = "toolu_01aaaa1111") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


class Script:
    """A small warehouse agent: asks, looks up the stock, answers; each part can be exchanged."""

    def __init__(self, make: SimpleNamespace, **parts: Any) -> None:
        self.make = make
        self.parts: dict[str, Any] = {
            "system": "You run a warehouse.",
            "question": "How many A-1 are left?",
            "call": CALL,
            "result": result("12 pieces"),
            "answer": "There are 12 pieces left.",
            "next": "Order more?",
            "last": "Yes, order 40.",
            "params": {"model": "m", "temperature": 0},
            "agent": None,
            **parts,
        }

    def timeline(self, has_outputs: bool = True) -> Timeline:
        make, part = self.make, self.parts
        run = make.run(has_outputs=has_outputs)
        history = [
            make.schema({"name": "stock", "description": part.get("about", "Counts.")}),
            make.system(part["system"]),
        ]
        steps = [
            (make.user(part["question"]), make.call(part["call"])),
            *[(make.part(extra), make.call(part["call"])) for extra in part.get("extra", ())],
            (make.part(part["result"]), make.assistant(part["answer"])),
            (make.user(part["next"]), make.assistant(part["last"])),
        ]
        for given, said in steps:
            history.append(given)
            shown = [
                b for b in history if b.text != part.get("lost_at_the_end") or given != steps[-1][0]
            ]
            run.add(
                *shown,
                outputs=[said] if has_outputs else [],
                params=part["params"],
                agent=part["agent"],
                finish_reason=part.get("finish", "stop"),
            )
            history.append(said)
        return run.done()


def told(found: Comparison) -> list[tuple[str, int | None, int | None]]:
    return [(one.kind, one.turn_old, one.turn_new) for one in found.differences]


def test_the_same_run_agrees_whatever_its_ids_and_times(make: SimpleNamespace) -> None:
    other = {**CALL, "id": "toolu_02bbbb2222"}
    old = Script(make, question="It is 2026-11-30 10:00. How many A-1 are left?")
    new = Script(
        make,
        question="It is 2026-12-01 08:15. How many A-1 are left?",
        call=other,
        result=result("12 pieces", "toolu_02bbbb2222"),
        agent="renamed",
        params={"model": "m", "temperature": 0, "user": "u-2", "stream": True},
    )
    found = compare(old.timeline(), new.timeline())
    assert (found.first, found.first_given, found.differences) == (None, None, ())
    assert [(pair.old, pair.new, pair.alike) for pair in found.agents] == [(None, "renamed", 3)]
    assert found.volatile == 3


CHANGES: dict[str, tuple[dict[str, Any], str, int, str | None]] = {
    "model": ({"params": {"model": "n", "temperature": 0}}, "model", 1, None),
    "parameter": ({"params": {"model": "m", "temperature": 1}}, "params", 1, "temperature"),
    "system": ({"system": "You run a shop."}, "system", 1, None),
    "tool": ({"about": "Counts, slowly."}, "tools", 1, "stock"),
    "question": ({"question": "How many B-2 are left?"}, "user_input", 1, None),
    "tool call": ({"call": {**CALL, "input": {"sku": "B-2"}}}, "tool_call", 1, "stock"),
    "tool result": ({"result": result("0 pieces")}, "tool_result", 2, None),
    "answer": ({"answer": "None are left."}, "answer", 2, None),
    "lost context": ({"lost_at_the_end": "How many A-1 are left?"}, "context", 3, None),
    "last answer": ({"last": "No."}, "answer", 3, None),
    "ending": ({"finish": "length"}, "outcome", 1, "finish_reason"),
}


@pytest.mark.parametrize(("parts", "kind", "turn", "name"), CHANGES.values(), ids=CHANGES)
def test_the_first_difference_is_named(
    make: SimpleNamespace, parts: dict[str, Any], kind: str, turn: int, name: str | None
) -> None:
    found = compare(Script(make).timeline(), Script(make, **parts).timeline())
    assert found.first is not None
    assert (found.first.kind, found.first.turn_old, found.first.turn_new) == (kind, turn, turn)
    assert found.first.name == name


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "ending"])
def test_what_was_told_is_not_told_again_for_later_turns(make: SimpleNamespace, name: str) -> None:
    parts, kind, turn, _ = CHANGES[name]
    found = compare(Script(make).timeline(), Script(make, **parts).timeline())
    assert told(found) == [(kind, turn, turn)]
    assert dict(found.counts) == {kind: 1}


def test_a_difference_shows_both_sides_around_the_place(make: SimpleNamespace) -> None:
    old = Script(make, result=result("A" * 500 + " 12 pieces"))
    new = Script(make, result=result("A" * 500 + " 0 pieces"))
    first = compare(old.timeline(), new.timeline()).first
    assert first is not None
    assert first.old is not None
    assert first.new is not None
    assert first.first_difference == len('{"content": "') + 501
    assert (
        first.old.excerpt
        == "A" * 39 + ' 12 pieces", "tool_use_id": "toolu_01aaaa1111", "type": "tool_result"}'
    )
    assert (first.old.position, first.new.position) == (4, 4)
    assert first.old.content_hash != first.new.content_hash


def test_where_an_answer_comes_first_the_first_that_was_given_is_named_too(
    make: SimpleNamespace,
) -> None:
    old = Script(make)
    new = Script(make, answer="Twelve are left.", next="Sell them?", last="Sold.")
    found = compare(old.timeline(), new.timeline())
    assert (found.first and found.first.kind, found.first_given and found.first_given.kind) == (
        "answer",
        "user_input",
    )
    assert told(found) == [("answer", 2, 2), ("user_input", 3, 3), ("answer", 3, 3)]


def test_an_extra_turn_is_one_difference_and_the_rest_stays_aligned(make: SimpleNamespace) -> None:
    extra = result("try again", "toolu_01cccc3333")
    old, new = Script(make), Script(make, extra=[extra], last="No.")
    found = compare(old.timeline(), new.timeline())
    assert told(found) == [("extra_turn", None, 2), ("answer", 3, 4)]
    assert found.agents[0].turns == ((1, 1), (None, 2), (2, 3), (3, 4))
    first = found.first
    assert first is not None
    assert first.old is None
    assert first.new is not None
    assert "try again" in first.new.excerpt
    back = compare(new.timeline(), old.timeline())
    assert told(back) == [("missing_turn", 2, None), ("answer", 4, 3)]


def test_an_extra_turn_before_a_changed_one_is_told_apart_from_it(make: SimpleNamespace) -> None:
    extra = result("timeout of the line to the depot", "toolu_01cccc3333")
    new = Script(make, extra=[extra], result=result("13 pieces"))
    found = compare(Script(make).timeline(), new.timeline())
    assert told(found) == [("extra_turn", None, 2), ("tool_result", 2, 3)]
    assert dict(found.counts) == {"extra_turn": 1, "tool_result": 1}


def test_a_file_without_answers_tells_them_from_history(make: SimpleNamespace) -> None:
    new = Script(make, answer="None are left.")
    found = compare(Script(make).timeline(has_outputs=False), new.timeline(has_outputs=False))
    assert told(found) == [("answer", 3, 3)]


def test_agents_are_compared_with_those_of_their_name(make: SimpleNamespace) -> None:
    def run(writer: str, agents: str) -> Timeline:
        built = make.run(has_outputs=True)
        for agent in agents:
            text = writer if agent == "w" else f"task of {agent}"
            built.add(make.user(text), outputs=[make.assistant("ok")], agent=agent)
        return built.done()

    found = compare(run("write short", "pw"), run("write long", "qwx"))
    assert told(found) == [("user_input", 2, 2)]
    assert (found.only_old, found.only_new) == (("p",), ("q", "x"))
    assert [(pair.old, pair.new) for pair in found.agents] == [("w", "w")]


def test_two_agents_of_one_session_can_be_compared(make: SimpleNamespace) -> None:
    built = make.run(has_outputs=True)
    for agent, question in (("a", "One?"), ("b", "One?"), ("a", "Two?"), ("b", "Three?")):
        built.add(make.user(question), outputs=[make.assistant("ok")], agent=agent)
    session = built.done()
    found = compare(session.of_agent("a"), session.of_agent("b"))
    assert told(found) == [("user_input", 3, 4)]


def test_a_turn_has_a_counterpart_where_there_is_one(make: SimpleNamespace) -> None:
    old = Script(make).timeline()
    new = Script(make, extra=[result("try again", "toolu_01cccc3333")]).timeline()
    assert [counterpart(old, new, seq) for seq in (1, 2, 3, 4, 5)] == [1, None, 2, 3, None]


def test_runs_that_share_nothing_are_counted(make: SimpleNamespace) -> None:
    def run(word: str) -> Any:
        built = make.run(has_outputs=True)
        for n in range(400):
            asked = make.user(f"{word} question {n} of many")
            built.add(asked, outputs=[make.assistant(f"{word} {n}")])
        return built

    found = compare(run("red").done(), run("blue").done())
    assert (found.counts["user_input"], found.counts["answer"]) == (400, 400)
    assert [one.old is None for one in found.differences].count(False) == 200


def test_a_question_that_is_asked_again_and_again_is_aligned_in_order(
    make: SimpleNamespace,
) -> None:
    def run(turns: int, odd: int) -> Timeline:
        built = make.run(has_outputs=True)
        for n in range(turns):
            text = "continue" if n != odd else "stop"
            built.add(make.user(text), outputs=[make.assistant("ok")])
        return built.done()

    found = compare(run(3_000, -1), run(3_000, 2_000))
    assert told(found)[0] == ("user_input", 2_001, 2_001)


def test_sides_of_parameters_are_json(make: SimpleNamespace) -> None:
    old = Script(make, params={"model": "m", "thinking": {"budget": 1, "type": "on"}})
    new = Script(make, params={"model": "m"})
    first = compare(old.timeline(), new.timeline()).first
    assert first is not None
    assert (first.kind, first.name) == ("params", "thinking")
    assert (first.old, first.new) == (Side('{"budget": 1, "type": "on"}'), None)
