"""Traces with hostile texts in every place that a recorder fills, and the questions about them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Call, CallError, Decision, Placement, Stage
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session

Question = tuple[str, dict[str, Any]]
Text = Callable[[], str]

TURNS, BLOCKS = 12, 8


def stored(text: str) -> str:
    """The text as a recorder stores it: SQLite's columns hold UTF-8, which has no surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def placed(
    text: str,
    role: str = "user",
    label: str = "user",
    kind: str = "message",
    *,
    tagged: bool = False,
) -> Placement:
    """A block at its place, as a recorder stores it."""
    block = Block(digest_of(role, kind, text), role, kind, text, max(len(text) // 4, 1), "tiktoken")
    return Placement(block, label, "tagged" if tagged else "heuristic")


def write(
    path: Path, calls: Sequence[Mapping[str, Any]], session_id: str, project: str, provider: str
) -> None:
    """A session of these calls."""
    session = create_session(
        Destination(path=path),
        project=project,
        provider=provider,
        started_at="2026-11-30T10:00:00.000000+00:00",
        session_id=session_id,
    )
    for seq, call in enumerate(calls, 1):
        given: dict[str, Any] = {
            "id": f"{session_id[:24]}{seq:08d}",
            "provider": "openai",
            "surface": "openai.chat",
            "usage": {"prompt_tokens": 90 + seq, "completion_tokens": 4},
            "started_at": f"2026-11-30T10:{seq:02d}:00.000000+00:00",
            "latency_ms": 100,
            **call,
        }
        session.write(Call(seq=seq, **given))
    session.close()


def schema(name: str) -> Placement:
    """A tool's schema."""
    return placed(
        json.dumps({"name": name, "parameters": {}}), "system", "tool_schema", "tool_schema"
    )


def tool_use(name: str, argument: str) -> Placement:
    """A model's call of a tool."""
    part = {"type": "tool_use", "id": name, "name": name, "input": {argument: argument}}
    return placed(json.dumps(part), "assistant", "history", "content_part")


def of_one_text(path: Path, text: str, session_id: str) -> None:
    """A run of four turns with the text in every place; block 1 of turn 1 is the text itself."""
    asked = placed(text, "user", text, tagged=True)
    before = placed(f"once upon a time there was {text} and more", "tool", "tool_output")
    after = placed(f"once upon a time there is {text} and much more", "tool", "tool_output")
    names: dict[str, Any] = {"agent": text, "step": text, "provider": text, "finish_reason": text}
    params = {"model": text, text or "x": [text], "stop": text}
    system = placed("Follow the rules.", "system", "system")
    said = placed(text, "assistant", "history")
    held = Stage(text, text, (system, asked, before, placed(f"{text} held", "user", text)))
    calls: list[dict[str, Any]] = [
        {"inputs": (system, asked, schema(text), before), "outputs": (tool_use(text, text),)},
        {"inputs": (system, asked, schema(text), after, said), "outputs": (said,)},
        {
            "inputs": (system, placed(f"{text}?", text, text, text)),
            "error": CallError(text, text, 429),
        },
        {
            "inputs": (system, after, placed(f"{text}!", "user", text), asked),
            "outputs": (said, tool_use(text, text)),
            "response_model": text,
            "stages": (held,),
            "decisions": (Decision(text, text, text, 1, 9),),
        },
    ]
    write(path, [{**names, "params": params, **call} for call in calls], session_id, text, text)


def of_many_texts(
    path: Path, chance: random.Random, text: Text, name: Text, session_id: str
) -> int:
    """A run of `TURNS` turns with a text of its own in every place; gives how many were drawn."""
    drawn = 0

    def one() -> str:
        nonlocal drawn
        drawn += 1
        return text()

    def called() -> str:
        nonlocal drawn
        drawn += 1
        return name() if chance.random() < 0.3 else text()

    calls = []
    for _ in range(TURNS):
        inputs = [
            placed(
                one(),
                chance.choice(("user", "tool", "assistant", one())),
                called(),
                chance.choice(("message", "content_part", "tool_schema", one())),
                tagged=chance.random() < 0.2,
            )
            for _ in range(BLOCKS)
        ]
        calls.append(
            {
                "inputs": tuple(inputs),
                "outputs": (placed(one(), "assistant"), tool_use(called(), one())),
                "agent": chance.choice((called(), "writer")),
                "step": called(),
                "provider": called(),
                "finish_reason": chance.choice((called(), "length")),
                "error": CallError(called(), one(), 400) if chance.random() < 0.3 else None,
                "params": {"model": called(), "stop": one(), one(): 1},
                "response_model": called(),
                "stages": (Stage(called(), "", tuple(inputs[:4])),)
                if chance.random() < 0.3
                else (),
            }
        )
    write(path, calls, session_id, called(), called())
    return drawn


def questions(run: str, other: str | None = None, turns: int = 4) -> Iterator[Question]:
    """Every tool in each of its ways about a run, and how wrong selectors are answered."""
    whole: dict[str, Any] = {"run": run}
    detailed = {"response_format": "detailed"}
    yield "ctxdiff_runs", {}
    yield "ctxdiff_explain", {**whole, **detailed}
    for by in ("turn", "call", "agent", "step", "model"):
        yield "ctxdiff_tokens", {**whole, "by": by, "limit": 200}
    yield "ctxdiff_cache", {**whole, "limit": 100}
    yield "ctxdiff_search", {**whole, "query": "e", "limit": 50}
    yield "ctxdiff_search", {**whole, "query": "CNRY", "limit": 50}
    for problem in ({"agent": "nobody at all"}, {"turn": 9_999}):
        yield "ctxdiff_explain", {**whole, **problem}
    yield "ctxdiff_block", {**whole, "content_hash": "abcdef012345"}
    yield "ctxdiff_block", {**whole, "turn": 1, "position": 99}
    if other is not None:
        yield "ctxdiff_diff", {**whole, "run_b": other}
        yield "ctxdiff_explain", {**whole, "turn": 2, "run_b": other}
    for at in range(1, turns + 1):
        yield "ctxdiff_explain", {**whole, "turn": at, "limit": 100, **detailed}
        yield "ctxdiff_diff", {**whole, "turn_a": max(at - 1, 1), "turn_b": at, **detailed}
        yield "ctxdiff_diff", {**whole, "turn_a": at, "turn_b": at, "stage": "all"}
        yield "ctxdiff_block", {**whole, "turn": at, "limit": 200}
        yield "ctxdiff_search", {**whole, "turn": at}
        yield "ctxdiff_cache", {**whole, "turn": at}
        position = {"turn": at, "position": at % 2 + 1}
        yield "ctxdiff_block", {**whole, **position, "mark": "lines"}
        yield "ctxdiff_block", {**whole, **position, "offset": 7 * at, "max_chars": 40}
