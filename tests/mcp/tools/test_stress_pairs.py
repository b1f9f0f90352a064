"""Redact mode against many contents of many structures; opt-in, see docs/trust.md."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import CallError

from ctxdiff_mcp.answers.redacted import RedactedSource
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context

STRUCTURES, CONTENTS = 50, 11
"""Per seed: 20 seeds make 10,000 pairs."""
LETTERS = "qxzjkvwyQXZJKVWY"
ROLES = ("system", "developer", "user", "assistant", "tool", "function", "model")
KINDS = ("message", "message", "content_part", "tool_schema", "image")


@dataclass(frozen=True)
class Structure:
    """All that a redacted answer may depend on."""

    blocks: Sequence[tuple[str, str, int]]
    """Role, kind, tokens of each distinct block."""
    turns: Sequence[dict[str, Any]]


def structure(chance: random.Random) -> Structure:
    blocks = [
        (chance.choice(ROLES), chance.choice(KINDS), chance.choice([0, 3, 40, 40, 700]))
        for _ in range(chance.randint(2, 12))
    ]
    held: list[int] = []
    turns = []
    for _ in range(chance.randint(1, 6)):
        held = [at for at in held if chance.random() < 0.8]
        held += chance.choices(range(len(blocks)), k=chance.randint(0, 4))
        if chance.random() < 0.2:
            chance.shuffle(held)
        turns.append(
            {
                "inputs": [(at, chance.randint(0, 2), chance.random() < 0.3) for at in held],
                "outputs": chance.choices(range(len(blocks)), k=chance.randint(0, 2)),
                "agent": chance.choice([None, 0, 0, 1]),
                "has_step": chance.random() < 0.5,
                "has_finish": chance.random() < 0.7,
                "status": chance.choice([None, None, None, 400, 429]),
                "usage": chance.choice([None, {"prompt_tokens": 900, "completion_tokens": 30}]),
            }
        )
    return Structure(blocks, turns)


def word(chance: random.Random, least: int = 7) -> str:
    return "".join(chance.choices(LETTERS, k=chance.randint(least, least + 6)))


def text(chance: random.Random, known: Sequence[str]) -> str:
    """A text of one of the kinds that analyzers tell apart."""
    base = " ".join(word(chance) for _ in range(chance.randint(1, 40)))
    name = chance.choice(["lookup", "fetch", word(chance)])
    kinds = [
        lambda: base,
        lambda: "\n".join([base] * chance.randint(1, 30)),
        lambda: chance.choice(known) + " " + base if known else base,
        lambda: (
            chance.choice(known)[: chance.randint(1, 200)] + "…" + word(chance) if known else base
        ),
        lambda: json.dumps(
            {"type": "tool_use", "id": word(chance), "name": name, "input": {"q": base}}
        ),
        lambda: json.dumps({"type": "tool_result", "tool_use_id": word(chance), "content": base}),
        lambda: json.dumps(
            {"type": "function", "function": {"name": name, "parameters": {"a": base}}}
        ),
        lambda: json.dumps({"name": name, "description": base, "input_schema": {}}),
        lambda: json.dumps(
            {
                "tool_calls": [
                    {"id": word(chance), "function": {"name": name, "arguments": "{" + base}}
                ]
            }
        ),
        lambda: json.dumps({"type": "thinking", "thinking": base}),
        lambda: json.dumps({"type": chance.choice(["refusal", "image", "text"]), "refusal": base}),
        lambda: f"{base} 2026-11-{chance.randint(10, 28)}T10:{chance.randint(10, 59)}:00Z",
        lambda: f"Error: {base} context_length_exceeded",
        lambda: f"[secret:password#1] sk-ant-{word(chance)}{word(chance)}{word(chance)}",
        lambda: " " * chance.randint(0, 3) + word(chance) + " \t\n" * chance.randint(0, 3),
        lambda: f"⟦end {word(chance)} 1⟧\n{base}\x00\u202e",
    ]
    return chance.choice(kinds)()


def content(chance: random.Random, shape: Structure) -> dict[str, Any]:
    texts: list[str] = []
    while len(texts) < len(shape.blocks):
        found = text(chance, texts)
        texts += [found] if found not in texts else []
    if chance.random() < 0.3:
        texts[chance.randrange(len(texts))] = ""
    return {
        "texts": texts,
        "agents": [word(chance), chance.choice([word(chance), "(unlabeled)", "a1", "no agent"])],
        "labels": [
            word(chance),
            chance.choice(["system", "rag", word(chance)]),
            chance.choice(["user", "tool_output", word(chance)]),
        ],
        "model": chance.choice(["gpt-5.4", "claude-5", word(chance)]),
        "provider": chance.choice(["openai", "anthropic", word(chance)]),
        "words": [
            chance.choice(["stop", "length", "content_filter", "refusal", word(chance)])
            for _ in shape.turns
        ],
        "errors": [
            chance.choice(
                [word(chance), "prompt is too long: 9 tokens > 8 maximum", "APIConnectionError"]
            )
            for _ in shape.turns
        ],
        "params": [
            chance.choice(
                [
                    {},
                    {"stop": word(chance)},
                    {"max_tokens": chance.randint(1, 9_999_999), "stream": True},
                    {"temperature": chance.random()},
                ]
            )
            for _ in shape.turns
        ],
        "method": chance.choice(["tiktoken", "tiktoken", "estimate"]),
        "project": word(chance),
        "file": chance.choice(["demo", word(chance), f"{word(chance)}/{word(chance)}"]),
    }


def calls(shape: Structure) -> list[tuple[str, dict[str, Any]]]:
    last = len(shape.turns)
    found: list[tuple[str, dict[str, Any]]] = [
        ("ctxdiff_runs", {}),
        ("ctxdiff_explain", {"run": "latest"}),
        ("ctxdiff_explain", {"run": "r1", "agent": "a1"}),
        ("ctxdiff_explain", {"run": "r1", "agent": "a9"}),
        ("ctxdiff_explain", {"run": "demo"}),
        ("ctxdiff_tokens", {"run": "r1"}),
        ("ctxdiff_tokens", {"run": "r1", "agent": "a2", "context_window": 1_000}),
        ("ctxdiff_cache", {"run": "r1"}),
        ("ctxdiff_cache", {"run": "r1", "agent": "a1", "limit": 1}),
        ("ctxdiff_search", {"run": "r1", "query": "error"}),
        ("ctxdiff_block", {"run": "r1", "content_hash": "b1"}),
        ("ctxdiff_block", {"run": "r1", "content_hash": "b9", "offset": 3}),
        ("ctxdiff_block", {"run": "r1", "turn": 1, "position": 1}),
        ("ctxdiff_block", {"run": "r1", "content_hash": "abcdef"}),
    ]
    for turn in range(1, last + 1):
        found += [
            ("ctxdiff_explain", {"run": "r1", "turn": turn, "context_window": 1_000}),
            ("ctxdiff_explain", {"run": "r1", "turn": turn, "response_format": "detailed"}),
            ("ctxdiff_block", {"run": "r1", "turn": turn}),
            ("ctxdiff_diff", {"run": "r1", "turn_a": turn, "turn_b": last}),
            ("ctxdiff_diff", {"run": "r1", "turn_a": turn, "turn_b": 1, "limit": 2, "cursor": 1}),
            ("ctxdiff_tokens", {"run": "r1", "turn": turn}),
            ("ctxdiff_cache", {"run": "r1", "turn": turn}),
        ]
    return found


def redacted(
    write: Any, block: Any, turn: Any, shape: Structure, held: dict[str, Any]
) -> list[tuple[str, bool]]:
    class Counted(block):  # type: ignore[misc]
        at: int

        def placed(self) -> Any:
            placed = super().placed()
            tokens = shape.blocks[self.at][2]
            counted = replace(placed.block, token_count=tokens, token_method=held["method"])
            return replace(placed, block=counted)

    def one(at: int, label: int = 0, tagged: bool = False) -> Any:
        role, kind, _ = shape.blocks[at]
        made = Counted(held["texts"][at], role, held["labels"][label], kind, tagged)
        made.at = at
        return made

    turns = [
        turn(
            [one(*place) for place in row["inputs"]],
            [one(at) for at in row["outputs"]],
            agent=None if row["agent"] is None else held["agents"][row["agent"]],
            model=held["model"],
            provider=held["provider"],
            step=held["project"] if row["has_step"] else None,
            finish=held["words"][n] if row["has_finish"] else None,
            error=None
            if row["status"] is None
            else CallError(held["errors"][n], held["errors"][n], row["status"]),
            usage=row["usage"],
            params=held["params"][n],
        )
        for n, row in enumerate(shape.turns)
    ]
    path = write(*turns, project=held["project"], name=held["file"])
    source = RedactedSource(path.parents[held["file"].count("/")])
    context = Context(source, Policy("all"))
    found = [run_tool(BY_NAME[tool], context, given) for tool, given in calls(shape)]
    source.close()
    shutil.rmtree(source.root)
    return found


def check_pairs(write: Any, block: Any, turn: Any, chance: random.Random, contents: int) -> None:
    shape = structure(chance)
    first = redacted(write, block, turn, shape, content(chance, shape))
    for _ in range(contents - 1):
        held = content(chance, shape)
        found = redacted(write, block, turn, shape, held)
        for call, one, other in zip(calls(shape), first, found, strict=True):
            assert one == other, (call, shape, held)
        said = "".join(answer for answer, _ in found)
        for secret in (*held["texts"], *held["agents"], held["project"]):
            pieces = {secret[at : at + 6] for at in range(len(secret) - 5)}
            assert not any(piece in said for piece in pieces if set(piece) <= set(LETTERS))


@pytest.mark.parametrize("seed", range(4))
def test_contents_of_one_structure_cannot_be_told_apart(
    new_trace: Callable[..., Path], block: Any, turn: Any, seed: int
) -> None:
    check_pairs(new_trace, block, turn, random.Random(f"few {seed}"), contents=4)


@pytest.mark.stress
@pytest.mark.timeout(3_600)
@pytest.mark.skipif(not os.environ.get("CTXDIFF_STRESS"), reason="CTXDIFF_STRESS is not set")
@pytest.mark.parametrize("seed", range(20))
def test_ten_thousand_pairs_of_contents_cannot_be_told_apart(
    new_trace: Callable[..., Path], block: Any, turn: Any, seed: int
) -> None:
    chance = random.Random(f"many {seed}")
    for _ in range(STRUCTURES):
        check_pairs(new_trace, block, turn, chance, CONTENTS)
