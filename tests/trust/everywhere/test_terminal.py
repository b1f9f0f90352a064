"""Nothing that a trace, a log, a file's name or an argument holds acts on a terminal."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from ctxdiff_mcp.__main__ import main
from ctxdiff_mcp.cli.main import COMMANDS, parser_for
from tests.trust.everywhere.places import Canaries
from tests.trust.everywhere.reading import HIDDEN
from tests.trust.everywhere.story import folder
from tests.trust.goals import GOALS, IS_FULL, attempts

FORGED = "ctxdiff-mcp: forged"
# As the system's bytes arrive: one that is not UTF-8 is half of a pair.
HOSTILE = f"CNRY\x1b[2J\x1b]0;owned\x07\u202e\x9b31m\x7f\u200b\u2028\r\n{FORGED}\udcff"
ELSEWHERE: Mapping[str, str] = {
    "serve": "speaks MCP on stdout, see test_wire; its stderr is tried there too",
    "demo": "records and shows its own words; the answer comes through the gate",
    "run": "becomes another program; its complaints are tried below",
    "import": "reads a log and no trace, and is tried below",
}
"""Commands that show nothing of a trace."""

VALUES: Mapping[str, Sequence[Sequence[str]]] = {
    "json": [["--json"]],
    "project": [],
    "runs_dir": [],
    "session": [["--session", one] for one in ("5e55", "0", HOSTILE, "r1")],
    "agent": [["--agent", one] for one in ("CNRY", HOSTILE)],
    "turn": [["--turn", one] for one in ("1", "4", "5", "99", HOSTILE)],
    "context_window": [["--context-window", one] for one in ("50", "-1", HOSTILE)],
    "detailed": [["--detailed"]],
    "against": [["--against", one] for one in ("0707", HOSTILE)],
    "by": [["--by", one] for one in ("call", "agent", "step", "model", HOSTILE)],
    "prices": [["--prices", HOSTILE]],
    "position": [["--position", one] for one in ("0", "1", "4", "99", HOSTILE)],
    "limit": [["--limit", one] for one in ("1", HOSTILE)],
    "all": [["--all"]],
    "content_hash": [["CNRY"], ["b1"], [HOSTILE]],
    "runs": [["5e55", "0707"], [HOSTILE, HOSTILE]],
    "query": [["CNRY"], ["--", HOSTILE]],
    "text": [["CNRY"], ["--", HOSTILE]],
}
"""What is given for each argument of a command, by its name. A new one must be added."""

BASES: Mapping[str, Sequence[Sequence[str]]] = {
    "diff": [["--turn", "1", "--turn", "4"], ["--turn", "4", "--turn", "5"]],
    "block": [["--turn", "4"], ["--turn", "1", "--position", "0"]],
    "stages": [["--turn", "4"]],
    "search": [["CNRY"], ["--turn", "4"]],
}
"""What makes a question of a command that needs more than a trace."""


SESSIONS = {"demo.ctrace": "5e55", "odd.ctrace": "0b0b"}
"""The session that is asked about of files with several."""


class Done(NamedTuple):
    status: int
    out: bytes
    err: bytes


@pytest.fixture
def ctxdiff(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Done]:
    """Runs a command in this process and gives its bytes."""
    for name in ("CTXDIFF_STORE", "CTXDIFF_CONTEXT_WINDOW", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")

    def run(*argv: str, tty: bool = False) -> Done:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
        for stream in streams:
            stream.isatty = lambda: tty  # type: ignore[method-assign]
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", streams[0])
            patched.setattr(sys, "stderr", streams[1])
            status = main(argv)
        for stream in streams:
            stream.flush()
        out, err = (stream.buffer.getvalue() for stream in streams)  # type: ignore[attr-defined]
        return Done(status, out, err)

    return run


def faults(done: Done, *, is_json: bool, is_text_of_a_block: bool = False) -> list[str]:
    """What is wrong with what a command printed."""
    found = []
    for stream, data in (("stdout", done.out), ("stderr", done.err)):
        text = data.decode("utf-8")  # strictly
        if acting := {char for char in text if unicodedata.category(char) in HIDDEN} - {"\n"}:
            found.append(f"{stream}: {sorted(map(ascii, acting))}")
        starts = [line.strip(" |") for line in text.split("\n")]
        if any(line.startswith(FORGED) for line in starts) and not is_text_of_a_block:
            found.append(f"{stream}: a line of ours is forged")
        if "Traceback" in text or "internal error" in text:
            found.append(f"{stream}: a fault")
        if stream == "stderr" and max(map(len, starts)) > 2_000:
            found.append("stderr: a line without end")
    if is_json and done.status == 0:
        if not done.out.isascii():
            found.append("JSON is not ASCII")
        if orjson.loads(done.out) != json.loads(done.out):  # strict about halves of pairs and NaN
            found.append("JSON is read differently")
    if done.status not in (0, 1, 2):
        found.append(f"status {done.status}")
    return found


def arguments_of(command: str) -> list[str]:
    """The names of a command's arguments, from its parser."""
    parser = parser_for(command)
    subparsers = next(
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    return [action.dest for action in subparsers.choices[command]._actions if action.dest != "help"]


def questions(command: str) -> Iterator[list[str]]:
    """The command with each value of each argument, as text and as JSON."""
    for base in BASES.get(command, [[]]):
        yield [*base]
        for name in arguments_of(command):
            for more in VALUES[name]:
                yield [*base, *more]
                if more != ["--json"]:
                    yield [*base, *more, "--json"] if "--" not in more else ["--json", *base, *more]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Canaries, list[Path]]:
    """A folder full of canaries, and each of its files, those of several sessions first."""
    canaries = Canaries("hostile", f"\n{FORGED}")
    root = folder(tmp_path_factory.mktemp("terminal") / "runs", canaries)
    named = [path for path in root.rglob("*.ctrace") if path.name not in SESSIONS]
    return canaries, [root, *(root / name for name in SESSIONS), *named]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ELSEWHERE])
