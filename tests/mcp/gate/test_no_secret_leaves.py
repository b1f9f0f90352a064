"""A credential is masked before anything is cut: no edge of an excerpt shows a part of it."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import CallError

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.gate.secrets import SecretTags
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ctxdiff_runs", {}),
    ("ctxdiff_tokens", {"run": "demo"}),
    *[("ctxdiff_tokens", {"run": "demo", "by": by}) for by in ("call", "agent", "step", "model")],
    ("ctxdiff_diff", {"run": "demo", "run_b": "other"}),
    ("ctxdiff_diff", {"run": "demo", "run_b": "other", "response_format": "detailed"}),
    ("ctxdiff_cache", {"run": "demo"}),
    ("ctxdiff_diff", {"run": "demo", "turn_a": 1, "turn_b": 2}),
    ("ctxdiff_diff", {"run": "demo", "turn_a": 1, "turn_b": 3, "response_format": "detailed"}),
    ("ctxdiff_search", {"run": "demo", "query": "filler"}),
    ("ctxdiff_search", {"run": "demo", "query": "tail"}),
    ("ctxdiff_search", {"run": "demo", "turn": 1}),
    ("ctxdiff_search", {"run": "demo", "query": "tail", "turn": 3}),
    *[
        ("ctxdiff_explain", {"run": "demo", "turn": at, "response_format": how, "limit": 100})
        for at in (1, 2, 3, 4)
        for how in ("concise", "detailed")
    ],
    *[
        (
            "ctxdiff_block",
            {"run": "demo", "turn": at, "position": 1, "offset": 90 * page, "max_chars": 90},
        )
        for at in (1, 2)
        for page in range(8)
    ],
]
ALNUM = string.ascii_letters + string.digits
SHAPES = {
    "aws": lambda body: "AKIA" + body[:16].upper(),
    "anthropic": lambda body: "sk-ant-api03-" + body,
    "openai": lambda body: "sk-proj-" + body[:48],
    "github": lambda body: "ghp_" + body[:36],
    "jwt": lambda body: f"eyJ{body[:40]}.{body[40:120]}.{body[120:160]}",
    "bearer": lambda body: "Bearer " + body[:64],
    "url": lambda body: f"postgresql://me:{body[:20]}@db.example.org/shop",
    "pem": lambda body: (
        f"-----BEGIN RSA PRIVATE KEY-----\n{body[:64]}\n{body[64:128]}\n-----END RSA PRIVATE KEY-----"
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(6))
def test_no_answer_shows_six_characters_of_a_credential_wherever_it_stands(
    new_trace: Callable[..., Path], block: Any, turn: Any, tmp_path: Path, shape: str, seed: int
) -> None:
    chance = random.Random(f"{shape} {seed}")
    bodies = ["".join(chance.choices(ALNUM, k=160)) for _ in range(2)]
    # The offsets at which texts are cut: 40, 80, 120, 160, 240, 300, and by the page, 90.
    offset = chance.choice([chance.randint(0, 330), *range(75, 400, 80)]) - chance.randint(0, 30)
    old, new = (
        ("filler " * 60)[: max(offset, 0)] + " " + SHAPES[shape](body) + " tail" * 40
        for body in bodies
    )
    system, note = block("You help.", "system", "system"), block(new, "user", new[:500])
    answer = block(old, "assistant", "history")
    part = {"type": "tool_use", "name": "f", "input": {"a": old[-200:], "b": [new[:190]], new: new}}
    call = block(json.dumps(part), "assistant", "history", "content_part")
    common = {"agent": old, "step": old, "model": new}
    new_trace(
        turn(
            [system, block(old, "system", "system"), block("q"), block(old + "?")],
            [answer, call],
            **common,
        ),
        turn(
            [system, block(new, "system", "system"), note],
            [block(new, "assistant")],
            finish="length",
            **common,
        ),
        turn(
            [system, block(old, "tool", "tool_output")],
            [],
            error=CallError(new, new, 429),
            params={"stop": [new], "response_format": {"type": new, "a": [old]}},
            **common,
        ),
        turn([system, note], [], finish="content_filter" + old, params={"stop": old}, **common),
        project=new,
    )
    new_trace(
        turn([system, block(new, "system", "system"), block("q"), block(new + "?")], **common),
        turn([system, block(old, "system", "system"), note], finish=new, **common),
        turn([block(new, "tool", "tool_output")], params={"stop": [old], "user": new}, **common),
        name="other",
        session_id="07" * 16,
    )
    source = Source(tmp_path / "runs")
    context = Context(source, Policy(hard_cap=20_000))
    said = "".join(run_tool(BY_NAME[tool], context, given)[0] for tool, given in CALLS)
    source.close()
    shutil.rmtree(tmp_path / "runs")
    assert "[secret:" in said
    kept = [body[:16].upper() if shape == "aws" else body for body in bodies]
    used = {"openai": 48, "github": 36, "bearer": 64, "url": 20, "pem": 128}.get(shape, 160)
    for body in kept:
        shown = [
            body[at : at + 6] for at in range(min(used, len(body)) - 5) if body[at : at + 6] in said
        ]
        assert shown == []


def test_pieces_of_a_credential_are_known_by_the_text_they_were_cut_from() -> None:
    key = "ghp_" + "".join(itertools.islice(itertools.cycle("aB3dE5gH"), 36))
    tags = SecretTags()
    for excerpt, shown in [
        (f"token {key[:9]}", "token [secret:github-token#1]"),
        (f"{key[-7:]} and {key[10:20]}…", "[secret:github-token#1] and [secret:github-token#1]…"),
        (f"whole {key}.", "whole [secret:github-token#1]."),
        ("nothing of it: ghp_", "nothing of it: ghp_"),
    ]:
        assert tags.masked_by(excerpt, ["other", f"token {key} end"]) == shown


def test_a_tag_is_not_taken_for_a_credential() -> None:
    tags = SecretTags()
    once = tags.masked("postgresql://me:hunter2@db/app")
    assert tags.masked(once) == once == "postgresql://me:[secret:password#1]@db/app"
