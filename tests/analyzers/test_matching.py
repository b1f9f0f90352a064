from __future__ import annotations

from types import SimpleNamespace

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
