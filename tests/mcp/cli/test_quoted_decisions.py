"""`explain` quotes what the program's planner said of a block that left."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from ctxdiff_capture import trace as recorder

RULES = {"role": "system", "content": "You answer questions about refunds, briefly and politely."}
FAQ = "Refunds are paid within 14 days of the return, to the card that was charged."
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
    ],
}


def evictions_of(
    ctxdiff: Callable[..., Any], path: Path, candidate: str | None
) -> list[dict[str, Any]]:
    """Findings of a run whose second turn lacks the text that the first one was tagged with."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=ANSWER))
    with httpx2.Client(transport=transport) as http, recorder.init("t", path=path) as tracer:
        client: Any = tracer.wrap(openai.OpenAI(api_key="k", http_client=http))
        history = [RULES, {"role": "user", "content": FAQ}, {"role": "user", "content": "How?"}]
        tracer.tag("rag", FAQ)
        client.chat.completions.create(model="gpt-4o", messages=history)
        if candidate is not None:
            tracer.decision(candidate, "dropped", "over budget by 40 tokens")
        tracer.decision("Shipping is free above 50.", "dropped", "nothing of this prompt")
        more = [history[0], history[2], {"role": "user", "content": "And when?"}]
        client.chat.completions.create(model="gpt-4o", messages=more)
    done = ctxdiff("explain", "--project", path, "--turn", "2", "--json")
    found: list[dict[str, Any]] = json.loads(done.out)["findings"]
    return [one for one in found if one["code"] == "context_evicted"]


@pytest.mark.parametrize("candidate", [FAQ, "Refunds are paid", "rag"])
def test_the_planners_reason_stands_beside_the_eviction(
    ctxdiff: Callable[..., Any], tmp_path: Path, candidate: str
) -> None:
    found = evictions_of(ctxdiff, tmp_path / "t.ctrace", candidate)

    assert f"{candidate[:80]} · dropped · over budget by 40 tokens" in json.dumps(
        found, ensure_ascii=False
    )
    assert "nothing of this prompt" not in json.dumps(found)


@pytest.mark.parametrize("candidate", [None, "ref", "Warranty"])
def test_a_decision_about_something_else_is_not_quoted(
    ctxdiff: Callable[..., Any], tmp_path: Path, candidate: str | None
) -> None:
    found = evictions_of(ctxdiff, tmp_path / "t.ctrace", candidate)

    assert len(found) >= 1
    assert "dropped" not in json.dumps(found)
