"""What a caller is told when a question does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.answers.watch import Watch
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context

EVERY_ARGUMENT = {
    "ctxdiff_explain": "run, turn, agent, run_b, context_window, response_format, limit, cursor",
    "ctxdiff_runs": "limit, cursor",
}


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        (
            "ctxdiff_explain",
            {},
            (
                "error bad_arguments: ctxdiff_explain\n"
                "`run` is missing: a text of 1 to 500 characters\n"
                f"arguments are: {EVERY_ARGUMENT['ctxdiff_explain']}\n"
            ),
        ),
        (
            "ctxdiff_explain",
            {"run": "demo", "turn": True, "response_format": "long", "why\n": 1},
            (
                "error bad_arguments: ctxdiff_explain\n1 unknown argument\n"
                "`turn` must be a whole number from 0 to 999999999\n"
                "`response_format` must be one of concise, detailed\n"
                f"arguments are: {EVERY_ARGUMENT['ctxdiff_explain']}\n"
            ),
        ),
        (
            "ctxdiff_runs",
            {"limit": 0, "cursor": -1},
            (
                "error bad_arguments: ctxdiff_runs\n`limit` must be a whole number from 1 to 100\n"
                "`cursor` must be a whole number from 0 to 999999999\narguments are: limit, cursor\n"
            ),
        ),
        (
            "ctxdiff_explain",
            {"run": "nowhere"},
            (
                "error unknown_run: no run has this handle; use a handle of the list, or `latest`\n"
                "valid: demo\nnext: ctxdiff_runs()\n"
            ),
        ),
        (
            "ctxdiff_explain",
            {"run": "demo", "turn": 9},
            (
                "error unknown_turn: the run has no such turn; use one of its turns\nvalid: 1-5\n"
                'next: ctxdiff_tokens(run="...") lists the turns\n'
            ),
        ),
        (
            "ctxdiff_explain",
            {"run": "demo", "turn": 2, "agent": "researcher"},
            (
                "error turn_of_another_agent: this turn belongs to another agent; leave `agent` out\n"
                "valid: 1, 3, 5\nnext: the same call without `agent`\n"
            ),
        ),
        (
            "ctxdiff_tokens",
            {"run": "demo", "agent": "nobody"},
            (
                "error unknown_agent: the run has no such agent; use one of its agents, or leave "
                "`agent` out\nvalid: researcher, writer\n"
                "next: the same call with one of these, or without `agent`\n"
            ),
        ),
        (
            "ctxdiff_block",
            {"run": "demo", "content_hash": "abc"},
            (
                "error hash_too_short: the hash is too short; give at least 6 hex digits\n"
                'next: ctxdiff_block(run="...", turn=1) lists a turn\'s blocks\n'
            ),
        ),
        (
            "ctxdiff_block",
            {"run": "demo", "turn": 1, "position": 7},
            (
                "error unknown_position: the turn has no block there; use one of its positions\n"
                "valid: 0-3\nnext: the same call with one of these positions\n"
            ),
        ),
        (
            "ctxdiff_block",
            {"run": "demo"},
            (
                "error bad_arguments: ctxdiff_block\n"
                "give `content_hash`, or `turn`, or `turn` and `position`\n"
            ),
        ),
    ],
)
def test_an_error_says_what_is_wrong_what_fits_and_what_to_call(
    story: Path, ask: Callable[..., Any], tool: str, arguments: dict[str, Any], text: str
) -> None:
    assert ask(tool, arguments) == (text, True)


@pytest.mark.parametrize("name", ["run", "agent", "content_hash", "turn", "response_format"])
@pytest.mark.parametrize(
    "value",
    ["CANARY\x1b[31m\u202e", "x" * 100_000, "../../etc/passwd", "a\x00b", "' OR 1=1;--", "١٢"],
)
def test_an_argument_is_never_echoed(
    story: Path, ask: Callable[..., Any], name: str, value: str
) -> None:
    tool = "ctxdiff_block" if name == "content_hash" else "ctxdiff_explain"
    text, is_error = ask(tool, {"run": "demo", "turn": 1, name: value})
    assert is_error
    assert value not in text
    assert "CANARY" not in text
    assert len(text) < 1_000


@pytest.mark.parametrize("spelled", [3, 3.0, "3"])
def test_a_number_may_be_spelled_as_clients_do(
    story: Path, ask: Callable[..., Any], spelled: Any
) -> None:
    assert ask("ctxdiff_explain", run="demo", turn=spelled).text.startswith("run demo, turn 3,")


def test_an_empty_or_absent_folder_is_said_plainly(ask: Callable[..., Any]) -> None:
    assert ask("ctxdiff_runs").text.startswith("no runs: ")
    text, is_error = ask("ctxdiff_explain", run="latest")
    assert is_error
    assert text.startswith("error no_runs: no readable trace is there")


def test_a_list_that_had_no_time_for_every_file_says_so_and_calls_none_absent(
    story: Path, tmp_path: Path
) -> None:
    watch = Watch()
    watch.seconds_to_list = 0
    source = Source(story.parent, watch)

    def ask(tool: str, **arguments: Any) -> str:
        return run_tool(BY_NAME[tool], Context(source, Policy()), arguments)[0]

    assert ask("ctxdiff_runs") == "not all files are read yet: ask again, each list reads on\n"
    for tool in ("ctxdiff_explain", "ctxdiff_cache"):
        assert ask(tool, run="demo") == (
            "error still_reading: no run fits, of the files that are read so far; "
            "ask again in a moment\nnext: the same call again\n"
        )
    watch.seconds_to_list = None
    assert ask("ctxdiff_runs").startswith("1 run, newest first\n")
    assert ask("ctxdiff_explain", run="nowhere").startswith("error unknown_run: ")


def test_a_run_whose_name_is_a_credential_can_be_asked_for_as_the_answer_says(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any]
) -> None:
    new_trace(turn([block("x")], agent=f"AKIA{'Q' * 16}"), name=f"AKIA{'Z' * 16}")
    listed = ask("ctxdiff_runs").text
    (run,) = re.findall(r'^next: ctxdiff_explain\(run="(.+)"\)', listed, re.MULTILINE)
    explained = ask("ctxdiff_explain", run=run)
    assert not explained.is_error
    agent = re.findall(r", agent (\S+),", explained.text)[0]
    assert not ask("ctxdiff_explain", run=run, agent=agent).is_error
    assert "AKIA" not in listed + explained.text
    assert explained.text.count("[secret:aws-key#") == 2


def test_a_bad_file_is_listed_with_its_reason_and_hides_no_good_one(
    story: Path, ask: Callable[..., Any]
) -> None:
    (story.parent / "noise.ctrace").write_bytes(b"not a database at all")
    (story.parent / "link.ctrace").symlink_to(story)
    (story.parent / "folder.ctrace").mkdir()
    text = ask("ctxdiff_runs").text
    bad = next(line for line in text.splitlines() if line.startswith("not readable: "))
    assert sorted(bad.removeprefix("not readable: ").split(", ")) == [
        "folder (folder)",
        "link (link)",
        "noise (not_a_trace)",
    ]
    assert "- demo: 5 turns" in text


def test_a_file_named_like_a_handle_cannot_take_another_runs_place(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any]
) -> None:
    new_trace(turn([block("false")]), name="r1", started_at="2026-11-29T10:00:00Z")
    new_trace(turn([block("true")]), name="odd name", session_id="ab" * 16)
    runs = ask("ctxdiff_runs").text
    assert re.findall(r"^- (\w+): ", runs, re.MULTILINE) == ["r1", "r2"]
    assert re.findall(r"name=\w+⟧\n(.*)\n", runs) == ["odd name", "r1"]
    assert "\ntrue\n" in ask("ctxdiff_block", run="r1", turn=1, position=0).text
    assert "\nfalse\n" in ask("ctxdiff_block", run="r2", turn=1, position=0).text


def test_a_search_is_refused_in_redact_mode(story: Path, ask: Callable[..., Any]) -> None:
    for redact in ("text", "all"):
        text, is_error = ask("ctxdiff_search", run="latest", query="x", policy=Policy(redact))
        assert is_error
        assert text.startswith("error not_in_redact_mode: ")
