"""Calls and results in the shapes of every provider."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ctxdiff_analyzers.calling import Asked, Result, asked_of, result_of
from hypothesis import given
from hypothesis import strategies as st

SAME = '{"a":1,"b":[true,null]}'
SPELLINGS: list[dict[str, Any]] = [
    {
        "id": "i",
        "type": "function",
        "function": {"name": "t", "arguments": '{"b":[true,null],"a":1}'},
    },
    {"type": "function_call", "call_id": "i", "id": "fc", "name": "t", "arguments": f" {SAME} "},
    {"type": "tool_use", "id": "i", "name": "t", "input": {"b": [True, None], "a": 1}},
    {"toolUse": {"toolUseId": "i", "name": "t", "input": {"a": 1, "b": [True, None]}}},
    {"function_call": {"id": "i", "name": "t", "args": {"a": 1, "b": [True, None]}}},
]


@pytest.mark.parametrize("part", SPELLINGS)
def test_the_same_call_is_the_same_on_every_surface(part: dict[str, Any]) -> None:
    assert asked_of(json.dumps(part)) == Asked("t", "i", SAME, True)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"name": "t", "arguments": "{}"}, Asked("t", None, "{}", True)),
        (
            {"type": "function", "id": "i", "function": {"name": "t", "arguments": '{"a":'}},
            Asked("t", "i", '{"a":', False),
        ),
        (
            {"type": "function", "id": "i", "function": {"name": "t", "arguments": ""}},
            Asked("t", "i", "{}", True),
        ),
        (
            {"type": "custom_tool_call", "call_id": "i", "name": "t", "input": "x = 1"},
            Asked("t", "i", "x = 1", True, is_free_text=True),
        ),
        (
            {"type": "custom", "id": "i", "custom": {"name": "t", "input": "x = 1"}},
            Asked("t", "i", "x = 1", True, is_free_text=True),
        ),
        (
            {"type": "mcp_call", "id": "i", "name": "t", "arguments": "{}", "output": "y"},
            Asked("t", "i", "{}", True, is_hosted=True),
        ),
        (
            {"type": "server_tool_use", "id": "i", "name": "web_search", "input": {"q": "x"}},
            Asked("web_search", "i", '{"q":"x"}', True, is_hosted=True),
        ),
        (
            {"type": "local_shell_call", "call_id": "i", "action": {"command": ["ls"]}},
            Asked("local_shell", "i", '{"command":["ls"]}', True, is_hosted=True),
        ),
        ({"type": "text", "text": "t"}, None),
        ({"type": "tool_use", "id": "i"}, None),
    ],
)
def test_a_call_is_read_with_what_its_kind_says(part: dict[str, Any], expected: Any) -> None:
    assert asked_of(json.dumps(part)) == expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "tool_result", "tool_use_id": "i", "content": "x"}, Result("i", None, "x", None)),
        (
            {
                "type": "tool_result",
                "tool_use_id": "i",
                "is_error": True,
                "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
            },
            Result("i", None, "x\ny", "is_error"),
        ),
        (
            {"toolResult": {"toolUseId": "i", "status": "error", "content": [{"text": "x"}]}},
            Result("i", None, "x", "status"),
        ),
        (
            {
                "toolResult": {
                    "toolUseId": "i",
                    "status": "success",
                    "content": [{"json": {"a": 1}}],
                }
            },
            Result("i", None, {"a": 1}, None),
        ),
        (
            {"function_response": {"name": "t", "response": {"error": "x"}}},
            Result(None, "t", {"error": "x"}, "error"),
        ),
        (
            {"function_response": {"name": "t", "response": {"error": None, "output": "x"}}},
            Result(None, "t", {"error": None, "output": "x"}, None),
        ),
        (
            {"type": "function_call_output", "call_id": "i", "output": "x", "status": "completed"},
            Result("i", None, "x", None),
        ),
        (
            {"type": "function_call_output", "call_id": "i", "output": "x", "status": "incomplete"},
            Result("i", None, "x", "status"),
        ),
        (
            {"type": "mcp_call", "id": "i", "name": "t", "error": "x", "output": None},
            Result("i", "t", "x", "error"),
        ),
        (
            {
                "type": "web_search_tool_result",
                "tool_use_id": "i",
                "content": {"type": "web_search_tool_result_error", "error_code": "max_uses"},
            },
            Result(
                "i",
                None,
                {"type": "web_search_tool_result_error", "error_code": "max_uses"},
                "error_code",
            ),
        ),
        (
            {"code_execution_result": {"outcome": "OUTCOME_FAILED", "output": "x"}},
            Result(None, "code_execution", "x", "outcome"),
        ),
        (
            {
                "type": "shell_call_output",
                "call_id": "i",
                "output": [{"stdout": "", "outcome": {"type": "exit", "exit_code": 2}}],
            },
            Result(
                "i", None, [{"stdout": "", "outcome": {"type": "exit", "exit_code": 2}}], "outcome"
            ),
        ),
        ({"type": "text", "text": "x"}, None),
    ],
)
def test_a_result_is_read_with_its_flag(part: dict[str, Any], expected: Any) -> None:
    assert result_of(json.dumps(part), "user") == expected


def test_a_message_of_a_tool_is_its_result_as_it_is() -> None:
    assert result_of("x", "tool") == Result(None, None, "x", None)
    assert result_of('{"error": "x"}', "tool") == Result(None, None, '{"error": "x"}', None)
    assert result_of('{"type": "text", "text": "x"}', "tool") == Result(None, None, "x", None)
    assert result_of("x", "user") is None


@given(st.text(max_size=60) | st.just('{"a":' * 4_000))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert asked_of(text) is None
    assert result_of(text, "assistant") is None


@given(
    st.fixed_dictionaries(
        {},
        optional={
            key: st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just([{}])
            for key in (
                *("type", "name", "arguments", "input", "function", "functionCall", "toolUse"),
                *("toolResult", "function_response", "content", "output", "status", "error", "id"),
            )
        },
    )
)
def test_any_part_is_read_without_an_error(part: dict[str, Any]) -> None:
    text = json.dumps(part)
    asked, result = asked_of(text), result_of(text, "user")
    assert asked is None or asked.name
    assert result is None or result.flag is None or result.flag
