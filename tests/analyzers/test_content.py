from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from ctxdiff_analyzers.content import (
    ToolCall,
    is_tool_result,
    part_id,
    part_type,
    schema_names,
    spoken,
    tool_calls,
    without_markers,
)
from hypothesis import given, settings
from hypothesis import strategies as st

MARK = {"cache_control": {"type": "ephemeral"}}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "name", "id", "function", "toolUse", "text", "tool_result"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def everything(text: str) -> tuple[Any, ...]:
    readers = (
        tool_calls,
        is_tool_result,
        part_id,
        part_type,
        schema_names,
        without_markers,
        spoken,
    )
    return tuple(reader(text) for reader in readers)


@settings(deadline=None)
@given(values)
def test_any_json_is_read_without_harm(value: Any) -> None:
    assert len(everything(json.dumps(value))) == 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[{",
        "not json",
        '{"a": ' * 50_000,
        '{"cache_control": ' + '{"a": ' * 450 + "1" + "}" * 451,
        '{"n": ' + "9" * 5_000 + "}",
        '{"text": "\\ud800", "type": "text"}',
    ],
)
def test_hostile_text_is_read_without_harm(text: str) -> None:
    assert everything(text)[0] == ()


def test_an_id_joins_a_call_and_its_result() -> None:
    assert tool_calls('{"id": "c1", "type": "function", "function": {"name": "a"}}') == (
        ToolCall("a", "c1"),
    )
    assert part_id('{"content": "4 C", "tool_use_id": "t1", "type": "tool_result"}') == "t1"
    assert part_id('{"toolResult": {"toolUseId": "t2", "content": []}}') == "t2"
    assert part_id("plain words") is None


@pytest.mark.parametrize(
    ("part", "bare"),
    [
        ({"type": "text", "text": "hi"} | MARK, "hi"),
        ({"type": "text", "text": "hi"}, "hi"),
        ({"cachePoint": {"type": "default"}}, ""),
        ({"name": "a"} | MARK, '{"name": "a"}'),
        (
            {"type": "tool_result", "content": [{"type": "text", "text": "x"} | MARK]},
            '{"content": "x", "type": "tool_result"}',
        ),
        (
            {"type": "function_call_output", "output": [{"type": "input_text", "text": "x"}]},
            '{"output": "x", "type": "function_call_output"}',
        ),
        (
            {"type": "tool_result", "content": [{"type": "text", "text": t} for t in "xy"]},
            None,
        ),
        ({"type": "tool_result", "content": [{"type": "text", "text": "x", "n": 1}]}, None),
        (
            {"type": "tool_result", "content": "x", "is_error": False},
            '{"content": "x", "type": "tool_result"}',
        ),
        ({"type": "tool_result", "content": "x", "is_error": True}, None),
        ({"type": "document", "content": [{"type": "text", "text": "x"}]}, None),
        ({"type": "text", "text": "hi", "citations": []}, None),
    ],
)
def test_markers_and_wrapping_are_no_content(part: Any, bare: str | None) -> None:
    text = json.dumps(part, sort_keys=True)
    assert without_markers(text) == (text if bare is None else bare)


def test_words_about_markers_stay() -> None:
    text = "use cache_control on the last block"
    assert without_markers(text) == text


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"type": "text", "text": "hi"} | MARK, "hi"),
        ({"type": "tool_use", "id": "t1", "name": "find", "input": {"q": "saw", "n": 3}}, "find\nsaw\n3"),
        ({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, "hm"),
        ({"toolResult": {"toolUseId": "t1", "content": [{"text": "4 C"}], "status": "success"}}, "4 C"),
    ],
)  # fmt: skip
def test_what_a_part_says_is_told_without_its_wrapping(part: Any, said: str) -> None:
    assert spoken(json.dumps(part)) == said


def test_plain_words_say_what_they_say() -> None:
    assert spoken("4 C, no wind") == "4 C, no wind"
    assert spoken("{not json") == "{not json"


def items_of_the_sdk() -> dict[str, frozenset[str]]:
    """The types of items that the installed openai SDK sends, with the members each must have."""
    responses = pytest.importorskip("openai.types.responses")

    def models(union: Any) -> list[Any]:
        inner = get_args(union)
        return [m for one in inner for m in models(one)] if inner else [union]

    found = {}
    for model in models(responses.ResponseInputItem):
        fields = getattr(model, "model_fields", {})
        needed = frozenset(name for name, field in fields.items() if field.is_required())
        for told in models(fields["type"].annotation) if "type" in fields else ():
            if isinstance(told, str):
                found[told] = needed
    return found


def test_every_call_and_result_of_the_responses_api_is_known_as_one() -> None:
    items = items_of_the_sdk()
    assert {"computer_call", "shell_call", "apply_patch_call_output", "mcp_call"} <= set(items)
    for kind, members in items.items():
        item = dict.fromkeys(members, "x") | {"type": kind, "call_id": "c"}
        text = json.dumps(item, sort_keys=True)
        calls = [(call.name, call.id) for call in tool_calls(text)]
        assert is_tool_result(text) == kind.endswith("_output"), kind
        if kind in ("function_call", "custom_tool_call"):
            assert calls == [("x", "c")]
        elif kind.endswith("_call") and kind != "mcp_call":
            assert calls == [(kind.removesuffix("_call"), "c")]
        else:  # an MCP server's tools are not declared by the request
            assert calls == [], kind
