from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ctxdiff_mcp
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import TOOLS


@pytest.fixture
def two_runs(new_trace: Callable[..., Path], block: Any, turn: Any) -> Path:
    schema = block(
        '{"name": "look\\u001b[31mup", "parameters": {}}', "system", "tools", "tool_schema"
    )
    note, question = block("a note", "tool", "rag \u202e", tagged=True), block("a question?")
    new_trace(turn([question]), name="old", started_at="2026-11-29T10:00:00Z", session_id="ab" * 16)
    return new_trace(
        turn([schema, note, question], [block("an answer", "assistant")], "writer\x1b[2J"),
        turn([schema, question], agent="reader"),
        name="new run",
    ).parent


def test_every_handle_of_the_redacted_answers_stands_in_the_legend(
    two_runs: Path, ctxdiff: Callable[..., Any], ask: Callable[..., Any]
) -> None:
    done = ctxdiff("legend", "--runs-dir", two_runs, "--json")
    assert done.status == 0
    legend = json.loads(done.out)
    policy = Policy("all")
    said = "".join(
        ask(tool, given, policy=policy).text
        for tool, given in [
            ("ctxdiff_runs", {}),
            ("ctxdiff_explain", {"run": "r1", "turn": 2}),
            ("ctxdiff_tokens", {"run": "r1"}),
            ("ctxdiff_block", {"run": "r1", "turn": 1}),
            ("ctxdiff_block", {"run": "r1", "turn": 2}),
            ("ctxdiff_diff", {"run": "r1", "turn_a": 1, "turn_b": 2}),
        ]
    )
    known = {
        key: legend[kind]
        for kind, key in [("runs", "r"), ("agents", "a"), ("labels", "L"), ("blocks", "b")]
    }
    handles = set(re.findall(r"\b([raLb])([0-9]+)\b", said))
    assert {letter for letter, _ in handles} == set(known)
    for letter, number in handles:
        assert f"{letter}{number}" in known[letter]
    # What they stand for is what the same question says without redaction.
    rows = re.findall(
        r"^- (?:in|out)put \d+: (\w+ \w+) (b\d+)(?:, label (L\d+))?", said, re.MULTILINE
    )
    plain = re.findall(
        r"^- (?:in|out)put \d+: (\w+ \w+) ([0-9a-f]{8})",
        "".join(ask("ctxdiff_block", run="new run", turn=at).text for at in (1, 2)),
        re.MULTILINE,
    )
    assert len(rows) == len(plain) == 6
    for (kind, handle, _), (plain_kind, digest) in zip(rows, plain, strict=True):
        assert kind == plain_kind
        assert legend["blocks"][handle]["content_hash"][:8] == digest
    assert legend["agents"] == {"a1": "writer\x1b[2J", "a2": "reader"}
    assert {key: row["run"] for key, row in legend["runs"].items()} == {
        "r1": "new run",
        "r2": "old",
    }


def test_the_legend_is_safe_on_a_terminal_and_names_tools(
    two_runs: Path, ctxdiff: Callable[..., Any]
) -> None:
    done = ctxdiff("legend", "--runs-dir", two_runs)
    assert done.status == 0
    assert not {"\x1b", "\u202e"} & set(done.out)
    lines = done.out.splitlines()
    assert "r1    run new run, 2 turns, started 2026-11-30T10:00:00Z" in lines
    assert "r2    run old, 1 turn, started 2026-11-29T10:00:00Z" in lines
    assert "a1    agent writer⟦1B⟧[2J" in lines
    assert "L2    label rag ⟦202E⟧" in lines
    assert re.search(
        r"^b1    block [0-9a-f]{12} system tool_schema, from turn 1, tools look⟦1B⟧\[31mup$",
        done.out,
        re.MULTILINE,
    )


@pytest.mark.parametrize(
    ("session", "status", "run"),
    [(None, 0, "new run"), ("r2", 0, "old"), ("abab", 0, "old"), ("zz", 2, None)],
)
def test_the_session_is_named_by_handle_or_id(
    two_runs: Path, ctxdiff: Callable[..., Any], session: str | None, status: int, run: str | None
) -> None:
    more = () if session is None else ("--session", session)
    done = ctxdiff("legend", "--runs-dir", two_runs, "--json", *more)
    assert done.status == status
    assert run is None or json.loads(done.out)["run"] == run


def test_no_tool_reaches_the_legend() -> None:
    package = Path(ctxdiff_mcp.__file__).parent
    readers = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "answers.legend" in path.read_text(encoding="utf-8")
    ]
    assert sorted(readers) == ["cli/legend.py", "text/legend.py"]
    assert not any("legend" in tool.name for tool in TOOLS)


def test_rounding_counts_without_redaction_is_wrong_use(ctxdiff: Callable[..., Any]) -> None:
    done = ctxdiff("serve", "--redact-counts", "bucket")
    assert (done.status, done.out) == (2, "")
    assert done.err == "ctxdiff-mcp: --redact-counts is for redact mode: add --redact\n"