def test_no_command_prints_what_acts_hides_or_forges_a_line(
    ctxdiff: Callable[..., Done], runs: tuple[Canaries, list[Path]], command: str
) -> None:
    tried, wrong, shown = 0, [], ""
    for place, path in enumerate(runs[1][: attempts(3, 9)]):
        for number, question in enumerate(questions(command)):
            if not IS_FULL and (number + place) % 2:
                continue
            where = ["--project", str(path)]
            if path.is_dir() and "runs_dir" in arguments_of(command):
                where = ["--runs-dir", str(path)]
            session = SESSIONS.get(path.name)
            takes_one = "session" in arguments_of(command) and HOSTILE not in question[:1]
            if session and takes_one and "--session" not in question:
                where += ["--session", session]
            done = ctxdiff(command, *where, *question)
            tried += 1
            shown += done.out.decode()
            is_whole_text = command == "block" and "--json" not in question
            wrong += [
                f"{path.name} {question}: {fault}"
                for fault in faults(
                    done, is_json="--json" in question, is_text_of_a_block=is_whole_text
                )
            ]
    assert wrong == []
    assert "CNRY" in shown
    GOALS.raw.add(tried, part=f"terminal: {command}")


def test_colours_come_from_no_text(
    ctxdiff: Callable[..., Done], runs: tuple[Canaries, list[Path]]
) -> None:
    ours = re.compile(rb"^\x1b\[[0-9]{1,2}m|\x1b\[0m$", re.MULTILINE)
    for command in ("explain", "diff", "tokens", "cache", "search"):
        base = BASES.get(command, [[]])[0]
        path = next(path for path in runs[1] if path.name == "demo.ctrace")
        done = ctxdiff(command, "--project", str(path), "--session", "5e55", *base, tty=True)
        assert done.status == 0
        assert b"\x1b[" in done.out
        assert faults(Done(0, ours.sub(b"", done.out), done.err), is_json=False) == []


def test_json_gives_the_very_text_by_its_own_escapes(
    ctxdiff: Callable[..., Done], runs: tuple[Canaries, list[Path]]
) -> None:
    canaries, paths = runs
    path = str(next(path for path in paths if path.name == "demo.ctrace"))
    done = ctxdiff(
        "block", "--project", path, "--session", "5e55", "--turn", "1", "--position", "3", "--json"
    )
    assert json.loads(done.out)["text"] == canaries("tagged note")
    assert json.loads(done.out)["label"] == canaries("label")


LINES: Mapping[str, str] = {
    "no JSON": HOSTILE.replace("\n", " "),
    "no object": json.dumps([HOSTILE]),
    "no provider": json.dumps({HOSTILE: HOSTILE}),
    "unknown provider": json.dumps({"provider": HOSTILE * 1_000, "request": {}}),
    "no request": json.dumps({"provider": "openai.chat", "request": HOSTILE}),
    "nested": '{"a":' * 5_000,
    "digits": '{"provider": ' + "9" * 10_000,
    "all fields": json.dumps(
        {
            "provider": "openai.chat",
            "request": {"model": HOSTILE, "messages": [{"role": HOSTILE, "content": HOSTILE}]},
            "response": {"choices": [{"message": {"content": HOSTILE}, "finish_reason": HOSTILE}]},
            "agent": HOSTILE,
            "step": HOSTILE,
            "session": HOSTILE,
            "started_at": HOSTILE,
            "tags": [{"label": HOSTILE, "text": HOSTILE}],
            "error": {"type": HOSTILE, "message": HOSTILE, "status": 1},
            HOSTILE: HOSTILE,
        }
    ),
}


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("kind", LINES)
def test_an_import_names_bad_lines_without_repeating_them_raw(
    ctxdiff: Callable[..., Done], tmp_path: Path, form: list[str], kind: str
) -> None:
    log = tmp_path / f"{HOSTILE[:60]}.jsonl"
    log.write_text(LINES[kind] + "\n", encoding="utf-8", errors="surrogateescape")
    done = ctxdiff("import", str(log), *form)
    assert faults(done, is_json=bool(form)) == []
    assert done.status == (0 if kind == "all fields" else 1)
    again = ctxdiff("import", str(log), *form)
    assert faults(again, is_json=bool(form)) == []
    GOALS.raw.add(2)


