"""Hostile text in every field of a trace, through every tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import CallError

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ctxdiff_runs", {}),
    ("ctxdiff_explain", {"run": "latest"}),
    ("ctxdiff_explain", {"run": "latest", "turn": 3, "response_format": "detailed"}),
    ("ctxdiff_explain", {"run": "latest", "turn": 99}),
    ("ctxdiff_explain", {"run": "other", "turn": 2, "run_b": "demo"}),
    ("ctxdiff_explain", {"run": "latest", "agent": "nobody at all"}),
    ("ctxdiff_explain", {"run": "no such run"}),
    ("ctxdiff_diff", {"run": "latest", "turn_a": 1, "turn_b": 3}),
    ("ctxdiff_diff", {"run": "latest", "turn_a": 2, "turn_b": 1}),
    ("ctxdiff_diff", {"run": "demo", "run_b": "other"}),
    ("ctxdiff_diff", {"run": "demo", "run_b": "other", "cursor": 1}),
    ("ctxdiff_tokens", {"run": "latest"}),
    *[("ctxdiff_tokens", {"run": "latest", "by": by}) for by in ("call", "agent", "step", "model")],
    ("ctxdiff_cache", {"run": "latest"}),
    ("ctxdiff_block", {"run": "latest", "turn": 3}),
    ("ctxdiff_block", {"run": "latest", "turn": 1, "position": 1}),
    ("ctxdiff_search", {"run": "latest", "query": "e"}),
    ("ctxdiff_search", {"run": "demo", "query": "e", "turn": 2}),
    ("ctxdiff_search", {"run": "demo", "turn": 1}),
]


@pytest.fixture
def poisoned(new_trace: Callable[..., Path], block: Any, turn: Any) -> Callable[[str], Source]:
    """A run in which the text stands in every field that takes one."""

    def build(text: str) -> Source:
        safe = text.replace("\0", "") or "x"
        asked = block(text, "user", text, tagged=True)
        tool = block(f'{{"name": "{safe}"}}', "system", "tool_schema", "tool_schema")
        part = {"type": "tool_use", "id": text, "name": text, "input": {text: text, "x": [text]}}
        call = block(json.dumps(part), "assistant", "history", "content_part")
        common = {
            "agent": text,
            "step": text,
            "model": text,
            "provider": text,
            "finish": text,
        }
        path = new_trace(
            turn([tool, asked], [block(text, "assistant", "history"), call], **common),
            turn([tool, asked, block(text + "!", "user", text)], **common),
            turn(
                [tool, block(text + "?", text, text, text)],
                error=CallError(text, text, 429),
                **common,
            ),
            project=text,
        )
        params = {"stop": text, safe: [text]}
        new_trace(
            turn([block(text + " or so", "user", text)], [block(text + ".")], params=params),
            turn([asked, tool]),
            name="other",
            session_id="07" * 16,
        )
        return Source(path.parent)

    return build


def answers(source: Source, policy: Policy) -> Iterator[str]:
    context = Context(source, policy)
    for tool, arguments in CALLS:
        yield run_tool(BY_NAME[tool], context, arguments)[0]


def test_hostile_text_in_every_field_stays_in_frames_and_out_of_redacted_answers(
    hostile: str,
    properties: set[str],
    poisoned: Callable[[str], Source],
    parsed: Callable[[str], Any],
    hides: Callable[[str], set[str]],
) -> None:
    source = poisoned(hostile)
    for text in answers(source, Policy()):
        own = parsed(text).own
        assert "CNRY" not in own
        assert "SYSTEM NOTE" not in own
        assert hides(text) == set()
        assert text.endswith("\n")
        assert len(text.encode()) <= 20_000
    for text in answers(source, Policy("all")):
        assert not any(piece in text for piece in ("⟦", "CNRY", "SYSTEM NOTE"))
    source.close()
