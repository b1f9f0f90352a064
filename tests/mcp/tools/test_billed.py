"""What was billed, by call, agent, step and model, in the answers of `ctxdiff_tokens`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.answers.ledger import read_prices
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context

USAGE = {
    "prompt_tokens": 1_000,
    "completion_tokens": 200,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 50},
}
PRICES = '{"currency": "EUR", "models": {"gpt-5*": {"input": 1, "cache_read": 0.1, "output": 10}}}'


@pytest.fixture
def runs(new_trace: Callable[..., Path], block: Any, turn: Any) -> Path:
    """Two agents, two models, a step, and a call without usage."""
    one = block("Question?")
    return new_trace(
        turn([one], agent="ann", step="plan", usage=USAGE),
        turn([one], agent="bob", usage=USAGE, model="other-1"),
        turn([one], agent="ann", step="plan", usage=USAGE),
        turn([one], agent="ann"),
    ).parent


@pytest.fixture
def asked(runs: Path, tmp_path: Path) -> Callable[..., str]:
    """The answer of `ctxdiff_tokens`, from a server that was started with prices."""
    (tmp_path / "prices.json").write_text(PRICES)
    prices = read_prices(tmp_path / "prices.json")

    def ask(policy: Policy | None = None, **given: Any) -> str:
        source = Source(runs)
        context = Context(source, policy or Policy(), prices=prices)
        text, is_error = run_tool(BY_NAME["ctxdiff_tokens"], context, {"run": "latest", **given})
        source.close()
        assert not is_error, text
        return text

    return ask


BILLED = "1,000 prompt (400 read from cache, 0 written), 200 output (50 reasoning)"
TWICE = "2,000 prompt (800 read from cache, 0 written), 400 output (100 reasoning)"


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        (
            "call",
            [
                "- turn 4, ann: no usage reported",
                f"- turn 3, ann, step plan: {BILLED}, 0.00264 EUR",
                f"- turn 2, bob: {BILLED}, 1 call not priced",
                f"- turn 1, ann, step plan: {BILLED}, 0.00264 EUR",
            ],
        ),
        (
            "agent",
            [
                f"- ann: 2 of 3 calls, {TWICE}, 0.00528 EUR",
                f"- bob: 1 of 1 call, {BILLED}, 1 call not priced",
            ],
        ),
        (
            "step",
            [
                f"- ann, step plan: 2 of 2 calls, {TWICE}, 0.00528 EUR",
                f"- bob, step none: 1 of 1 call, {BILLED}, 1 call not priced",
                "- ann, step none: no usage reported",
            ],
        ),
        (
            "model",
            [
                f"- model gpt-5.4: 2 of 3 calls, {TWICE}, 0.00528 EUR",
                f"- model other-1: 1 of 1 call, {BILLED}, 1 call not priced",
            ],
        ),
    ],
)
def test_rows_are_what_was_billed(asked: Callable[..., str], by: str, rows: list[str]) -> None:
    text = asked(by=by)
    assert re.findall(r"^- .*$", text, re.MULTILINE) == rows
    assert "billed over 3 of 4 calls: 3,000 prompt (1,200 read from cache, 0 written), " in text
    assert "cost 0.00528 EUR, 2 calls priced\n" in text
    assert "not priced: other-1, 1 call, not in the price list\n" in text


def test_pages_stay_grouped(asked: Callable[..., str]) -> None:
    text = asked(by="agent", limit=1)
    assert 'next: ctxdiff_tokens(run="demo", by="agent", cursor=1)' in text
    assert "- bob: 1 of 1 call" in asked(by="agent", limit=1, cursor=1)


def test_an_amount_would_tell_the_model_and_is_not_shown_in_redact_mode(
    asked: Callable[..., str],
) -> None:
    for policy in (Policy("all"), Policy("all", counts="bucket"), Policy("text", counts="bucket")):
        for by in ("call", "agent", "step", "model"):
            text = asked(policy, by=by, run="r1")
            assert not re.search(r"EUR|cost|priced", text)
    assert "cost 0.00528 EUR" in asked(Policy("text"))


def test_without_prices_nothing_is_said_of_money(runs: Path, ask: Callable[..., Any]) -> None:
    assert not re.search(r"cost|priced", ask("ctxdiff_tokens", run="latest", by="agent").text)


def test_hidden_context_is_named_beside_the_difference(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any]
) -> None:
    params = {"previous_response_id": "resp_1"}
    new_trace(turn([block("And now?")], params=params, usage={"prompt_tokens": 1_602}))
    text = ask("ctxdiff_tokens", run="latest").text
    assert (
        "billed prompts minus recorded blocks +1,600: context that the provider keeps and the "
        "record does not have +1,600 (1 call) [previous_response_id]\n"
    ) in text
    hidden = ask("ctxdiff_tokens", run="r1", policy=Policy("all")).text
    assert "recorded blocks" not in hidden
