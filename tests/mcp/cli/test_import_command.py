"""`import`: the good lines become a trace, the bad ones are named."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture import read

ROOT = Path(__file__).resolve().parents[3]
Cli = Callable[..., Any]


def line(**changes: Any) -> str:
    call = {
        "provider": "openai.chat",
        "request": {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]},
        "response": None,
        "started_at": "2026-11-30T10:00:00.000Z",
        **changes,
    }
    return json.dumps(call)


@pytest.fixture
def log(ctxdiff: Cli) -> Path:
    """A log in the current folder with a bad second and fourth line."""
    path = Path("calls.jsonl")
    lines = [line(), "{not json", line(), line(provider="nobody.knows")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_bad_line_is_named_and_the_good_ones_are_written(ctxdiff: Cli, log: Path) -> None:
    done = ctxdiff("import", log)
    assert done.status == 1
    assert [text.split(": ")[0] for text in done.err.splitlines()] == [
        "calls.jsonl:2",
        "calls.jsonl:4",
    ]
    assert done.out == "2 calls, 1 sessions, 2 bad lines → calls.ctrace\n"
    assert "turns=2" in ctxdiff("runs").out


def test_a_log_without_a_fault_gives_success_and_silence_on_stderr(ctxdiff: Cli) -> None:
    Path("calls.jsonl").write_text(line() + "\n", encoding="utf-8")
    done = ctxdiff("import", "calls.jsonl", "--out", "named.ctrace")
    assert (done.status, done.err) == (0, "")
    assert done.out == "1 calls, 1 sessions, 0 bad lines → named.ctrace\n"


def test_a_log_without_a_good_line_leaves_no_trace(ctxdiff: Cli) -> None:
    Path("calls.jsonl").write_text("{not json\n", encoding="utf-8")
    done = ctxdiff("import", "calls.jsonl")
    assert (done.status, done.out) == (1, "0 calls, 0 sessions, 1 bad lines → no trace written\n")
    assert [path.name for path in Path.cwd().iterdir()] == ["calls.jsonl"]


def test_the_report_in_json_names_every_bad_line(ctxdiff: Cli, log: Path) -> None:
    report = json.loads(ctxdiff("import", log, "--json").out)
    assert (report["trace"], report["calls"], report["sessions"]) == ("calls.ctrace", 2, 1)
    assert [error["line"] for error in report["errors"]] == [2, 4]


def test_a_second_import_never_adds_to_the_first(ctxdiff: Cli, log: Path) -> None:
    ctxdiff("import", log)
    before = Path("calls.ctrace").read_bytes()
    again = ctxdiff("import", log)
    assert (again.status, again.out) == (1, "")
    assert "calls.ctrace exists" in again.err
    assert Path("calls.ctrace").read_bytes() == before


def test_a_log_that_is_not_there_is_a_failure_in_words(ctxdiff: Cli) -> None:
    done = ctxdiff("import", "nosuch.jsonl")
    assert (done.status, done.out) == (1, "")
    assert "nosuch.jsonl" in done.err
    assert "Traceback" not in done.err
    assert list(Path.cwd().iterdir()) == []


def test_what_a_log_says_cannot_act_on_the_terminal(ctxdiff: Cli) -> None:
    Path("calls.jsonl").write_text(line(provider="\x1b]0;owned\x07\u202e"), encoding="utf-8")
    done = ctxdiff("import", "calls.jsonl")
    assert done.status == 1
    assert not set(done.err + done.out) & {"\x1b", "\x07", "\u202e"}


@pytest.mark.slow
def test_a_terminal_gets_a_progress_bar(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text(line() + "\n", encoding="utf-8")
    sources = os.pathsep.join(str(part) for part in (ROOT, ROOT / "capture", ROOT / "analyzers"))
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    screen, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    done = subprocess.run(
        [sys.executable, "-m", "ctxdiff_mcp", "import", "calls.jsonl"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": sources},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
        timeout=60,
        check=True,
    )
    os.close(terminal)
    seen = b""
    with suppress(OSError):  # how Linux says that nobody writes any more
        while piece := os.read(screen, 4096):
            seen += piece
    os.close(screen)
    assert b"100%" in seen
    assert done.stdout == "1 calls, 1 sessions, 0 bad lines → calls.ctrace\n".encode()


def test_credentials_of_a_log_are_stored_as_tags_where_that_is_asked(ctxdiff: Cli) -> None:
    key = "AKIAIOSFODNN7EXAMPLE"

    def asked(session: str) -> str:
        message = {"role": "user", "content": f"{session}: use {key}"}
        return line(request={"model": "gpt-5", "messages": [message]}, session=session)

    Path("calls.jsonl").write_text("\n".join(map(asked, "ab")) + "\n", encoding="utf-8")

    done = ctxdiff("import", "calls.jsonl", "--redact", "secrets")

    assert (done.status, done.err) == (0, "")
    assert key.encode() not in Path("calls.ctrace").read_bytes()
    reader = read("calls.ctrace")
    calls = [call for session in reader.sessions() for call in reader.load(session.id).calls]
    texts = [place.block.text for call in calls for place in reader.inputs(call.id)]
    reader.close()
    assert texts == ["a: use [secret:aws-key#1]", "b: use [secret:aws-key#1]"]


def test_a_misspelt_redaction_of_the_environment_imports_nothing(
    ctxdiff: Cli, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXDIFF_REDACT", "secret")

    done = ctxdiff("import", log)

    assert done.status != 0
    assert "'secret'" in done.err
    assert not Path("calls.ctrace").exists()
