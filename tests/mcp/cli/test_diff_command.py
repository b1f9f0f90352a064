"""The three shapes of `diff`: two turns, two sessions, two agents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.cli.diff import Side, side, turns_of

Cli = Callable[..., Any]
Trace = Callable[..., Path]


@pytest.fixture
def sessions(ctxdiff: Cli, trace: Trace) -> tuple[Path, str, str]:
    """A trace of two sessions of one agent, older first."""
    path = trace(
        {"messages": [("user", "one")], "session": "s1", "agent": "ann"},
        {"messages": [("user", "one"), ("user", "two")], "session": "s1", "agent": "ann"},
        {"messages": [("user", "uno")], "session": "s2", "agent": "ann"},
    )
    runs = json.loads(ctxdiff("runs", "--project", path, "--json").out)["runs"]
    new, old = (run["session_id"] for run in runs)
    return path, old, new


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("web", Side("web", None)),
        ("web:3", Side("web", 3)),
        ("tools:web:3", Side("tools:web", 3)),
        ("web:", Side("web:", None)),
        (":3", Side(":3", None)),
        ("web:x", Side("web:x", None)),
        ("web:٣", Side("web:٣", None)),
    ],
)
def test_a_side_is_cut_at_its_last_colon_where_digits_follow(value: str, expected: Side) -> None:
    assert side(value) == expected


@pytest.mark.parametrize(
    ("own", "given", "turns"),
    [
        ((1, 2), [], (1, 2)),
        ((None, None), [4, 5], (4, 5)),
        ((None, None), [4], (4, 4)),
        ((1, None), [4], (1, 4)),
        ((None, 2), [4, 5], (4, 2)),
    ],
)
def test_a_side_takes_its_own_turn_or_the_one_in_its_place(
    own: tuple[int | None, int | None], given: list[int], turns: tuple[int, int]
) -> None:
    assert turns_of((Side("a", own[0]), Side("b", own[1])), given) == turns


def test_two_turns_of_a_session_are_compared(ctxdiff: Cli, demo: Path) -> None:
    answer = json.loads(
        ctxdiff("diff", "--project", demo, "--turn", "7", "--turn", "8", "--json").out
    )
    assert (answer["seq_old"], answer["seq_new"]) == (7, 8)
    assert answer["agent_old"] == answer["agent_new"] == "researcher"
    kinds = [entry["kind"] for entry in answer["entries"]]
    assert {kind: kinds.count(kind) for kind in ("added", "evicted", "modified", "unchanged")} == {
        kind: answer["counts"][kind] for kind in ("added", "evicted", "modified", "unchanged")
    }
    assert answer["net_tokens"] == answer["tokens_added"] - answer["tokens_evicted"]


def test_a_modified_block_carries_its_earlier_form_and_the_edit(ctxdiff: Cli, trace: Trace) -> None:
    path = trace(
        {"messages": [("system", "price is 10 EUR"), ("user", "hi")]},
        {"messages": [("system", "price is 12 EUR"), ("user", "hi")]},
    )
    answer = json.loads(
        ctxdiff("diff", "--project", path, "--turn", "1", "--turn", "2", "--json").out
    )
    (entry,) = (entry for entry in answer["entries"] if entry["kind"] == "modified")
    assert (entry["position_old"], entry["position_new"]) == (0, 0)
    assert entry["block"]["text"] == "price is 12 EUR"
    assert entry["old_block"]["content_hash"] != entry["block"]["content_hash"]
    assert [(piece["op"], piece["text"]) for piece in entry["inline_diff"]] == [
        ("equal", "price is 1"),
        ("delete", "0"),
        ("insert", "2"),
        ("equal", " EUR"),
    ]
    shown = ctxdiff("diff", "--project", path, "--turn", "1", "--turn", "2").out
    assert "~ [system·system] price is 1[-0-]{+2+} EUR\n" in shown


def test_two_sessions_are_compared_with_a_turn_each(
    ctxdiff: Cli, sessions: tuple[Path, str, str]
) -> None:
    path, old, new = sessions
    done = ctxdiff(
        "diff", "--project", path, "--session", f"{old[:9]}:2", "--session", f"{new[:9]}:1"
    )
    assert done.status == 0
    assert done.out.splitlines()[0] == (
        f"── {old[:12]} · ann · turn 2  →  {new[:12]} · ann · turn 1 ──"
    )


def test_one_turn_serves_both_sessions(ctxdiff: Cli, sessions: tuple[Path, str, str]) -> None:
    path, old, new = sessions
    flags = ("--session", old, "--session", new, "--turn", "1")
    answer = json.loads(ctxdiff("diff", "--project", path, *flags, "--json").out)
    assert (answer["session_id"], answer["session_id_new"]) == (old, new)
    assert (answer["seq_old"], answer["seq_new"]) == (1, 1)


def test_two_agents_of_a_session_are_compared(ctxdiff: Cli, demo: Path) -> None:
    done = ctxdiff("diff", "--project", demo, "--agent", "researcher:8", "--agent", "writer:9")
    assert done.status == 0
    assert done.out.splitlines()[0] == "── researcher · turn 8  →  writer · turn 9 ──"


def test_turns_of_two_agents_compared_without_naming_them_get_a_warning(
    ctxdiff: Cli, demo: Path
) -> None:
    done = ctxdiff("diff", "--project", demo, "--turn", "8", "--turn", "9")
    assert "turns of two agents" in done.out
    assert "--turn 6 --turn 9" in done.out


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--turn", "1"],
        ["--turn", "1", "--turn", "2", "--turn", "3"],
        ["--agent", "researcher:1"],
        ["--agent", "researcher", "--agent", "writer:9"],
        ["one-run"],
        ["one", "two", "three"],
        ["one", "two", "--turn", "1"],
        ["--agent", "a", "--agent", "b", "--agent", "c", "--turn", "1"],
        ["--agent", "a", "--agent", "b", "--session", "c", "--session", "d", "--turn", "1"],
    ],
    ids=" ".join,
)
def test_flags_that_name_no_two_turns_are_wrong_use(
    ctxdiff: Cli, demo: Path, flags: list[str]
) -> None:
    done = ctxdiff("diff", "--project", demo, *flags)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("ctxdiff-mcp: ")


def test_a_turn_that_a_side_does_not_have_is_a_failure(ctxdiff: Cli, demo: Path) -> None:
    done = ctxdiff("diff", "--project", demo, "--agent", "researcher:9", "--agent", "writer:9")
    assert (done.status, done.out) == (1, "")
    assert "1, 2, 4, 5, 7, 8" in done.err
    assert ctxdiff("diff", "--project", demo, "--turn", "1", "--turn", "77").status == 1


def test_sessions_of_several_agents_need_one_agent_named(ctxdiff: Cli, trace: Trace) -> None:
    path = trace(
        {"messages": [("user", "one")], "session": "s1", "agent": "ann"},
        {"messages": [("user", "two")], "session": "s2", "agent": "bob"},
    )
    runs = json.loads(ctxdiff("runs", "--project", path, "--json").out)["runs"]
    flags = [part for run in runs for part in ("--session", run["session_id"])]
    done = ctxdiff("diff", "--project", path, *flags, "--turn", "1")
    assert (done.status, done.out) == (2, "")
    assert "\n  ann" in done.err
    assert "\n  bob" in done.err
