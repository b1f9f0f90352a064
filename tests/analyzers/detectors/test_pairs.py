"""Tool calls and results that lost each other, and those that only look so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import Ask, Call, Got, Say, User

REJECTED = {"type": "BadRequestError", "status": 400, "message": "the pair is broken"}
TALK = (
    User("Is the mitre saw back?"),
    Ask("call_saw", "lookup", (("q", "saw"),)),
    Got("call_saw", "The mitre saw came back on Tuesday, blade dull."),
    Say("It is back since Tuesday; the blade is dull."),
    User("And the ladder?"),
    Ask("call_ladder", "lookup", (("q", "ladder"),)),
    Got("call_ladder", "The ladder is out until Friday."),
)


def orphans(found: tuple[Finding, ...]) -> list[Finding]:
    return [one for one in found if one.code.startswith("orphan")]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_whole_pairs_are_no_finding(surface: str, tmp_path: Path) -> None:
    calls = wire.grown(TALK)
    for turn in range(1, len(calls) + 1):
        assert orphans(wire.findings(surface, calls, tmp_path, turn)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_result_whose_call_was_trimmed_is_named_with_its_place(
    surface: str, tmp_path: Path
) -> None:
    calls = [*wire.grown(TALK)[:2], Call(TALK[2:5])]
    (found,) = orphans(wire.findings(surface, calls, tmp_path))
    assert (found.code, found.turn, found.severity) == ("orphan_tool_result", 3, "medium")
    path = {
        "openai.chat": "messages[1]",
        "openai.responses": "input[0]",
        "gemini.generate_content": "contents[0].parts[0]",
    }.get(surface, "messages[0].content[0]")
    assert found.evidence.path == path
    has_ids = surface != "gemini.generate_content"
    assert found.evidence.names == (("call_saw",) if has_ids else ())


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_call_whose_result_was_dropped_is_named_with_its_tool(
    surface: str, tmp_path: Path
) -> None:
    calls = [*wire.grown(TALK)[:2], Call((*TALK[:2], *TALK[3:5]))]
    (found,) = orphans(wire.findings(surface, calls, tmp_path))
    assert (found.code, found.turn) == ("orphan_tool_call", 3)
    assert found.evidence.names[0] == "lookup"


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_broken_pair_that_the_provider_refused_is_grave(surface: str, tmp_path: Path) -> None:
    calls = [*wire.grown(TALK)[:2], Call(TALK[2:5], answer=None, error=REJECTED)]
    found = wire.findings(surface, calls, tmp_path)
    assert [(one.code, one.severity) for one in found[:2]] == [
        ("orphan_tool_result", "high"),
        ("call_failed", "high"),
    ]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_parallel_calls_may_be_answered_in_any_order(surface: str, tmp_path: Path) -> None:
    said = (
        User("Saw and ladder?"),
        Ask("a", "saws"),
        Ask("b", "ladders"),
        Got("b", "two ladders", "ladders"),
        Got("a", "one saw", "saws"),
    )
    assert orphans(wire.findings(surface, [Call(said)], tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_one_of_several_parallel_calls_without_its_result_is_found(
    surface: str, tmp_path: Path
) -> None:
    said = (User("Saw and ladder?"), Ask("a", "saws"), Ask("b", "ladders"))
    call = Call((*said, Got("b", "two ladders", "ladders")))
    (found,) = orphans(wire.findings(surface, [call], tmp_path))
    assert (found.code, found.evidence.names[0]) == ("orphan_tool_call", "saws")


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_many_broken_pairs_are_one_finding(surface: str, tmp_path: Path) -> None:
    names = ("saws", "ladders", "drills")
    results = [Got(f"c{n}", f"{n} left", name) for n, name in enumerate(names)]
    (found,) = orphans(wire.findings(surface, [Call((*results, User("So?")))], tmp_path))
    assert found.evidence.counts == (("blocks", 3),)


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_call_at_the_end_is_open_and_no_orphan(surface: str, tmp_path: Path) -> None:
    assert orphans(wire.findings(surface, [Call(TALK[:2])], tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_pair_that_is_broken_for_longer_names_its_first_turn(
    surface: str, tmp_path: Path
) -> None:
    calls = [*wire.grown(TALK)[:2], Call(TALK[2:5]), Call((*TALK[2:5], Say("No."), User("Why?")))]
    (found,) = orphans(wire.findings(surface, calls, tmp_path))
    assert (found.turn, found.severity) == (3, "low")


def test_a_result_for_a_call_that_the_provider_holds_is_no_orphan(tmp_path: Path) -> None:
    call = Call((Got("call_saw", "It is back."),), params={"previous_response_id": "resp_0"})
    assert orphans(wire.findings("openai.responses", [call], tmp_path)) == []


def test_a_call_behind_an_item_reference_is_no_orphan(tmp_path: Path) -> None:
    (line,) = wire.lines("openai.responses", [Call((Got("call_saw", "It is back."),))])
    line["request"]["input"].insert(0, {"type": "item_reference", "id": "fc_1"})
    timeline = wire.recorded([line], tmp_path)
    assert orphans(explain(timeline, 1).findings) == []


def test_tools_that_the_provider_runs_need_no_result_of_ours(tmp_path: Path) -> None:
    items = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "mcp_call", "id": "mcp_1", "name": "find", "arguments": "{}", "output": "ok"},
        {"type": "mcp_approval_request", "id": "ap_1", "name": "find", "arguments": "{}"},
        {"type": "code_interpreter_call", "id": "ci_1", "code": "1", "container_id": "c"},
    ]
    (line,) = wire.lines("openai.responses", [Call((User("Hello"),))])
    line["request"]["input"][1:1] = [*items, {"role": "user", "content": "And?"}]
    assert orphans(explain(wire.recorded([line], tmp_path), 1).findings) == []


def test_a_server_tool_of_anthropic_is_answered_in_the_models_own_message(tmp_path: Path) -> None:
    (line,) = wire.lines("anthropic.messages", [Call((User("Find it"), Say("Here."), User("Ok?")))])
    line["request"]["messages"][1]["content"][:0] = [
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "saw"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
        {"type": "mcp_tool_use", "id": "m_1", "name": "find", "input": {}, "server_name": "s"},
        {"type": "mcp_tool_result", "tool_use_id": "m_1", "content": [], "is_error": False},
    ]
    assert orphans(explain(wire.recorded([line], tmp_path), 1).findings) == []


def test_a_screen_that_answers_a_computer_call_is_no_orphan(tmp_path: Path) -> None:
    (line,) = wire.lines("openai.responses", [Call((User("Click"),))])
    line["request"]["input"] += [
        {"type": "computer_call", "call_id": "cc", "id": "cu", "action": {"type": "click"}},
        {
            "type": "computer_call_output",
            "call_id": "cc",
            "output": {"type": "computer_screenshot"},
        },
    ]
    assert orphans(explain(wire.recorded([line], tmp_path), 1).findings) == []


def test_without_recorded_ids_nothing_is_claimed(make: SimpleNamespace) -> None:
    run = make.run()
    call = make.call(
        {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
    )
    run.add(make.user("saw?"), call, make.tool("it is back"), make.user("and?"))
    run.add(make.tool("it is back"), make.user("and?"), make.assistant("no"), make.user("why?"))
    timeline = run.done()
    assert orphans(explain(timeline, 1).findings) == []
    assert orphans(explain(timeline, 2).findings) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_what_a_broken_pair_misses_is_not_told_twice(surface: str, tmp_path: Path) -> None:
    calls = wire.grown(TALK)
    calls[-1] = replace(calls[-1], said=(*TALK[:2], *TALK[3:]))
    found = wire.findings(surface, calls, tmp_path)
    assert [one.code for one in found if "orphan" in one.code or "evicted" in one.code] == [
        "orphan_tool_call"
    ]