COMPLAINTS = [
    [HOSTILE],
    ["runs", HOSTILE],
    ["runs", f"--{HOSTILE}", HOSTILE],
    ["runs", "--project", HOSTILE],
    ["runs", "--runs-dir", HOSTILE],
    ["explain", "--project", HOSTILE],
    ["explain", "--project", f"postgresql://{HOSTILE}"],
    ["explain", "--project", "mysql://[::1"],
    ["diff", HOSTILE, HOSTILE],
    ["import", HOSTILE],
    ["demo", "--out", f"{HOSTILE}/{HOSTILE}"],
    ["run", "--", HOSTILE],
    ["serve", HOSTILE],
    ["serve", "--redact", HOSTILE],
    ["serve", "--max-bytes", HOSTILE],
    ["legend", "--runs-dir", HOSTILE],
]


@pytest.mark.parametrize("argv", COMPLAINTS, ids=lambda argv: " ".join(argv)[:20].encode().hex())
def test_a_complaint_repeats_no_argument_raw(
    ctxdiff: Callable[..., Done], monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = ctxdiff(*argv)
    assert faults(done, is_json=False) == []
    assert done.err or b"no trace" in done.out
    GOALS.echo.add(1)


def test_a_server_that_cannot_start_says_so_as_carefully(tmp_path: Path) -> None:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-m", "ctxdiff_mcp", "serve", "--prices", HOSTILE],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert faults(Done(done.returncode, done.stdout, done.stderr), is_json=False) == []
    assert done.returncode == 2
    assert b"the price list CNRY" in done.stderr


def test_a_variable_of_the_environment_is_repeated_as_carefully(
    ctxdiff: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CTXDIFF_STORE", "CTXDIFF_CONTEXT_WINDOW"):
        with monkeypatch.context() as patched:
            patched.setenv(name, HOSTILE.removesuffix("\udcff"))
            done = ctxdiff("explain")
            assert faults(done, is_json=False) == []
            assert done.status != 0


def test_a_fault_of_ours_is_told_in_fixed_words_and_with_strict_in_harmless_ones(
    runs: tuple[Canaries, list[Path]], tmp_path: Path
) -> None:
    broken = (
        "import sys; from ctxdiff_mcp.cli import runs; from ctxdiff_mcp.__main__ import main\n"
        "def run(args): raise RuntimeError('CNRY\\x1b[2J\\u202e\\n" + FORGED + "')\n"
        "runs.run = run; sys.exit(main(['runs']))"
    )
    path = os.pathsep.join(entry for entry in sys.path if entry)
    for strict, told in (("0", b"internal error (RuntimeError)"), ("1", b"RuntimeError: CNRY")):
        done = subprocess.run(
            [sys.executable, "-c", broken],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "CTXDIFF_STRICT": strict},
            timeout=60,
        )
        assert done.returncode == 1
        assert told in done.stderr
        assert not {0x1B, 0x9B} & set(done.stderr)
        assert "\u202e".encode() not in done.stderr
        assert all(not line.startswith(FORGED.encode()) for line in done.stderr.split(b"\n"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("command", [["runs"], ["tokens", "--session", "5e55", "--json"]])
@pytest.mark.parametrize("where", ["/dev/full", "closed", "left"])
def test_an_output_that_takes_nothing_ends_the_command_without_a_traceback(
    runs: tuple[Canaries, list[Path]], command: list[str], where: str
) -> None:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    file = next(path for path in runs[1] if path.name == "demo.ctrace")
    words = [sys.executable, "-m", "ctxdiff_mcp", *command, "--project", str(file)]
    script = {"closed": '"$@" >&-', "left": '"$@" | :', "/dev/full": '"$@" >/dev/full'}[where]
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *words],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
        timeout=60,
    )
    assert b"Traceback" not in done.stderr
    assert b"internal error" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert done.returncode == (1 if where == "/dev/full" else 0)
