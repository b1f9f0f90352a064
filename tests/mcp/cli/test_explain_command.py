"""`ctxdiff-mcp explain`: which turn, and how much of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

MANY: list[dict[str, Any]] = [
    {
        "messages": [],
        "request": {
            "model": "m-1",
            "temperature": 0,
            "max_tokens": 90,
            "tool_choice": "auto",
            "messages": [
                {"role": "system", "content": "Weigh each crate twice and note both numbers."},
                {"role": "user", "content": "Where is crate 14?"},
            ],
        },
    },
    {
        "messages": [],
        "request": {
            "model": "m-2",
            "temperature": 1,
            "max_tokens": 20,
            "tool_choice": "none",
            "reasoning_effort": "low",
            "messages": [
                {"role": "system", "content": "Answer in rhymes, and never tell a number."},
                {"role": "user", "content": "Where is crate 14?"},
            ],
        },
        "error": {"type": "InternalServerError", "status": 500, "message": "shard restarted"},
        "response": None,
    },
]


def test_the_first_few_findings_are_shown_unless_all_are_asked_for(
    ctxdiff: Callable[..., Any], trace: Callable[..., Path]
) -> None:
    path = trace(*[dict(call) for call in MANY])
    short = ctxdiff("explain", "--project", path, "--turn", "2").out
    whole = ctxdiff("explain", "--project", path, "--turn", "2", "--detailed").out
    (answer,) = [json.loads(ctxdiff("explain", "--project", path, "--turn", "2", "--json").out)]
    codes = [finding["code"] for finding in answer["findings"]]
    assert len(codes) > 5
    assert codes[0] == "call_failed"
    assert f"{len(codes) - 5} more: --detailed" in short
    assert "more: --detailed" not in whole
    assert f"{len(codes)}. {codes[-1]}" in whole
    assert f"{len(codes)}. {codes[-1]}" not in short


def test_without_a_turn_the_first_that_broke_is_told_and_the_others_are_named(
    ctxdiff: Callable[..., Any], trace: Callable[..., Path]
) -> None:
    failed = {"error": {"type": "APIError", "status": 500, "message": "x"}, "response": None}
    path = trace(*[{**MANY[0], **more} for more in ({}, failed, {}, failed)])
    answer = json.loads(ctxdiff("explain", "--project", path, "--json").out)
    assert (answer["turn"], answer["chosen_by"]) == (2, "failed")
    assert answer["also_broken"] == [{"turn": 4, "agent": None, "code": "call_failed"}]
    assert "broke later too: turn 4 call_failed" in ctxdiff("explain", "--project", path).out
    healthy = trace(dict(MANY[0]), name="healthy")
    answer = json.loads(ctxdiff("explain", "--project", healthy, "--json").out)
    assert (answer["chosen_by"], answer["findings"], answer["also_broken"]) == ("last", [], [])
