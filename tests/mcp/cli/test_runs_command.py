"""`ctxdiff-mcp runs`: the newest runs, and all of them where that is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture
def many(trace: Callable[..., Path]) -> Path:
    """A trace of 60 sessions, each a second younger than the one before."""
    return trace(
        *(
            {
                "messages": [("user", f"question {n}")],
                "session": f"s{n}",
                "started_at": f"2026-11-30T10:00:{n:02}.000Z",
            }
            for n in range(60)
        )
    )


def listed(out: str) -> list[str]:
    return [line.split()[1][-3:-1] for line in out.splitlines() if "turns=1" in line]


@pytest.mark.parametrize(
    ("flags", "count", "rest"),
    [
        ([], 50, "… and 10 older; --all lists them"),
        (["--limit", "3"], 3, "… and 57 older; --all lists them"),
        (["--limit", "0"], 0, "… and 60 older; --all lists them"),
        (["--limit", "60"], 60, None),
        (["--all"], 60, None),
    ],
)
def test_the_newest_are_listed_and_the_rest_is_counted(
    ctxdiff: Cli, many: Path, flags: list[str], count: int, rest: str | None
) -> None:
    out = ctxdiff("runs", "--project", many, *flags).out
    assert listed(out) == [f"{n:02}" for n in range(59, 59 - count, -1)]
    assert (out.splitlines()[-1] == rest) is (rest is not None)
    answer = json.loads(ctxdiff("runs", "--project", many, "--json", *flags).out)
    assert (len(answer["runs"]), answer["total"]) == (count, 60)


@pytest.mark.parametrize("flags", [["--limit", "-1"], ["--limit", "x"], ["--all", "--limit", "3"]])
def test_a_limit_that_is_none_is_wrong_use(ctxdiff: Cli, many: Path, flags: list[str]) -> None:
    done = ctxdiff("runs", "--project", many, *flags)
    assert (done.status, done.out) == (2, "")
