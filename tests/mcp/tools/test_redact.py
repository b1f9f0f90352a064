"""Redact mode is non-interference: what is said does not depend on what was recorded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import CallError
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ctxdiff_mcp.answers.redacted import RedactedSource
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, TOOLS, run_tool
from ctxdiff_mcp.tools.tool import Context

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ctxdiff_runs", {}),
    ("ctxdiff_explain", {"run": "latest"}),
    ("ctxdiff_explain", {"run": "r1", "turn": 2}),
    ("ctxdiff_explain", {"run": "r1", "turn": 1, "agent": "a1"}),
    ("ctxdiff_explain", {"run": "r1", "turn": 2, "response_format": "detailed"}),
    ("ctxdiff_explain", {"run": "r1", "agent": "researcher"}),
    ("ctxdiff_explain", {"run": "demo"}),
    ("ctxdiff_explain", {"run": "5e55"}),
    ("ctxdiff_explain", {"run": "r1", "turn": 2, "run_b": "r1"}),
    ("ctxdiff_diff", {"run": "r1", "turn_a": 1, "turn_b": 2}),
    ("ctxdiff_diff", {"run": "r1", "turn_a": 3, "turn_b": 1}),
    ("ctxdiff_tokens", {"run": "r1"}),
    ("ctxdiff_tokens", {"run": "r1", "turn": 3}),
    *[("ctxdiff_tokens", {"run": "r1", "by": by}) for by in ("call", "agent", "step", "model")],
    ("ctxdiff_diff", {"run": "r1", "agent": "a1", "agent_b": "a2"}),
    ("ctxdiff_cache", {"run": "r1"}),
    ("ctxdiff_block", {"run": "r1", "turn": 2}),
    ("ctxdiff_block", {"run": "r1", "content_hash": "b2"}),
    ("ctxdiff_block", {"run": "r1", "content_hash": "abcdef"}),
    ("ctxdiff_block", {"run": "r1", "turn": 1, "position": 0, "offset": 5}),
    ("ctxdiff_search", {"run": "r1", "query": "alpha"}),
    ("ctxdiff_search", {"run": "r1", "turn": 2}),
]
# Structure: which of six texts stands where. The same for every content.
TURNS = ([0, 1, 2], [0, 1, 3], [0, 4, 1, 5])


def redacted(source: RedactedSource) -> list[tuple[str, bool]]:
    context = Context(source, Policy("all"))
    found = [run_tool(BY_NAME[tool], context, arguments) for tool, arguments in CALLS]
    source.close()
    return found


def record(write: Any, block: Any, turn: Any, texts: list[str], names: list[str]) -> RedactedSource:
    """A run of fixed structure with the given content; every block counts 7 tokens."""

    class Counted(block):  # type: ignore[misc]
        def placed(self) -> Any:
            from dataclasses import replace

            placed = super().placed()
            return replace(placed, block=replace(placed.block, token_count=7))

    agent, label, step, model, provider, finish, project, file = names
    turns = [
        turn(
            [Counted(texts[at], "user", label) for at in row],
            agent=agent,
            step=step,
            model=model,
            provider=provider,
            finish=finish,
            error=CallError(finish, texts[0], 500) if number == 2 else None,
        )
        for number, row in enumerate(TURNS)
    ]
    path = write(*turns, project=project, name=file)
    return RedactedSource(path.parent)


WORDS = st.text("qxzjkvwy☃é\n<[⟦", min_size=12, max_size=60)
NAMES = st.text("qxzjkvwy", min_size=8, max_size=12)


@settings(
    max_examples=10,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(WORDS, min_size=6, max_size=6, unique=True),
    st.lists(NAMES, min_size=8, max_size=8, unique=True),
)
def test_two_contents_of_one_structure_get_the_same_answers_byte_for_byte(
    new_trace: Callable[..., Path],
    block: Any,
    turn: Any,
    tmp_path: Path,
    texts: list[str],
    names: list[str],
) -> None:
    usual = record(
        new_trace,
        block,
        turn,
        [
            f"{word} is text number {n}"
            for n, word in enumerate(["alpha", "beta", "gamma", "delta", "eps", "zeta"])
        ],
        ["researcher", "rag", "plan", "gpt-5.4", "openai", "stop", "shop", "demo"],
    )
    expected = redacted(usual)
    shutil.rmtree(tmp_path / "runs")
    found = redacted(record(new_trace, block, turn, texts, names))
    shutil.rmtree(tmp_path / "runs")
    assert found == expected
    said = "".join(text for text, _ in found)
    for secret in (*texts, *names):
        assert not any(secret[at : at + 6] in said for at in range(len(secret) - 5))


@pytest.mark.parametrize("names", [["a", "b", "c"], ["c", "a", "b"], ["z/c", "y", "x/a"]])
def test_runs_that_began_at_once_are_ordered_by_their_last_change_and_not_by_name(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any], names: list[str]
) -> None:
    for n, name in enumerate(names, 1):
        blocks = [block(f"{name} {at}") for at in range(n)]
        path = new_trace(turn(blocks), name=name, session_id=f"{name[-1] * 8}" + "0" * 24)
        os.utime(path, ns=(n * 10**18, n * 10**18))
    policy = Policy("all")
    runs = ask("ctxdiff_runs", policy=policy).text
    assert runs.count("turn, started 2026-11-30T10:00:00Z") == 3
    sizes = [
        ask("ctxdiff_block", run=run, turn=1, policy=policy).text.split(": ")[1].split(",")[0]
        for run in ("latest", "r1", "r2", "r3")
    ]
    assert sizes == ["3 input blocks", "3 input blocks", "2 input blocks", "1 input block"]


@pytest.mark.parametrize("names", [["a", "b"], ["b", "a"]])
def test_unreadable_files_too_are_listed_by_their_last_change(
    tmp_path: Path, ask: Callable[..., Any], names: list[str]
) -> None:
    (tmp_path / "runs").mkdir()
    for n, name in enumerate(names, 1):
        path = tmp_path / "runs" / f"{name}.ctrace"
        path.write_bytes(b"noise")
        os.utime(path, ns=(n * 10**18, n * 10**18))
    bad = f"not readable: {names[1]} (not_a_trace), {names[0]} (not_a_trace)"
    assert ask("ctxdiff_runs").text.splitlines()[1] == bad
    bad = "not readable: f1 (not_a_trace), f2 (not_a_trace)"
    assert ask("ctxdiff_runs", policy=Policy("all")).text.splitlines()[1] == bad


def test_a_redacted_answer_still_tells_which_block_was_lost_and_when(
    story: Path, ask: Callable[..., Any]
) -> None:
    policy = Policy("all")
    explained = ask("ctxdiff_explain", run="latest", turn=3, policy=policy).text
    assert "\n1. context_evicted: turn 3, agent a1, severity high, measured, 11 tokens" in explained
    assert (
        ', block b3, position 2, blocks 1; next: ctxdiff_diff(run="r1", turn_a=1, turn_b=3)'
        in explained
    )
    assert "model withheld, provider withheld" in explained
    assert (
        "\nlost tagged block b3: label L3, agent a1, last seen turn 1, gone at turn 3, ~11 tokens\n"
        in ask("ctxdiff_tokens", run="r1", policy=policy).text
    )


def test_a_content_hash_is_neither_shown_nor_accepted(story: Path, ask: Callable[..., Any]) -> None:
    shown = ask("ctxdiff_block", run="demo", turn=1, position=2).text
    digest = shown.split("content hash ")[1][:64]
    for redact in ("text", "all"):
        policy = Policy(redact)
        run = "demo" if redact == "text" else "r1"
        assert digest[:6] not in ask("ctxdiff_block", run=run, turn=1, policy=policy).text
        assert ask("ctxdiff_block", run=run, content_hash=digest, policy=policy).is_error
        assert not ask("ctxdiff_block", run=run, content_hash="b3", policy=policy).is_error


def test_redacting_text_alone_keeps_short_plain_names(story: Path, ask: Callable[..., Any]) -> None:
    text = ask("ctxdiff_explain", run="demo", turn=3, policy=Policy("text")).text
    assert text.startswith("run demo, turn 3, agent researcher, ")
    assert "museum" not in text
    assert "⟦" not in text


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_asked_by_the_pairs_above(tool: Any) -> None:
    assert tool.name in {name for name, _ in CALLS}
