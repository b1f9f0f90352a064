"""Redact mode is non-interference: of two contents of one structure, no answer tells which it is."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import Block, Call, Placement, Stage
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session

from ctxdiff_mcp.answers import asking, open_run, redacted, source
from ctxdiff_mcp.gate import envelope
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.gate.raw import raw
from ctxdiff_mcp.tools import runs
from ctxdiff_mcp.tools.registry import TOOLS
from ctxdiff_mcp.tools.tool import Context
from tests.trust.goals import GOALS, attempts
from tests.trust.redact.asking import (
    TAKEN,
    Ask,
    answers,
    as_lines,
    canaries,
    told_apart,
)
from tests.trust.redact.structures import structure
from tests.trust.redact.writing import write

SEEDS = 10
QUESTIONS = 45
"""Asked of each content."""
STRUCTURES, CONTENTS = attempts(2, 100), attempts(3, 11)
"""Per seed; a structure's first content is compared with each other one."""


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.timeout(1_200)
def test_contents_of_one_structure_cannot_be_told_apart(tmp_path: Path, seed: int) -> None:
    chance = random.Random(f"pairs {seed}")
    differ: list[Ask] = []
    seen = 0
    for _ in range(STRUCTURES):
        found, shown = told_apart(tmp_path, structure(chance), chance, CONTENTS, QUESTIONS)
        differ += found
        seen += shown
    pairs = STRUCTURES * (CONTENTS - 1)
    GOALS.pairs.add(pairs, len(differ))
    GOALS.canaries.add(STRUCTURES * CONTENTS * QUESTIONS, seen)
    assert (differ, seen) == ([], 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(attempts(1, 30)))
def test_a_server_writes_the_same_bytes_for_both(tmp_path: Path, seed: int) -> None:
    chance = random.Random(f"wire {seed}")
    wrote: list[bytes] = []

    def serve(folder: Path, policy: Policy, asked: Sequence[Ask]) -> list[tuple[str, bool]]:
        wrote.append(_served(folder, policy, asked))
        return [(wrote[-1].decode(), False)] * len(asked)

    differ, seen = told_apart(tmp_path, structure(chance), chance, 2, QUESTIONS, serve)
    GOALS.pairs.add(1, len(differ), part=f"wire {seed}" if not seed else "")
    GOALS.canaries.add(2 * QUESTIONS, seen)
    assert wrote[0].count(b'"result"') > QUESTIONS // 2
    assert (wrote[0], seen) == (wrote[1], 0)


