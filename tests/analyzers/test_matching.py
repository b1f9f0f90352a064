from __future__ import annotations

from types import SimpleNamespace

import pytest
from ctxdiff_analyzers.matching import matching
from ctxdiff_capture.model import CallDetail


def test_an_answer_given_back_is_no_form_of_what_is_gone(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    answer = make.call({"function_call": {"name": "find", "args": {"q": "ladder"}}})
    asked = make.call({"function_call": {"name": "find", "args": {"q": "saw"}}})
    old = run.add(make.user("hello"), asked, make.user("saw: here"), outputs=[answer])
    new = run.add(make.user("hello"), answer, make.user("ladder: here"))
    found = matching(old, new, run.done())
    assert (found.edited, found.gone, found.new) == ((), (1, 2), (1, 2))


def test_results_of_one_call_are_paired_by_its_id_however_unlike(make: SimpleNamespace) -> None:
    run = make.run()
    call = make.call({"id": "c1", "type": "function", "function": {"name": "find"}})
    detail = CallDetail(tool_call_ids={1: "c1", 2: "c1"})
    old = run.add(make.user("hello"), call, make.tool("on shelf 4 in the shed"), detail=detail)
    new = run.add(make.user("hello"), call, make.tool("[cleared]"), make.user("so?"), detail=detail)
    found = matching(old, new, run.done())
    assert (found.edited, found.gone, found.new) == (((2, 2),), (), (3,))


def test_results_without_ids_are_paired_right_behind_the_same_call(make: SimpleNamespace) -> None:
    def result(text: str) -> object:
        return make.part({"function_response": {"name": "find", "response": {"output": text}}})

    run = make.run()
    call = make.call({"function_call": {"name": "find", "args": {"q": "saw"}}})
    old = run.add(make.user("hello"), call, result("on shelf 4 in the shed behind the yard " * 9))
    new = run.add(make.user("hello"), call, result("gone"), make.user("so?"))
    assert matching(old, new, run.done()).edited == ((2, 2),)


def test_results_of_other_calls_are_never_paired(make: SimpleNamespace) -> None:
    def result(made: str, text: str) -> object:
        return make.part({"type": "tool_result", "tool_use_id": made, "content": text})

    run = make.run()
    old = run.add(make.user("hello"), result("a", "on shelf 4 in the shed"))
    new = run.add(make.user("hello"), result("b", "on shelf 4 in the shed"))
    found = matching(old, new, run.done())
    assert (found.edited, found.gone, found.new) == ((), (1,), (1,))


@pytest.mark.parametrize("has_result", [True, False], ids=["with its result", "alone"])
def test_a_call_with_another_id_is_the_same_call(make: SimpleNamespace, has_result: bool) -> None:
    def said(made: str, text: str) -> list[object]:
        use = {"type": "tool_use", "id": made, "name": "find", "input": {"q": "saw"}}
        result = {"type": "tool_result", "tool_use_id": made, "content": text}
        parts = [make.call(use), make.part(result)]
        return parts if has_result else [*parts[:1], make.user(text)]

    run = make.run()
    old = run.add(make.user("hello"), *said("a", "on shelf 4"))
    new = run.add(make.user("hello"), *said("b", "on shelf 4"), make.user("so?"))
    again = run.add(make.user("hello"), *said("c", "gone"))
    timeline = run.done()
    found = matching(old, new, timeline)
    edited = ((1, 1), (2, 2)) if has_result else ((1, 1),)
    assert (found.edited, found.gone, found.new) == (edited, (), (3,))
    found = matching(old, again, timeline)
    assert (found.gone, found.new) == ((1, 2), (1, 2)) if has_result else ((2,), (2,))


def test_the_newest_message_with_its_marker_stays_where_it_was(make: SimpleNamespace) -> None:
    def part(*marker: str) -> object:
        marks = {"cache_control": {"type": "ephemeral"}} if marker else {}
        return make.part({"type": "text", "text": "ok", **marks})

    run = make.run()
    old = run.add(make.user("hello"), part("marked"))
    new = run.add(make.user("hello"), part(), make.assistant("It is free."), part("marked"))
    found = matching(old, new, run.done())
    assert (found.same, found.gone, found.new) == (((0, 0), (1, 1)), (), (2, 3))


def test_a_lone_short_message_in_its_old_place_is_an_edit_of_one_agent_alone(
    make: SimpleNamespace,
) -> None:
    run = make.run(has_outputs=True)
    answer = make.assistant("the red one")
    asked = make.user("and is the whole yard open for us then on Tuesday?")
    other = make.user("[cut] Tuesday?")
    old = run.add(make.user("hello"), asked, agent="yard", outputs=[answer])
    new = run.add(make.user("hello"), other, answer, agent="yard")
    there = run.add(make.user("hello"), other, answer, agent="shop")
    timeline = run.done()
    assert matching(old, new, timeline).edited == ((1, 1),)
    assert matching(old, there, timeline).edited == ()
