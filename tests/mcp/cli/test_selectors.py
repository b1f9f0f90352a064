"""Which trace, session, agent and turn a command means, and what it says when it cannot tell."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.cli.select import MAX_ROWS

Cli = Callable[..., Any]
Trace = Callable[..., Path]

HELLO: dict[str, Any] = {"messages": [("user", "hello")]}


def two_sessions(trace: Trace) -> Path:
    return trace(
        {"messages": [("user", "one")], "session": "s1", "agent": "ann"},
        {"messages": [("user", "one"), ("assistant", "two")], "session": "s1", "agent": "ann"},
        {"messages": [("user", "uno")], "session": "s2", "agent": "ann"},
    )


def test_of_very_many_sessions_a_complaint_lists_the_first(ctxdiff: Cli, trace: Trace) -> None:
    calls = [{"messages": [("user", "hi")], "session": f"s{n}"} for n in range(MAX_ROWS + 3)]
    done = ctxdiff("tokens", "--project", trace(*calls))
    first, *rows, last = done.err.splitlines()
    assert (done.status, len(rows)) == (2, MAX_ROWS)
    assert first.endswith("the trace holds several sessions: name one with --session")
    assert last == "  … and 3 more; `ctxdiff-mcp runs` lists them"


def session_ids(ctxdiff: Cli, path: Path) -> list[str]:
    return [
        run["session_id"]
        for run in json.loads(ctxdiff("runs", "--project", path, "--json").out)["runs"]
    ]


def test_without_flags_the_newest_trace_of_the_folder_is_asked(ctxdiff: Cli, trace: Trace) -> None:
    for name, age in (("old", 100), ("new", 0)):
        path = Path(shutil.copy(trace({"messages": [("user", name)]}, name=name), "."))
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    assert json.loads(ctxdiff("tokens", "--json").out)["run"] == "new"


def test_an_empty_folder_is_a_failure_that_says_what_to_do(ctxdiff: Cli) -> None:
    done = ctxdiff("tokens")
    assert (done.status, done.out) == (1, "")
    assert "no trace here" in done.err


def test_an_empty_folder_has_no_runs_and_that_is_an_answer(ctxdiff: Cli) -> None:
    assert ctxdiff("runs").status == 0
    assert json.loads(ctxdiff("runs", "--json").out) == {
        "runs": [],
        "total": 0,
        "unreadable": [],
        "complete": True,
    }


def test_the_environment_names_the_trace_and_the_flag_wins(
    ctxdiff: Cli, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, other = trace(dict(HELLO), name="named"), trace(dict(HELLO), name="other")
    monkeypatch.setenv("CTXDIFF_STORE", str(named))
    assert json.loads(ctxdiff("tokens", "--json").out)["run"] == "named"
    assert json.loads(ctxdiff("tokens", "--project", other, "--json").out)["run"] == "other"


@pytest.mark.parametrize(
    ("project", "status", "words"),
    [
        ("nosuch.ctrace", 1, "nosuch.ctrace"),
        ("redis://host/db", 2, "redis"),
        ("postgres", 2, "://"),
        ("postgresql://me:secret@host/db", 1, "not supported yet"),
        (".", 2, "directory"),
    ],
)
def test_a_project_that_is_no_trace_is_refused_in_words(
    ctxdiff: Cli, project: str, status: int, words: str
) -> None:
    done = ctxdiff("tokens", "--project", project)
    assert (done.status, done.out) == (status, "")
    assert words in done.err
    assert "secret" not in done.err
    assert list(Path.cwd().iterdir()) == []


def test_a_file_that_is_no_trace_is_named_and_left_alone(ctxdiff: Cli) -> None:
    Path("broken.ctrace").write_bytes(b"not a database at all, but long enough to look at")
    before = Path("broken.ctrace").read_bytes()
    done = ctxdiff("explain", "--project", "broken.ctrace")
    assert (done.status, done.out) == (1, "")
    assert "broken.ctrace" in done.err
    assert Path("broken.ctrace").read_bytes() == before
    assert "broken  cannot be read: not a trace" in ctxdiff("runs").out


def test_a_trace_may_have_any_name_and_be_reached_by_a_link(ctxdiff: Cli, trace: Trace) -> None:
    shutil.copy(trace(dict(HELLO)), "recording.db")
    Path("link.ctrace").symlink_to("recording.db")
    for name in ("recording.db", "link.ctrace"):
        assert ctxdiff("tokens", "--project", name).status == 0


def test_several_sessions_are_listed_when_none_is_named(ctxdiff: Cli, trace: Trace) -> None:
    path = two_sessions(trace)
    done = ctxdiff("tokens", "--project", path)
    assert (done.status, done.out) == (2, "")
    for session in session_ids(ctxdiff, path):
        assert f"  {session[:12]}  2026-11-30T10:00:0" in done.err
    assert "agents=ann" in done.err


def test_a_session_is_named_by_any_unambiguous_start(ctxdiff: Cli, trace: Trace) -> None:
    path = two_sessions(trace)
    for session in session_ids(ctxdiff, path):
        answer = json.loads(
            ctxdiff("tokens", "--project", path, "--session", session[:9], "--json").out
        )
        assert answer["session_id"] == session


@pytest.mark.parametrize("session", ["zzz", ""])
def test_an_unknown_or_ambiguous_session_is_wrong_use(
    ctxdiff: Cli, trace: Trace, session: str
) -> None:
    done = ctxdiff("tokens", "--project", two_sessions(trace), "--session", session)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("turns=") == 2


def test_an_unknown_agent_is_wrong_use_and_the_agents_are_listed(ctxdiff: Cli, demo: Path) -> None:
    done = ctxdiff("cache", "--project", demo, "--agent", "nobody")
    assert (done.status, done.out) == (2, "")
    assert "\n  researcher\n  writer\n" in done.err


@pytest.mark.parametrize("command", ["explain", "tokens", "cache"])
def test_an_unknown_turn_is_a_failure_and_the_turns_are_listed(
    ctxdiff: Cli, demo: Path, command: str
) -> None:
    done = ctxdiff(command, "--project", demo, "--turn", "77")
    assert (done.status, done.out) == (1, "")
    assert "1, 2, 3, 4, 5, 6, 7, 8, 9" in done.err
    assert "(demo.ctrace, session " in done.err


def test_a_turn_of_another_agent_is_a_failure(ctxdiff: Cli, demo: Path) -> None:
    done = ctxdiff("explain", "--project", demo, "--turn", "8", "--agent", "writer")
    assert (done.status, done.out) == (1, "")
    assert "another agent" in done.err


@pytest.mark.parametrize("number", ["x", "١", "1.0", "", "1e3"])
def test_a_turn_is_written_in_plain_digits(ctxdiff: Cli, demo: Path, number: str) -> None:
    done = ctxdiff("tokens", "--project", demo, "--turn", number)
    assert (done.status, done.out) == (2, "")
    assert "invalid int value" in done.err


def test_blanks_and_a_sign_around_a_number_are_allowed(ctxdiff: Cli, demo: Path) -> None:
    assert ctxdiff("tokens", "--project", demo, "--turn", " +1 ").status == 0


@pytest.mark.parametrize(
    ("flag", "variable", "window"),
    [
        (None, None, None),
        ("1000", None, 1000),
        (None, " 2000 ", 2000),
        ("1000", "2000", 1000),
        (None, "  ", None),
    ],
)
def test_the_window_comes_from_the_flag_then_the_environment(
    ctxdiff: Cli,
    demo: Path,
    monkeypatch: pytest.MonkeyPatch,
    flag: str | None,
    variable: str | None,
    window: int | None,
) -> None:
    if variable is not None:
        monkeypatch.setenv("CTXDIFF_CONTEXT_WINDOW", variable)
    flags = ["--context-window", flag] if flag else []
    (turn,) = json.loads(ctxdiff("tokens", "--project", demo, "--turn", "1", "--json", *flags).out)[
        "turns"
    ]
    assert (turn["window"] and turn["window"]["window"]) == window


@pytest.mark.parametrize(
    ("flag", "variable"), [("0", None), ("-5", None), (None, "0"), (None, "big")]
)
def test_a_window_that_is_none_is_refused_before_anything_is_opened(
    ctxdiff: Cli, monkeypatch: pytest.MonkeyPatch, flag: str | None, variable: str | None
) -> None:
    if variable is not None:
        monkeypatch.setenv("CTXDIFF_CONTEXT_WINDOW", variable)
    flags = ["--context-window", flag] if flag else []
    done = ctxdiff("tokens", "--project", "nosuch.ctrace", *flags)
    assert (done.status, done.out) == (2, "")
    assert "positive" in done.err or "whole number" in done.err