def _served(folder: Path, policy: Policy, asked: Sequence[Ask]) -> bytes:
    """All that a server writes, to stdout and to stderr, while it answers one after another."""
    flags = ["--redact", "--redact-counts", policy.counts]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT}
    started = (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":%s}\n') % _json(hello)
    with (
        (folder.parent / "stderr").open("w+b") as complaints,
        subprocess.Popen(
            [sys.executable, "-m", "ctxdiff_mcp", "serve", *flags, "--runs-dir", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
        ) as server,
    ):
        assert server.stdin
        assert server.stdout
        out = b""
        for line in (started, *as_lines(asked)):
            server.stdin.write(line)
            server.stdin.flush()
            out += server.stdout.readline()
            if line is started:
                server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        server.stdin.close()
        out += server.stdout.read()
        server.wait(60)
        complaints.seek(0)
        return out + complaints.read()


_CLIENT = {"name": "test", "version": "0"}


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_every_text_that_a_tool_takes_is_guessed() -> None:
    taken = {
        tool.name: {one.name for one in tool.arguments if _is_free_text(one)} for tool in TOOLS
    }
    assert {name: set(found) for name, found in TAKEN.items()} == {
        name: found for name, found in taken.items() if found
    }


def _is_free_text(argument: Any) -> bool:
    return hasattr(argument, "max_chars") and not argument.choices


def _leak_a_length(patch: pytest.MonkeyPatch) -> None:
    kept = redacted._call
    patch.setattr(
        redacted,
        "_call",
        lambda run, call, n: redacted.replace(
            kept(run, call, n), latency_ms=len(call.provider or "")
        ),
    )


def _leak_an_order_by_name(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(source, "_newest_first", lambda rows: sorted(rows, key=lambda row: row[0].label))


def _leak_an_order_by_hash(patch: pytest.MonkeyPatch) -> None:
    def by_hash(run: open_run.OpenRun) -> dict[int, int]:
        blocks = run.recording.blocks
        order = sorted(range(len(blocks)), key=lambda at: blocks[at].content_hash)
        return {at: n for n, at in enumerate(order, 1)}

    patch.setattr(open_run.OpenRun, "_ordinals", property(by_hash))


def _leak_a_word(patch: pytest.MonkeyPatch) -> None:
    kept = runs._line
    patch.setattr(
        runs, "_line", lambda env, row: f"{kept(env, row)}, project {raw(row.project.text)}"
    )


def _leak_an_encoded_word(patch: pytest.MonkeyPatch) -> None:
    kept = runs._line
    patch.setattr(
        runs,
        "_line",
        lambda env, row: (
            f"{kept(env, row)} {raw(row.run.session_id).encode('utf-8', 'replace').hex()}"
        ),
    )


def _accept_guesses(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Context, "ask", asking.Ask())


def _leak_what_a_usage_says(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(redacted, "counters", lambda usage: {"prompt_tokens": len(usage)})


def _name_the_stages(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(redacted, "_stage", lambda name: name)


def _leak_in_an_error(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(envelope.Envelope, "name", lambda _, name: f"{name.handle}{raw(name.text)[:1]}")


@pytest.mark.parametrize(
    ("leak", "shows_words"),
    [
        (_leak_a_length, False),
        (_leak_an_order_by_name, False),
        (_leak_an_order_by_hash, False),
        (_leak_a_word, True),
        (_leak_an_encoded_word, True),
        (_accept_guesses, False),
        (_leak_what_a_usage_says, False),
        (_name_the_stages, False),
        (_leak_in_an_error, False),
    ],
)
def test_a_leak_would_be_seen(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    leak: Callable[[pytest.MonkeyPatch], None],
    shows_words: bool,
) -> None:
    leak(monkeypatch)
    chance = random.Random(f"leak {leak.__name__}")
    for _ in range(40):
        differ, seen = told_apart(tmp_path, structure(chance), chance, 3, QUESTIONS)
        if differ and (seen or not shows_words):
            return
    pytest.fail("nothing was seen")


@pytest.mark.parametrize(
    "spell",
    [
        str,
        str.upper,
        lambda text: "".join(chr(ord(char) + 0xFEE0) for char in text),
        " ".join,
        lambda text: text.encode().hex(),
        lambda text: f"abc{text.encode().hex()}0",
        lambda text: b64encode(b"x" + text.encode()).decode(),
        lambda text: "".join(f"%{ord(char):02X}" for char in text),
        lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
        lambda text: "".join(f"⟦{ord(char):02X}⟧" for char in text),
    ],
)
def test_a_canary_is_seen_however_it_is_spelled(spell: Callable[[str], str]) -> None:
    assert canaries(f"run r1: {spell('qxzjkvwyqx')}, 3 turns")
    assert not canaries(f"run r1: {spell('latest turn')}, 3 turns")


def test_what_two_runs_are_compared_for_is_refused_in_one_line(
    tmp_path: Path,
) -> None:
    chance = random.Random("refused")
    shape = structure(chance)
    write(tmp_path, shape, chance)
    asked: list[Ask] = [
        ("ctxdiff_search", {"run": "r1", "query": "word"}),
        ("ctxdiff_search", {"run": "r1", "turn": 1}),
        ("ctxdiff_diff", {"run": "r1", "run_b": "r2"}),
        ("ctxdiff_diff", {"run": "r1", "agent": "a1", "agent_b": "a2"}),
        ("ctxdiff_explain", {"run": "latest", "run_b": "r1"}),
    ]
    refused = (
        "error not_in_redact_mode: this is off in redact mode; start the server without --redact\n"
        'next: ctxdiff_explain(run="latest")\n'
    )
    assert answers(tmp_path, Policy("all"), asked) == [(refused, True)] * len(asked)


def test_a_label_that_is_no_text_is_the_same_at_a_stage_and_in_the_turn(tmp_path: Path) -> None:
    placed = Placement(
        Block("0" * 64, "user", "message", "q", 1, "tiktoken"), "rag \ud800", "tagged"
    )
    session = create_session(
        Destination(path=tmp_path / "demo.ctrace"),
        project="shop",
        provider="openai",
        started_at="2026-11-30T10:00:00Z",
        session_id="5" * 32,
    )
    held = Stage("pre_optimization", "", (placed,))
    session.write(Call("c" * 32, 1, "openai", "openai.chat", (placed,)))
    session.write(Call("d" * 32, 2, "openai", "openai.chat", (), stages=(held,)))
    session.close()
    asked = {"run": "r1", "turn_a": 2, "turn_b": 2, "stage": "all"}
    ((said, _),) = answers(tmp_path, Policy("all"), [("ctxdiff_diff", asked)])
    assert "held and not sent: user block b1, label L1," in said
