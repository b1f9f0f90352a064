"""What goes wrong between a model and its tools, on every surface, through importer and store."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding

from tests.analyzers.wire import SURFACES, Ask, Call, Got, Say, User, grown, lines, recorded

EVERY = pytest.mark.parametrize("surface", SURFACES)
TOOL_CODES = frozenset(
    ("tool_error", "tool_loop", "tool_arguments_invalid", "tool_unknown", "tool_missing")
)


def told(log: list[Any], folder: Path) -> list[tuple[int, Finding]]:
    """Every finding about tools, each with the turn that was asked about."""
    timeline = recorded(log, folder)
    return [
        (turn.seq, finding)
        for turn in timeline.turns
        for finding in explain(timeline, turn.seq).findings
        if finding.code in TOOL_CODES
    ]


def codes(found: list[tuple[int, Finding]]) -> list[tuple[int, str]]:
    return [(seq, finding.code) for seq, finding in found]


def borrowing(result: str) -> list[Call]:
    return grown(
        [
            User("Is the drill in?"),
            Ask("c1", "stock", (("q", "drill"),)),
            Got("c1", result, "stock"),
            Say("It is in."),
            User("And the saw?"),
            Ask("c2", "stock", (("q", "saw"),)),
            Got("c2", '{"pieces": 2}', "stock"),
            Say("Two of them."),
        ],
        tools=("stock",),
    )


# tool_error


@EVERY
def test_a_failed_result_is_told_at_the_first_request_that_shows_it(
    surface: str, tmp_path: Path
) -> None:
    found = told(lines(surface, borrowing("Error: the shelf scanner is offline")), tmp_path)
    assert codes(found) == [(2, "tool_error")]
    error = found[0][1]
    assert (error.severity, error.certainty, error.turn) == ("high", "inferred", 2)
    assert error.why == "the result begins as an error message does"
    assert error.evidence.names == ("stock",)
    assert error.evidence.excerpts == ("Error: the shelf scanner is offline",)
    assert error.evidence.path is not None


@EVERY
@pytest.mark.parametrize(
    "result",
    [
        '{"pieces": 1, "error": null}',
        "No results",
        "# Errors\n\nWhat to do when the scanner is offline: restart it.",
        "3 failed, 4 passed in 0.2s",
    ],
)
def test_a_result_that_is_no_failure_is_not_told(surface: str, result: str, tmp_path: Path) -> None:
    assert told(lines(surface, borrowing(result)), tmp_path) == []


FLAGS: dict[str, Any] = {
    "anthropic.messages": {"is_error": True},
    "bedrock.invoke_model": {"is_error": True},
    "openai.responses": {"status": "incomplete"},
    "bedrock.converse": {"status": "error"},
}


def flagged(log: list[Any], extra: dict[str, Any]) -> list[Any]:
    """The log, with members added to every result whose content is `closed`."""

    def mark(value: Any) -> Any:
        if isinstance(value, list):
            return [mark(one) for one in value]
        if not isinstance(value, dict):
            return value
        done = {key: mark(one) for key, one in value.items()}
        holder = {k: v for k, v in value.items() if k in ("content", "output")}
        is_result = any(k in value for k in ("tool_use_id", "toolUseId", "call_id"))
        if is_result and json.dumps(holder) in (
            '{"content": "closed"}',
            '{"output": "closed"}',
            '{"content": [{"text": "closed"}]}',
        ):
            return done | extra
        return done

    return mark(copy.deepcopy(log))


@pytest.mark.parametrize("surface", sorted(FLAGS))
def test_a_flag_in_the_result_makes_it_measured(surface: str, tmp_path: Path) -> None:
    plain = lines(surface, borrowing("closed"))
    assert told(plain, tmp_path) == []
    found = told(flagged(plain, FLAGS[surface]), tmp_path)
    assert codes(found) == [(2, "tool_error")]
    assert found[0][1].certainty == "measured"
    assert found[0][1].evidence.excerpts == ("closed",)


def test_geminis_error_member_is_a_flag(tmp_path: Path) -> None:
    log = lines("gemini.generate_content", borrowing("closed"))
    text = json.dumps(log).replace('{"output": "closed"}', '{"error": "closed"}')
    found = told(json.loads(text), tmp_path)
    assert codes(found) == [(2, "tool_error")]
    assert found[0][1].certainty == "measured"


def test_an_old_failure_in_a_resumed_conversation_is_not_of_this_turn(tmp_path: Path) -> None:
    calls = borrowing("Error: the shelf scanner is offline")[2:]
    assert told(lines("openai.chat", calls), tmp_path) == []


def test_failures_of_parallel_calls_are_one_finding(tmp_path: Path) -> None:
    said = [
        User("Both?"),
        Ask("a", "stock", (("q", "drill"),)),
        Ask("b", "stock", (("q", "saw"),)),
        Got("a", "Error: offline", "stock"),
        Got("b", "Timed out", "stock"),
    ]
    found = told(lines("openai.chat", grown(said, tools=("stock",))), tmp_path)
    assert codes(found) == [(2, "tool_error")]
    assert found[0][1].evidence.counts == (("results", 2),)


# tool_loop


def repeated(times: int, between: Any = (), args: Any = None, result: Any = None) -> list[Call]:
    said: list[Any] = [User("Is the drill in?")]
    for number in range(times):
        given = (("q", "drill"),) if args is None else args(number)
        said.append(Ask(f"c{number}", "stock", given))
        said.append(Got(f"c{number}", result(number) if result else '{"pieces": 2}', "stock"))
        said += between
    return grown(said, tools=("stock", "shelf"))


@EVERY
def test_the_third_identical_call_in_a_row_is_a_loop(surface: str, tmp_path: Path) -> None:
    found = told(lines(surface, repeated(4)), tmp_path)
    assert codes(found) == [(3, "tool_loop"), (4, "tool_loop")]
    third, fourth = (finding for _, finding in found)
    assert (third.severity, third.certainty, third.since) == ("high", "measured", 1)
    assert third.evidence.names == ("stock",)
    assert third.evidence.excerpts == ('{"q":"drill"}',)
    assert third.evidence.counts == (("repeats", 3), ("distinct_results", 1))
    assert fourth.evidence.counts == (("repeats", 4), ("distinct_results", 1))


@EVERY
@pytest.mark.parametrize(
    "calls",
    [
        repeated(2),
        repeated(5, args=lambda n: (("q", f"drill {n}"),)),
        repeated(5, args=lambda n: (("q", "drill"), ("page", n))),
        repeated(4, args=lambda n: (("q", ("drill", "saw")[n % 2]),)),
        repeated(2, result=lambda n: "Error: offline"),
    ],
)
def test_other_arguments_and_a_second_try_are_no_loop(
    surface: str, calls: list[Call], tmp_path: Path
) -> None:
    found = told(lines(surface, calls), tmp_path)
    assert "tool_loop" not in [code for _, code in codes(found)]


def test_a_user_who_asks_anew_each_time_makes_no_loop(tmp_path: Path) -> None:
    said: list[Any] = []
    for number, question in enumerate(("Now?", "And now?", "Still?", "At last?")):
        said += [User(question), Ask(f"c{number}", "stock"), Got(f"c{number}", "1", "stock")]
        said.append(Say("Not yet."))
    assert told(lines("openai.chat", grown(said, tools=("stock",))), tmp_path) == []


def test_the_same_push_between_makes_the_loop_less_grave(tmp_path: Path) -> None:
    said: list[Any] = [User("Order one.")]
    for number in range(3):
        said += [Ask(f"c{number}", "stock"), Got(f"c{number}", "1", "stock")]
        said += [Say("Working on it."), User("Continue.")]
    found = told(lines("anthropic.messages", grown(said, tools=("stock",))), tmp_path)
    assert [(seq, f.code, f.severity) for seq, f in found] == [(5, "tool_loop", "medium")]


def test_who_polls_a_thing_that_changes_is_told_with_low_severity(tmp_path: Path) -> None:
    calls = repeated(3, result=lambda n: f'{{"progress": {n * 30}}}')
    (found,) = told(lines("openai.responses", calls), tmp_path)
    assert (found[1].code, found[1].severity) == ("tool_loop", "low")
    assert found[1].evidence.counts == (("repeats", 3), ("distinct_results", 2))


def test_parallel_calls_and_words_between_do_not_hide_a_loop(tmp_path: Path) -> None:
    said: list[Any] = [User("Is the drill in?")]
    for number in range(3):
        said += [Say("Let me look."), Ask(f"a{number}", "stock", (("q", "drill"),))]
        said.append(Ask(f"b{number}", "shelf", (("q", f"row {number}"),)))
        said += [Got(f"a{number}", "2", "stock"), Got(f"b{number}", f"row {number}", "shelf")]
    found = told(lines("openai.chat", grown(said, tools=("stock", "shelf"))), tmp_path)
    assert codes(found) == [(3, "tool_loop")]
    assert found[0][1].evidence.counts == (("repeats", 3), ("distinct_results", 1))


def test_a_loop_is_seen_when_its_start_has_left_the_history(tmp_path: Path) -> None:
    whole = repeated(3)
    kept = whole[2].said[0], *whole[2].said[-2:]
    calls = [*whole[:2], Call(kept, whole[2].answer, tools=("stock", "shelf"))]
    assert (3, "tool_loop") in codes(told(lines("openai.chat", calls), tmp_path))


# tool_arguments_invalid

SCHEMA = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "limit": {"type": "integer"},
        "shelf": {"type": "string", "enum": ["a", "b"]},
        "note": {"type": ["string", "null"]},
    },
    "required": ["q"],
}


def with_schema(log: list[Any]) -> list[Any]:
    """The log with `SCHEMA` in the place of every tool's schema."""
    small = json.dumps({"type": "object", "properties": {"q": {"type": "string"}}})
    return json.loads(json.dumps(log).replace(small, json.dumps(SCHEMA)))


