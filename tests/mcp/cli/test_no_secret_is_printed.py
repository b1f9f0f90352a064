"""What a command prints is pasted into issues: no command prints a piece of a credential."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
BODY = "Q7xV2mK9pL4tR8wZ3nB6cD1fG5hJ0sYa"
OTHER = "mN3bV6cX9zL2kJ5hG8fD1sA4qW7eR0tY"
SECRETS = [f"ghp_{BODY}AbCd", f"ghp_{OTHER}AbCd"]

COMMANDS = [
    ["runs"],
    ["explain"],
    *[["explain", "--turn", n] for n in "123"],
    ["diff", "--turn", "1", "--turn", "2"],
    ["diff", "--turn", "2", "--turn", "3"],
    ["diff", "--agent", "ann", "--agent", "bob"],
    ["tokens"],
    ["tokens", "--by", "step"],
    ["cache"],
    ["cache", "--turn", "2"],
    ["block", "--turn", "1"],
    ["block", "--turn", "1", "--position", "0"],
    ["search", "token"],
    ["search", "token", "--turn", "3"],
    ["search", "--turn", "2"],
]


@pytest.fixture
def leaky(trace: Callable[..., Path]) -> Path:
    """Credentials at many distances from where texts are cut."""
    first, second = SECRETS

    def text(key: str, size: int) -> str:
        return ("filler " * 60)[:size] + f" token {key} and then more of it " + "tail " * 40

    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": json.dumps({"k": second})},
    }
    answer = {
        "model": "gpt-5",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": None, "tool_calls": [call]},
            }
        ],
    }
    return trace(
        {
            "messages": [
                ("system", text(first, 37)),
                ("user", text(first, 62)),
                ("user", text(second, 150)),
            ],
            "agent": "ann",
            "step": f"step {first}",
        },
        {
            "messages": [("system", text(second, 37)), ("user", text(first, 66))],
            "agent": "ann",
            "response": answer,
        },
        {
            "messages": [("user", text(second, 90))],
            "agent": "ann",
            "error": {"type": "E", "message": text(first, 70)},
        },
        {"messages": [("system", text(second, 37)), ("user", text(second, 118))], "agent": "bob"},
    )


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_six_characters_of_a_credential_are_printed(
    ctxdiff: Cli, leaky: Path, command: list[str], as_json: bool
) -> None:
    done = ctxdiff(*command, "--project", leaky, *(["--json"] if as_json else []))
    assert (done.status, done.err) == (0, "")
    printed = done.out.replace("\n", "")
    for key in (BODY, OTHER):
        shown = [key[at : at + 6] for at in range(len(key) - 5) if key[at : at + 6] in printed]
        assert shown == []


def test_a_credential_is_a_tag_and_another_one_another_tag(ctxdiff: Cli, leaky: Path) -> None:
    out = ctxdiff("diff", "--turn", "1", "--turn", "2", "--project", leaky).out
    assert "[secret:github-token#" in out
    block = ctxdiff("block", "--turn", "1", "--position", "0", "--project", leaky, "--json").out
    assert "[secret:github-token#" in json.loads(block)["text"]
