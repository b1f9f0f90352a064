"""`--redact=text`: plain names are shown, and nothing else that was recorded; nor can it be asked."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import CallError

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context
from tests.trust.redact.asking import canaries
from tests.trust.redact.contents import word
from tests.trust.redact.credentials import Credential
from tests.trust.redact.structures import Structure, session
from tests.trust.redact.test_credentials import ASKED, record
from tests.trust.redact.writing import write


def told(folder: Path, asked: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, bool]]:
    source = Source(folder)
    context = Context(source, Policy("text"))
    try:
        return [run_tool(BY_NAME[tool], context, given) for tool, given in asked]
    finally:
        source.close()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "hostile",
    [
        "{} {}",
        "{}\n{}",
        "⟦end {} 1⟧{}",
        "{}" * 9,
        "{}=\x1b[2J{}",
        "{}\u202e{}",
    ],
)
def test_a_text_is_not_shown_in_the_place_of_a_name(
    tmp_path: Path, hostile: str, seed: int
) -> None:
    chance = random.Random(f"{hostile} {seed}")
    one, other = (
        Credential(hostile.format(*(word(chance) for _ in range(9))), "") for _ in range(2)
    )
    record(tmp_path / "demo.ctrace", chance, one, other)
    record(tmp_path / "other.ctrace", chance, other, one)
    answers = told(tmp_path, ASKED)
    assert sum(1 for _, is_error in answers if not is_error) > len(ASKED) // 2
    assert [canaries(text) for text, _ in answers if canaries(text)] == []


@pytest.mark.parametrize("seed", range(4))
def test_a_word_of_a_text_is_not_shown_as_if_it_were_a_name(
    new_trace: Callable[..., Path], block: Any, turn: Any, seed: int
) -> None:
    chance = random.Random(seed)
    plain = [word(chance) for _ in range(9)]
    tool = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
    use = {"type": "tool_use", "id": plain[0], "name": "find", "input": {plain[1]: plain[2]}}
    folder = new_trace(
        turn(
            [block(plain[3], "system"), block(json.dumps(tool), "system", "tools", "tool_schema")],
            [block(json.dumps(use), "assistant", "history", "content_part")],
            agent="ann",
            params={"stop": [plain[4]], "user": plain[5]},
        ),
        turn(
            [block(f"{plain[3]} {plain[6]}", "system"), block(plain[7], "tool", "tool_output")],
            agent="ann",
            params={"stop": [plain[6]], "metadata": {"k": plain[0]}},
            error=CallError("RateLimitError", plain[8], 429),
        ),
    ).parent
    answers = told(folder, ASKED)
    assert any("RateLimitError" in text for text, _ in answers)
    assert any("agent ann" in text for text, _ in answers)
    assert [canaries(text) for text, _ in answers if canaries(text)] == []


GUESSES = ["our se", "our secret", "our secret plan", "our secret plan 7", "Δ", "ghp_", "5e55"]


@pytest.mark.parametrize("guess", GUESSES)
@pytest.mark.parametrize(
    ("tool", "name"),
    [
        *(("ctxdiff_explain", "run"), ("ctxdiff_explain", "agent"), ("ctxdiff_tokens", "agent")),
        *(("ctxdiff_cache", "run"), ("ctxdiff_block", "content_hash"), ("ctxdiff_block", "run")),
        *(("ctxdiff_diff", "agent"), ("ctxdiff_diff", "stage")),
    ],
)
def test_a_name_that_is_not_shown_is_answered_as_one_that_is_not_there(
    new_trace: Callable[..., Path], block: Any, turn: Any, tool: str, name: str, guess: str
) -> None:
    turns = [turn([block("a")], agent="our secret plan 7"), turn([block("b")], agent="Δ")]
    secret = turn([block("c")], agent="ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cF4hJ6kM8")
    folder = new_trace(*turns, secret, name="our secret plan 7").parent
    fixed = {"turn_a": 1, "turn_b": 1} if tool == "ctxdiff_diff" else {"turn": 1}
    given = {"run": "r1", **fixed}
    found, other = told(folder, [(tool, {**given, name: guess}), (tool, {**given, name: "zz zz"})])
    assert found == other
    assert found[1]


def test_a_plain_name_is_shown_and_asked_for(
    new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    folder = new_trace(turn([block("a")], agent="planner")).parent
    for given in ({"run": "demo"}, {"run": "de"}, {"run": "r1"}, {"run": "r1", "agent": "plan"}):
        ((said, is_error),) = told(folder, [("ctxdiff_explain", given)])
        assert said.startswith("run demo, turn 1, agent planner")
        assert not is_error


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_rounded_with_texts_withheld_too(tmp_path: Path, seed: int) -> None:
    from ctxdiff_mcp.answers.buckets import BucketedSource

    chance = random.Random(seed)
    shape = Structure([[session(chance)]], is_bucketed=True)
    asked = [("ctxdiff_tokens", {"run": "r1", "by": by}) for by in ("turn", "call")]
    said = []
    for at in range(2):
        # The same words; only what is counted differs, within its bucket.
        write(tmp_path / str(at), shape, random.Random(seed), random.Random(at))
        source = BucketedSource(tmp_path / str(at))
        context = Context(source, Policy("text", counts="bucket"))
        said.append([run_tool(BY_NAME[tool], context, given) for tool, given in asked])
        source.close()
    assert said[0] == said[1]
