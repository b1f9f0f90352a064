"""What commands print is safe for a terminal, strict for a program, and survives any encoding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.cli.output import plain, write_json, write_lines
from ctxdiff_mcp.gate.captured import Captured
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import shown

ROOT = Path(__file__).resolve().parents[3]
Cli = Callable[..., Any]
Trace = Callable[..., Path]

HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\u202ec\u200bd\x9be\x7ff\rg\U000e0041h\ud800i\u2028j"
ACTING = {
    "\x1b",
    "\x07",
    "\u202e",
    "\u200b",
    "\x9b",
    "\x7f",
    "\r",
    "\U000e0041",
    "\ud800",
    "\u2028",
}


def hostile_trace(trace: Trace) -> Path:
    """Every field that a stranger can write holds what would act on a terminal."""
    tag = {"label": f"t{HOSTILE}", "text": HOSTILE}
    more = {"agent": f"ag{HOSTILE}", "step": HOSTILE, "session": "s", "tags": [tag]}
    error = {"type": f"E{HOSTILE}", "message": HOSTILE, "status": 429}
    return trace(
        {"messages": [("system", f"one {HOSTILE}"), ("user", HOSTILE)], **more},
        {
            "messages": [("system", f"two {HOSTILE}"), (f"r{HOSTILE}", HOSTILE)],
            **more,
            "error": error,
        },
    )


COMMANDS = [
    ["runs"],
    ["tokens"],
    ["cache"],
    ["explain", "--turn", "2"],
    ["diff", "--turn", "1", "--turn", "2"],
    ["block", "--turn", "2"],
    ["block", "--turn", "2", "--position", "0"],
    ["search", "a"],
    ["tokens", "--agent", "nobody"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_nothing_that_a_trace_holds_acts_on_the_terminal(
    ctxdiff: Cli, trace: Trace, command: list[str], form: list[str]
) -> None:
    done = ctxdiff(*command, *form, "--project", hostile_trace(trace))
    assert done.out + done.err
    assert not ACTING & set(done.out + done.err)
    if form and done.status == 0:
        json.loads(done.out)


@given(st.text())
def test_a_text_is_shown_on_one_line_without_a_character_that_acts(text: str) -> None:
    safe = shown(Captured(text))
    assert safe.isprintable() or not ACTING & set(safe)
    assert not set(safe) & {"\n", "\t", "\r", "\x1b"}


def test_json_is_strict_and_plain_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"nan": float("nan"), "inf": [float("inf")], "text": Captured("é\ud800\x7f\u202e")}
    write_json(value)
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x7f" not in out
    assert json.loads(out) == {"nan": None, "inf": [None], "text": "é⟦D800⟧\x7f\u202e"}


def test_a_value_without_a_spelling_in_json_is_an_error_and_not_a_guess() -> None:
    with pytest.raises(TypeError):
        write_json(plain({"a": object()}))


@pytest.mark.parametrize(
    ("tty", "no_color", "expected"),
    [
        (False, None, "x\n"),
        (True, None, "\x1b[32mx\x1b[0m\n"),
        (True, "1", "x\n"),
        (True, "", "\x1b[32mx\x1b[0m\n"),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tty: bool,
    no_color: str | None,
    expected: str,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty)
    write_lines([Line("x", "added")])
    assert capsys.readouterr().out == expected


def command_line(*argv: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(str(part) for part in (ROOT, ROOT / "capture", ROOT / "analyzers"))
    environment = {**os.environ, "PYTHONPATH": path, **options.pop("env", {})}
    words = [sys.executable, "-m", "ctxdiff_mcp", *(str(part) for part in argv)]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_narrow_encoding_costs_characters_and_never_the_command(
    demo: Path, tmp_path: Path, encoding: str
) -> None:
    program = command_line(
        *("diff", "--project", demo, "--turn", "7", "--turn", "8"),
        env={"PYTHONIOENCODING": encoding},
        cwd=tmp_path,
    )
    out, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (0, b"")
    assert b"\\u2192" in out


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error(demo: Path, tmp_path: Path) -> None:
    program = command_line("tokens", "--project", demo, cwd=tmp_path)
    with program:
        assert program.stdout
        assert program.stderr
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait(timeout=60) == 0