def asking(**args: Any) -> list[Call]:
    return [Call([User("q")], [Ask("c", "stock", tuple(args.items()))], tools=("stock",))]


@EVERY
@pytest.mark.parametrize(
    ("args", "why", "names"),
    [
        ({"q": ["drill", "saw"]}, "a value has another type than the schema asks for", ("q",)),
        ({"limit": 3}, "a required property is missing", ("q",)),
        ({"q": "x", "limit": "3"}, "a value has another type than the schema asks for", ("limit",)),
        ({"q": "x", "shelf": "c"}, "a value is none of those that the schema lists", ("shelf",)),
    ],
)
def test_arguments_that_fail_the_schema_are_told(
    surface: str, args: Any, why: str, names: Any, tmp_path: Path
) -> None:
    found = told(with_schema(lines(surface, asking(**args))), tmp_path)
    assert codes(found) == [(1, "tool_arguments_invalid")]
    assert found[0][1].why == why
    assert found[0][1].evidence.names == ("stock", *names)


@EVERY
@pytest.mark.parametrize(
    "args",
    [
        {"q": "x"},
        {"q": "x", "limit": 3.0, "shelf": "a", "note": None},
        {"q": "x", "more": {"deep": [1]}, "limit": None},
    ],
)
def test_arguments_that_satisfy_the_schema_are_not_told(
    surface: str, args: Any, tmp_path: Path
) -> None:
    assert told(with_schema(lines(surface, asking(**args))), tmp_path) == []


