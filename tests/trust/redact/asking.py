"""Every tool with many arguments, right, wrong and guessed; and what of it depended on words."""

from __future__ import annotations

import base64
import json
import random
import re
import shutil
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

from ctxdiff_mcp.answers.redacted import RedactedSource
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context
from tests.trust.redact.structures import Structure
from tests.trust.redact.writing import write

Ask: TypeAlias = tuple[str, dict[str, Any]]
TAKEN: dict[str, tuple[str, ...]] = {
    "ctxdiff_explain": ("run", "agent", "run_b"),
    "ctxdiff_diff": ("run", "agent", "agent_b", "run_b", "stage"),
    "ctxdiff_tokens": ("run", "agent"),
    "ctxdiff_cache": ("run", "agent"),
    "ctxdiff_block": ("run", "content_hash"),
    "ctxdiff_search": ("run", "agent", "query"),
}
"""Where each tool takes a text of the asker's own."""
FAULT = "error internal error"
_CANARY = re.compile("[qxzjkvwy]{6}")
_HEX = re.compile("[0-9a-f]{12,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|⟦([0-9A-F]{2,6})⟧")


def asks(shape: Structure, guesses: Sequence[str], chance: random.Random, most: int) -> list[Ask]:
    """At least two questions for each tool, and others up to `most`."""
    fixed = list(_fitting(shape))
    tried = [_guess(chance, chance.choice(guesses)) for _ in range(most // 3)]
    wrong = [_wrong(chance) for _ in range(most // 6)]
    some = chance.sample(fixed, min(len(fixed), most - len(tried) - len(wrong)))
    return [("ctxdiff_runs", {}), *_one_of_each(chance, fixed), *some, *tried, *wrong]


def _one_of_each(chance: random.Random, fixed: Sequence[Ask]) -> list[Ask]:
    return [chance.choice([one for one in fixed if one[0] == name]) for name in BY_NAME]


def _fitting(shape: Structure) -> Iterator[Ask]:
    """What a client asks that reads the answers."""
    last = max((len(s.turns) for sessions in shape.files for s in sessions), default=1)
    yield from (("ctxdiff_runs", {"limit": 1, "cursor": at}) for at in (0, 1, 9))
    for run in ("latest", "r1", "r2", "r9"):
        yield "ctxdiff_explain", {"run": run}
        yield "ctxdiff_explain", {"run": run, "agent": "a1"}
        yield "ctxdiff_explain", {"run": run, "turn": 1, "run_b": "r2"}
        yield "ctxdiff_cache", {"run": run}
        yield "ctxdiff_cache", {"run": run, "agent": "a2", "limit": 1}
        yield "ctxdiff_search", {"run": run, "query": "error"}
        yield "ctxdiff_search", {"run": run, "turn": 1}
        yield "ctxdiff_diff", {"run": run, "agent": "a1", "agent_b": "a2"}
        yield "ctxdiff_diff", {"run": run, "run_b": "r1"}
        yield from (
            ("ctxdiff_tokens", {"run": run, "by": by, "limit": 200})
            for by in ("turn", "call", "agent", "step", "model")
        )
        yield from (("ctxdiff_block", {"run": run, "content_hash": f"b{n}"}) for n in (1, 2, 5, 13))
    for turn in range(last + 2):
        yield "ctxdiff_explain", {"run": "r1", "turn": turn, "context_window": 1_000}
        yield "ctxdiff_explain", {"run": "r1", "turn": turn, "response_format": "detailed"}
        yield "ctxdiff_block", {"run": "r1", "turn": turn}
        yield "ctxdiff_block", {"run": "r1", "turn": turn, "position": 1, "offset": 3}
        yield "ctxdiff_diff", {"run": "r1", "turn_a": turn, "turn_b": last}
        yield "ctxdiff_diff", {"run": "r1", "turn_a": turn, "turn_b": turn, "stage": "all"}
        yield "ctxdiff_diff", {"run": "r1", "turn_a": turn, "turn_b": 1, "limit": 2, "cursor": 1}
        yield "ctxdiff_tokens", {"run": "r1", "turn": turn, "context_window": 9_000}
        yield "ctxdiff_cache", {"run": "r1", "turn": turn}
        for stage in ("1", "2", "pre_optimization", "tool_result", "other"):
            yield "ctxdiff_diff", {"run": "r1", "turn_a": turn, "turn_b": turn, "stage": stage}


def _guess(chance: random.Random, guess: str) -> Ask:
    """A question with a recorded word where a tool takes a text."""
    tool = chance.choice(list(TAKEN))
    given: dict[str, Any] = {"run": "r1", "turn": chance.choice([None, 1])}
    if tool == "ctxdiff_diff":
        given = {"run": "r1", **chance.choice([{}, {"turn_a": 1, "turn_b": 1}])}
    return tool, {**given, chance.choice(TAKEN[tool]): guess}


def _wrong(chance: random.Random) -> Ask:
    """A question that does not fit the tool."""
    name = chance.choice(
        [argument.name for tool in BY_NAME.values() for argument in tool.arguments]
    )
    value = chance.choice([[], {}, True, -1, 1.5, "", "x" * 600, None, 10**30, "\ud800", "b0"])
    given: dict[str, Any] = {"run": "r1", name: value}
    return chance.choice(list(BY_NAME)), given if chance.random() < 0.8 else {"no": value}


def answers(folder: Path, policy: Policy, asked: Sequence[Ask]) -> list[tuple[str, bool]]:
    """What a redacting server says to each question, or what it fails with."""
    source = RedactedSource(folder, rounds_counts=policy.rounds_counts)
    context = Context(source, policy)
    try:
        return [_answer(tool, context, given) for tool, given in asked]
    finally:
        source.close()


def _answer(tool: str, context: Context, given: dict[str, Any]) -> tuple[str, bool]:
    try:
        return run_tool(BY_NAME[tool], context, given)
    except Exception as problem:  # noqa: BLE001  # the server says no more of it than that
        return f"{FAULT} {type(problem).__name__}", True


def policy_of(shape: Structure) -> Policy:
    """How the server is started for a structure."""
    return Policy("all", counts="bucket" if shape.is_bucketed else "exact")


def told_apart(
    folder: Path,
    shape: Structure,
    chance: random.Random,
    contents: int,
    most: int,
    ask: Callable[..., list[tuple[str, bool]]] = answers,
) -> tuple[list[Ask], int]:
    """Questions whose answers differ between contents of one structure, and canaries seen.

    An answer that is a fault of ours counts as one that differs: it hides what it depends on.
    """
    seeds = [chance.getrandbits(64) for _ in range(contents)]
    guesses: list[str] = []
    for at, seed in enumerate(seeds):
        guesses += write(folder / str(at), shape, random.Random(seed)).guesses
    asked = asks(shape, guesses, chance, most)
    said = [ask(folder / str(at), policy_of(shape), asked) for at in range(contents)]
    for at in range(contents):
        shutil.rmtree(folder / str(at))
    differ = [
        one
        for row, one in enumerate(asked)
        if any(other[row] != said[0][row] or FAULT in other[row][0] for other in said)
    ]
    return differ, sum(1 for text in dict.fromkeys(t for s in said for t, _ in s) if canaries(text))


def canaries(said: str) -> list[str]:
    """Pieces of canaries in a text: plain, folded, or encoded."""
    return [hit[0] for view in _views(said) if (hit := _CANARY.search(view))]


def _views(said: str) -> Iterator[str]:
    plain = unicodedata.normalize("NFKC", said).casefold()
    yield plain
    yield re.sub(r"\s", "", plain)
    yield unquote(plain)
    yield _ESCAPED.sub(lambda hit: chr(int(hit[1] or hit[2] or hit[3], 16)), said).casefold()
    for run in _HEX.findall(plain):
        for digits in (run, run[1:]):
            yield bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("latin-1").casefold()
    for run in _BASE64.findall(said):
        for skip in range(4):
            part = run[skip:].translate({ord("-"): "+", ord("_"): "/"})
            data = base64.b64decode(part[: len(part) // 4 * 4])
            yield data.decode("latin-1").casefold()


def as_lines(asked: Sequence[Ask]) -> list[bytes]:
    """The questions as a client sends them."""
    return [
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": tool, "arguments": given},
            }
        ).encode()
        + b"\n"
        for number, (tool, given) in enumerate(asked, 10)
    ]
