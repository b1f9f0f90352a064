"""`--redact-counts=bucket`: no answer depends on more than two digits of a token count."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.answers.redacted import RedactedSource
from ctxdiff_mcp.answers.refs import two_digits
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ctxdiff_runs", {}),
    ("ctxdiff_tokens", {"run": "r1"}),
    ("ctxdiff_tokens", {"run": "r1", "turn": 2, "context_window": 9_000}),
    *[("ctxdiff_tokens", {"run": "r1", "by": by}) for by in ("call", "agent", "step", "model")],
    ("ctxdiff_cache", {"run": "r1"}),
    ("ctxdiff_block", {"run": "r1", "turn": 3}),
    ("ctxdiff_block", {"run": "r1", "content_hash": "b2"}),
    *[("ctxdiff_diff", {"run": "r1", "turn_a": at, "turn_b": 4}) for at in (1, 2, 3)],
    *[
        (
            "ctxdiff_explain",
            {"run": "r1", "turn": at, "response_format": how, "context_window": 9_000},
        )
        for at in (1, 2, 3, 4)
        for how in ("concise", "detailed")
    ],
]
ROWS = ([0, 1, 2], [0, 1, 3, 4], [0, 5, 1, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7])


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, 0),
        (7, 7),
        (99, 99),
        (104, 100),
        (105, 110),
        (995, 1000),
        (12_499, 12_000),
        (-1_250, -1_300),
    ],
)
def test_a_count_keeps_two_digits(count: int, shown: int) -> None:
    assert two_digits(count) == shown
    assert two_digits(shown) == shown


def answers(write: Any, block: Any, turn: Any, counts: list[int], usage: list[int]) -> list[str]:
    class Counted(block):  # type: ignore[misc]
        def placed(self) -> Any:
            placed = super().placed()
            at = int(self.text.split()[-1])
            return replace(placed, block=replace(placed.block, token_count=counts[at]))

    billed = {
        "prompt_tokens": usage[0],
        "completion_tokens": usage[1],
        "prompt_tokens_details": {"cached_tokens": usage[2]},
    }
    turns = [
        turn(
            [Counted(f"text number {at}", "user", f"label {at % 3}") for at in row],
            agent=f"agent {n % 2}",
            usage=billed,
        )
        for n, row in enumerate(ROWS)
    ]
    path = write(*turns)
    source = RedactedSource(path.parent, rounds_counts=True)
    context = Context(source, Policy("all", counts="bucket"))
    found = [run_tool(BY_NAME[tool], context, given)[0] for tool, given in CALLS]
    source.close()
    shutil.rmtree(path.parent)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_counts_that_differ_within_their_bucket_give_the_same_answers_byte_for_byte(
    new_trace: Callable[..., Path], block: Any, turn: Any, seed: int
) -> None:
    chance = random.Random(seed)

    def near(bucket: int) -> int:
        unit = 10 ** (len(str(bucket)) - 2)
        return bucket + chance.randint(-(unit // 2) + 1, unit // 2 - 1)

    # Near one another, so that sums, shares and orders turn on the digits that are hidden.
    buckets = [chance.choice([1_100, 1_200, 12_000, 980]) for _ in range(11)]
    one, other = ([near(bucket) for bucket in buckets] for _ in range(2))
    assert one != other
    found, expected = (answers(new_trace, block, turn, row[:8], row[8:]) for row in (one, other))
    assert found == expected
    exact = {f"{count:,}" for count in [*one, *other] if two_digits(count) != count}
    assert not exact & set(re.findall(r"[0-9,]*[0-9]", "".join(found)))


def test_every_shown_count_has_two_digits(
    new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    said = "".join(
        answers(
            new_trace,
            block,
            turn,
            [1_234, 777, 12_345, 55_555, 321, 987, 4_567, 8_901],
            [99_999, 4_321, 10_101],
        )
    )
    shown = re.findall(r"([0-9,]*[0-9]) (?:tokens?|prompt|read from cache|output)\b", said)
    assert len(shown) > 50
    assert all(
        two_digits(int(count.replace(",", ""))) == int(count.replace(",", "")) for count in shown
    )


def test_counts_in_lists_are_rounded_too(new_trace: Callable[..., Path], turn: Any) -> None:
    usage = {"cacheWriteInputTokens": 123, "cacheDetails": [{"ttl": "5m", "inputTokens": 123}]}
    source = RedactedSource(new_trace(turn([], usage=usage)).parent, rounds_counts=True)
    opened = source.open(source.listing().runs[0])
    assert opened.recording.calls[0].usage == {
        "cacheWriteInputTokens": 120,
        "cacheDetails": [{"ttl": "5m", "inputTokens": 120}],
    }
    source.close()


def test_rounding_outside_redact_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="in redact mode only"):
        Policy("off", counts="bucket")


def test_the_server_rounds_when_it_is_told_to(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any]
) -> None:
    new_trace(turn([block("four" * 1_234)], usage={"prompt_tokens": 1_250}))
    exact = ask("ctxdiff_tokens", run="r1", policy=Policy("all")).text
    rounded = ask("ctxdiff_tokens", run="r1", policy=Policy("all", counts="bucket")).text
    assert "- turn 1, no agent: ~1,234 tokens, billed 1,250 (+16); L1 1,234 (100.0 %)" in exact
    assert "- turn 1, no agent: ~1,200 tokens, billed 1,300 (+100); L1 1,200 (100.0 %)" in rounded