def broken(finish: str) -> list[Any]:
    log = lines("openai.chat", asking(q="drill"))
    choice = log[0]["response"]["choices"][0]
    choice["finish_reason"] = finish
    choice["message"]["tool_calls"][0]["function"]["arguments"] = '{"q": "dri'
    return log


def test_arguments_that_are_no_json_are_told_unless_the_answer_was_cut_off(tmp_path: Path) -> None:
    found = told(broken("tool_calls"), tmp_path)
    assert codes(found) == [(1, "tool_arguments_invalid")]
    assert found[0][1].why == "the arguments are no JSON object"
    timeline = recorded(broken("length"), tmp_path)
    assert explain(timeline, 1).findings[0].code == "output_truncated"
    assert told(broken("length"), tmp_path) == []


# tool_unknown and tool_missing


@EVERY
def test_a_tool_that_was_never_offered_is_unknown(surface: str, tmp_path: Path) -> None:
    calls = [Call([User("q")], [Ask("c", "rotate")], tools=("stock",))]
    found = told(lines(surface, calls), tmp_path)
    assert codes(found) == [(1, "tool_unknown")]
    assert found[0][1].evidence.names == ("rotate",)


@EVERY
def test_a_tool_that_is_no_longer_offered_is_missing(surface: str, tmp_path: Path) -> None:
    both = grown(
        [
            User("Is the drill in?"),
            Ask("c1", "stock"),
            Got("c1", "2", "stock"),
            Say("Yes."),
            User("And on the shelf?"),
            Ask("c2", "stock"),
        ],
        tools=("stock", "shelf"),
    )
    calls = [*both[:2], Call(both[2].said, both[2].answer, tools=("shelf",))]
    found = told(lines(surface, calls), tmp_path)
    assert codes(found) == [(3, "tool_missing")]
    assert (found[0][1].severity, found[0][1].evidence.names) == ("high", ("stock",))


@EVERY
def test_an_answer_asked_for_without_tools_is_no_loss(surface: str, tmp_path: Path) -> None:
    whole = borrowing("1")
    last = Call(whole[3].said, whole[3].answer, tools=())
    assert told(lines(surface, [*whole[:3], last]), tmp_path) == []
    # It is one where the work goes on without them.
    further = Call(
        [*last.said, *(last.answer or ()), User("And the next?")], [Say("None.")], tools=()
    )
    found = told(lines(surface, [*whole[:3], last, further]), tmp_path)
    assert {(turn, f.code, f.severity) for turn, f in found} == {(4, "tool_missing", "low")}


def test_tools_of_an_mcp_server_and_found_by_search_are_not_unknown(tmp_path: Path) -> None:
    answer = {
        "id": "r",
        "status": "completed",
        "output": [
            {"type": "mcp_call", "id": "m", "name": "rotate", "arguments": "{}", "output": "ok"},
            {
                "type": "tool_search_output",
                "tools": [{"type": "namespace", "name": "n", "tools": [{"name": "deep"}]}],
            },
            {"type": "function_call", "call_id": "c", "name": "deep", "arguments": "{}"},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    log = lines("openai.responses", [Call([User("q")], tools=("stock",))])
    log[0]["response"] = answer
    assert told(log, tmp_path) == []


def test_a_failed_call_of_a_hosted_tool_is_told_at_the_answer_that_has_it(tmp_path: Path) -> None:
    item = {"type": "mcp_call", "id": "m", "name": "rotate", "arguments": "{}", "error": "refused"}
    first = Call([User("q")])
    log = lines("openai.responses", [first, Call([User("q"), Say("x"), User("r")])])
    log[0]["response"]["output"] = [item, *log[0]["response"]["output"]]
    log[1]["request"]["input"].insert(1, item)
    found = told(log, tmp_path)
    assert codes(found) == [(1, "tool_error")]
    assert (found[0][1].certainty, found[0][1].evidence.excerpts) == ("measured", ("refused",))
