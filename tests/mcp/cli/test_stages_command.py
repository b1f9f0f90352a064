"""`stages`: what the program held before a turn, and what it left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from ctxdiff_capture import trace as recorder

HELD = [
    {"role": "user", "content": text} for text in ("rules", "\x1b[31mfaq", "old news", "question")
]
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
    ],
}
SUMMARY = {"role": "user", "content": "a summary"}


@pytest.fixture
def optimised(tmp_path: Path) -> Path:
    """One turn whose optimiser dropped two messages for a summary, and one that held its tongue."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=ANSWER))
    with (
        httpx2.Client(transport=transport) as http,
        recorder.init("t", path=tmp_path / "t.ctrace") as tracer,
    ):
        client: Any = tracer.wrap(openai.OpenAI(api_key="k", http_client=http), "planner")
        tracer.snapshot(HELD)
        tracer.decision("faq", "dropped", "over budget", rank=4, tokens=900)
        tracer.after_tool("12 rows", "12", name="query")
        client.chat.completions.create(model="gpt-4o", messages=[HELD[0], SUMMARY, HELD[3]])
        client.chat.completions.create(model="gpt-4o", messages=[HELD[0]])
    return tmp_path / "t.ctrace"


def test_it_names_the_blocks_that_an_optimiser_removed(
    ctxdiff: Callable[..., Any], optimised: Path
) -> None:
    done = ctxdiff("stages", "--project", optimised, "--turn", "1")

    assert done.status == 0
    assert done.out.splitlines() == [
        "── before turn 1 · planner ──",
        "pre_optimization: 2 blocks removed (-7 tok), 1 put in (+2 tok), 0 edited, 2 kept",
        "  - held, not sent: [user·user] '⟦1B⟧[31mfaq' 5 tok",
        "  - held, not sent: [user·user] 'old news' 2 tok",
        "  + put in: [user·user] 'a summary' 2 tok",
        "tool results as the tools gave them, before they were changed:",
        "  '12 rows'",
        "decisions of the program:",
        "  'faq' dropped (rank 4; 900 tok; 'over budget')",
        "  'query' cut (2 tok; '2 characters entered the history, the tool gave 7')",
    ]


def test_its_json_has_the_same(ctxdiff: Callable[..., Any], optimised: Path) -> None:
    answer = json.loads(ctxdiff("stages", "--project", optimised, "--turn", "1", "--json").out)

    (stage,) = answer["stages"]
    assert (answer["seq"], answer["agent"], stage["counts"]["evicted"]) == (1, "planner", 2)
    assert [c["text"] for c in stage["changes"] if c["kind"] == "evicted"] == [
        "\x1b[31mfaq",
        "old news",
    ]
    assert answer["tool_results"] == ["12 rows"]
    assert [d["candidate"] for d in answer["decisions"]] == ["faq", "query"]


def test_a_turn_before_which_nothing_was_said_says_so(
    ctxdiff: Callable[..., Any], optimised: Path
) -> None:
    done = ctxdiff("stages", "--project", optimised, "--turn", "2")

    assert (done.status, done.out.splitlines()[1:]) == (
        0,
        ["the program said nothing before this turn"],
    )


@pytest.mark.parametrize(
    ("flags", "complaint"), [((), "no turn is named"), (("--turn", "9"), "no such turn")]
)
def test_a_turn_must_be_named_and_there(
    ctxdiff: Callable[..., Any], optimised: Path, flags: tuple[str, ...], complaint: str
) -> None:
    done = ctxdiff("stages", "--project", optimised, *flags)

    assert done.status != 0
    assert complaint in done.err
