from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.schemas import SchemaUse, UnusedTool, schema_use


def use(make: SimpleNamespace, *inputs: Any, outputs: Any = (), has_outputs: bool = True) -> Any:
    run = make.run(has_outputs)
    run.add(*inputs, outputs=outputs, finish_reason="stop")
    return schema_use(run.done())


def test_a_tool_that_was_never_called_is_reported_with_its_cost(make: SimpleNamespace) -> None:
    search, never = (
        make.schema({"name": "search"}, tokens=20),
        make.schema({"name": "x"}, tokens=30),
    )
    called = make.call({"type": "tool_use", "id": "1", "name": "search", "input": {}}, tokens=50)
    assert use(make, search, never, called, outputs=[make.assistant("done")]) == SchemaUse(
        verdict="some_unused",
        schemas=2,
        registered=("search", "x"),
        unreadable=0,
        used=("search",),
        unused=(UnusedTool("x", 30, never.content_hash),),
        unused_tokens_per_call=30,
        pct_of_avg_context=30.0,
        calls_analyzed=1,
        approximate=False,
        unanswered_final_turn=False,
    )


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}},
        {"name": "get", "arguments": "{}"},
        {"type": "tool_use", "id": "t", "name": "get", "input": {}},
        {"function_call": {"name": "get", "args": {}}},
        {"functionCall": {"name": "get", "args": {}}},
        {"toolUse": {"toolUseId": "t", "name": "get", "input": {}}},
        {"type": "function_call", "call_id": "c", "name": "get", "arguments": "{}"},
    ],
)
def test_a_call_counts_in_the_shape_of_any_provider(make: SimpleNamespace, call: Any) -> None:
    # G-T1
    found = use(make, make.schema({"name": "get"}), make.call(call))
    assert (found.used, found.verdict) == (("get",), "all_used")


def test_a_name_inside_a_text_is_no_call(make: SimpleNamespace) -> None:
    # G-T1: the peer takes `get` as used because a result contains "forget".
    found = use(
        make,
        make.schema({"name": "get"}),
        make.tool("never forget"),
        make.assistant("I could call get"),
    )
    assert [tool.name for tool in found.unused] == ["get"]


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"type": "function", "function": {"name": "a", "parameters": {}}}, ("a",)),
        ({"name": "a", "input_schema": {}}, ("a",)),
        ({"function_declarations": [{"name": "a"}, {"name": "b"}]}, ("a", "b")),
        ({"functionDeclarations": [{"name": "a"}]}, ("a",)),
        ({"toolSpec": {"name": "a"}}, ("a",)),
        ({"type": "custom", "custom": {"name": "a"}}, ("a",)),
    ],
)
def test_names_are_read_from_the_schema_of_any_provider(
    make: SimpleNamespace, schema: Any, names: tuple[str, ...]
) -> None:
    # G-T2
    assert use(make, make.schema(schema)).registered == names


def test_each_of_several_tools_in_one_block_costs_its_share(make: SimpleNamespace) -> None:
    long = {"name": "b", "description": "Bakes."}
    both = make.schema({"function_declarations": [{"name": "a"}, long]}, tokens=41)
    half = use(make, both, make.call({"function_call": {"name": "a", "args": {}}}))
    assert [(tool.name, tool.tokens) for tool in half.unused] == [("b", 31)]
    none = use(make, both)
    assert [(tool.name, tool.tokens) for tool in none.unused] == [("a", 10), ("b", 31)]
    assert none.unused_tokens_per_call == 41


def test_schemas_without_a_readable_name_say_nothing(make: SimpleNamespace) -> None:
    # G-T2: vacuous, and said so.
    found = use(make, make.block("system", "not json", "tool_schema"))
    assert (found.verdict, found.unreadable, found.unused) == ("no_names", 1, ())


def test_no_schemas_is_a_verdict_of_its_own(make: SimpleNamespace) -> None:
    assert use(make, make.user("hello")).verdict == "no_schemas"


def test_a_tagged_schema_is_still_a_schema(make: SimpleNamespace) -> None:
    # G-T3
    found = use(make, make.schema({"name": "a"}, tag="rag"))
    assert (found.verdict, found.registered) == ("some_unused", ("a",))


def test_a_call_in_the_last_answer_is_a_use(make: SimpleNamespace) -> None:
    # G-T5
    call = make.call({"type": "tool_use", "id": "t", "name": "a", "input": {}})
    assert use(make, make.schema({"name": "a"}), outputs=[call]).verdict == "all_used"


def test_without_recorded_answers_the_last_one_is_not_guessed(make: SimpleNamespace) -> None:
    # G-T5
    found = use(make, make.schema({"name": "a"}), has_outputs=False)
    assert (found.verdict, found.unanswered_final_turn) == ("undecided", True)


def test_a_cache_marker_among_the_tools_is_no_tool(make: SimpleNamespace) -> None:
    found = use(make, make.schema({"name": "a"}), make.schema({"cachePoint": {"type": "default"}}))
    assert (found.schemas, found.unreadable) == (1, 0)
