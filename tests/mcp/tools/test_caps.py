"""No recorded text makes an answer larger than promised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.gate.policy import Policy

HEAVY = ["\x00", '"', "\U000e0041", "😀", "⟦", "x", "\\", "\n"]


@pytest.fixture
def heavy(
    request: pytest.FixtureRequest, new_trace: Callable[..., Path], block: Any, turn: Any
) -> Path:
    def blocks(prefix: str) -> list[Any]:
        return [
            block(
                f"{prefix}{n} " + request.param * 6_000, "user", f"label {n} {request.param * 50}"
            )
            for n in range(12)
        ]

    return new_trace(
        turn(blocks("a"), agent=request.param * 300),
        turn(blocks("a") + blocks("b"), agent=request.param * 300),
        turn(blocks("c"), agent=request.param * 300),
    )


@pytest.mark.parametrize("heavy", HEAVY, indirect=True, ids=lambda text: f"U+{ord(text):04X}")
def test_every_answer_stays_below_its_cap(heavy: Path, ask: Callable[..., Any]) -> None:
    small = Policy(default_cap=3_000)
    calls: list[tuple[str, dict[str, Any], int]] = [
        ("ctxdiff_runs", {}, 8_000),
        ("ctxdiff_explain", {}, 8_000),
        ("ctxdiff_explain", {"response_format": "detailed"}, 20_000),
        ("ctxdiff_diff", {"turn_a": 1, "turn_b": 3}, 8_000),
        ("ctxdiff_diff", {"turn_a": 1, "turn_b": 2, "response_format": "detailed"}, 20_000),
        ("ctxdiff_tokens", {}, 8_000),
        ("ctxdiff_cache", {}, 8_000),
        ("ctxdiff_block", {"turn": 2, "limit": 200}, 8_000),
        ("ctxdiff_block", {"turn": 1, "position": 0}, 8_000),
        ("ctxdiff_block", {"turn": 1, "position": 0, "max_chars": 16_000}, 20_000),
        ("ctxdiff_search", {"query": "a1", "limit": 50}, 8_000),
    ]
    for tool, arguments, cap in calls:
        given = arguments if tool == "ctxdiff_runs" else {"run": "latest", **arguments}
        answer = ask(tool, given)
        assert not answer.is_error
        assert wire(answer.text) <= cap, tool
        if cap == 8_000:
            assert wire(ask(tool, given, policy=small).text) <= 3_000, tool


def wire(text: str) -> int:
    """Bytes of the text inside a JSON message, and what stands around it."""
    doubled = sum(text.count(char) for char in '"\\\n\t')
    return len(text.encode()) + doubled + 300
