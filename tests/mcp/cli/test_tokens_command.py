"""`ctxdiff-mcp tokens`: the ledger in the terminal and in JSON, at the user's prices."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
PRICES = {"models": {"*": {"input": 1, "output": 10, "cache_read": 0.1}}}


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(PRICES))
    return path


def test_amounts_in_json_are_exact_and_add_up(ctxdiff: Cli, demo: Path, prices: Path) -> None:
    done = ctxdiff("tokens", "--project", demo, "--json", "--by", "agent", "--prices", str(prices))
    assert (done.status, done.err) == (0, "")
    answer = json.loads(done.out)
    assert answer["cost"] == {
        "amount": "0.00618",
        "currency": None,
        "by_kind": {"input": "0.00303", "output": "0.00315"},
        "calls_priced": 9,
        "not_priced": [],
        "tokens_assumed_5m": 0,
    }
    rows = {row["agent"]: row for row in answer["ledger"]["rows"]}
    assert {name: row["cost"]["amount"] for name, row in rows.items()} == {
        "researcher": "0.005083",
        "writer": "0.001097",
    }
    assert (rows["writer"]["input_tokens"], rows["writer"]["calls_total"]) == (307, 3)
    assert answer["usage"]["input_tokens"] == 3_030
    assert answer["recorded_twice"] == []


def test_rows_are_shown_under_the_sums(ctxdiff: Cli, demo: Path, prices: Path) -> None:
    out = ctxdiff("tokens", "--project", demo, "--by", "step", "--prices", str(prices)).out
    assert "  cost 0.00618 (9 calls priced) · input 0.00303 · output 0.00315\n" in out
    assert (
        "\nbilled by step\n"
        "  researcher · research · 6/6 calls · in 2,723 · out 236 · 0.005083\n"
        "  writer · outline · 1/1 calls · in 43 · out 29 · 0.000333\n"
    ) in out


def test_a_model_without_a_price_is_named(ctxdiff: Cli, demo: Path, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"models": {"gpt*": {"input": 1, "output": 1}}}')
    out = ctxdiff("tokens", "--project", demo, "--prices", str(tmp_path / "p.json")).out
    assert "(6 calls priced)" in out
    assert "(3 calls): no entry in the price list\n" in out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file or directory"),
        (b"{", "it is no JSON: line 1"),
        (b"\xff", "is not UTF-8"),
        (b'{"models": {"m": {"input": -1, "output": 1}}}', "'m': `input` is no number from 0 up"),
        (b" " * 1_000_001, "is larger than 1 MB"),
    ],
)
def test_a_bad_price_list_is_wrong_use_told_in_one_line(
    ctxdiff: Cli, demo: Path, tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "p.json"
    if content is not None:
        path.write_bytes(content)
    done = ctxdiff("tokens", "--project", demo, "--prices", str(path))
    assert (done.status, done.out) == (2, "")
    assert words in done.err
    assert done.err.count("\n") == 1


def test_no_agent_is_kept_apart_from_an_agent_of_its_name(ctxdiff: Cli, trace: Any) -> None:
    path = trace(
        {"messages": [("user", "hello there")], "agent": "(unlabeled)"},
        {"messages": [("user", "hello")]},
    )
    answer = json.loads(ctxdiff("tokens", "--project", path, "--json").out)
    tokens = answer["block_tokens_by_agent"]
    assert list(tokens) == ["(unlabeled)", "((unlabeled))"]
    assert sum(tokens.values()) == sum(turn["total_tokens"] for turn in answer["turns"])
