"""`ctxdiff-mcp search`: a text's story, and the values of a turn's tool calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def test_how_a_text_left_is_in_the_json(ctxdiff: Cli, demo: Path) -> None:
    answer = json.loads(ctxdiff("search", "Service bulletin", "--project", demo, "--json").out)
    events = answer["matches"][0]["events"]
    assert events == [
        {"seq": 2, "kind": "entered"},
        {"seq": 8, "kind": "left", "way": "trimmed", "into": None},
    ]
    assert (answer["at_turn"], answer["agents_without"]) == (None, ["writer"])


def test_a_turn_is_told_to_have_lost_a_text(ctxdiff: Cli, demo: Path) -> None:
    flags = ("search", "Service bulletin", "--project", demo, "--turn")
    lost = json.loads(ctxdiff(*flags, "8", "--json").out)["at_turn"]
    assert (lost["in_context"], lost["last_seen"]) == (False, 7)
    assert lost["left"] == {"turn": 8, "way": "trimmed", "into": None}
    there = json.loads(ctxdiff(*flags, "7", "--json").out)["at_turn"]
    assert (there["in_context"], [one["position"] for one in there["places"]]) == (True, [7])
    assert ctxdiff(*flags, "8").out.startswith("turn 8: not in context, last in turn 7 as 8875")


def test_the_arguments_of_a_turn_are_traced(ctxdiff: Cli, demo: Path) -> None:
    out = ctxdiff("search", "--project", demo, "--turn", "4").out
    assert out.splitlines()[1].startswith("  count_units customer = 'Havn Housing' · ")
    assert out.splitlines()[1].endswith(" [user] at 4, since turn 1")
    answer = json.loads(ctxdiff("search", "--project", demo, "--turn", "1", "--json").out)
    (value,) = answer["arguments"]
    assert (value["tool"], value["path"], value["where"]) == (
        "search_bulletins",
        "query",
        "nowhere",
    )
    quiet = ctxdiff("search", "--project", demo, "--turn", "2").out
    assert quiet == "turn 2 [researcher] called no tool with values to look for\n"


@pytest.mark.parametrize("flags", [[], [""], ["", "--turn", "1"]])
def test_a_search_for_nothing_is_wrong_use(ctxdiff: Cli, demo: Path, flags: list[str]) -> None:
    done = ctxdiff("search", *flags, "--project", demo)
    assert (done.status, done.out) == (2, "")
    assert "the text is empty" in done.err
