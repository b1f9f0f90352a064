"""Files that harm their reader: the server goes on, and shows all others."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.worker import supervisor as supervisor_module
from ctxdiff_mcp.worker.process import ThreadWorker
from ctxdiff_mcp.worker.supervisor import SECONDS
from tests.mcp.worker.conftest import HARM, linux

pytestmark = linux
Supervised = Callable[..., Any]
Traces = Callable[..., None]

SLOW = "error too_slow: "
STOPPED = "error reader_stopped: "


def pid_of(supervisor: Any) -> int:
    return int(supervisor._worker.pid)


def unreadable(supervisor: Any) -> str:
    """What the list of runs says about files that cannot be read."""
    text = supervisor.answer("ctxdiff_runs", {}).text
    return "".join(line for line in text.splitlines() if line.startswith("not readable"))


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        ("hang", "took_too_long"),
        ("crash", "stopped_the_reader"),
        ("leave", "stopped_the_reader"),
        ("eat", "unreadable|took_too_long"),  # a busy machine is slow to hand memory out
    ],
)
def test_a_file_that_harms_its_reader_when_listed_hides_no_other(
    supervised: Supervised, traces: Traces, harm: str, reason: str
) -> None:
    traces("good", f"{harm}-listed", "fine")
    supervisor = supervised()
    text = supervisor.answer("ctxdiff_runs", {}).text
    assert text.startswith("2 runs, newest first\n")
    assert re.search(rf"^not readable: {harm}-listed \(({reason})\)$", text, re.MULTILINE)
    pid = pid_of(supervisor)
    assert not supervisor.answer("ctxdiff_explain", {"run": "good"}).is_error
    assert pid_of(supervisor) == pid


def test_several_harmful_files_are_met_by_one_question(
    supervised: Supervised, traces: Traces
) -> None:
    traces("good", "leave-listed", "crash-listed")
    assert supervised().answer("ctxdiff_runs", {}).text.startswith("1 run, newest first\n")


@pytest.mark.parametrize("harm", ["hang", "wait"])
def test_a_question_that_does_not_end_is_stopped_in_time(
    supervised: Supervised, traces: Traces, harm: str
) -> None:
    traces("good", f"{harm}-asked")
    supervisor = supervised(seconds=SECONDS)
    supervisor.answer("ctxdiff_runs", {})
    begin = time.monotonic()
    answer = supervisor.answer("ctxdiff_explain", {"run": f"{harm}-asked"})
    assert time.monotonic() - begin < 7  # 5, and what a busy machine adds
    assert answer.is_error
    assert answer.text.startswith(SLOW)
    assert answer.text.endswith("next: ctxdiff_runs()\n")
    assert not supervisor.answer("ctxdiff_explain", {"run": "good"}).is_error


def test_a_file_about_which_questions_do_not_end_is_not_read_a_third_time(
    supervised: Supervised, traces: Traces
) -> None:
    traces("good", "hang-asked")
    supervisor = supervised()
    for _ in range(2):
        assert unreadable(supervisor) == ""
        answer = supervisor.answer("ctxdiff_explain", {"run": "hang-asked"})
        assert answer.text.startswith(SLOW)
    assert unreadable(supervisor) == "not readable: hang-asked (took_too_long)"


def test_a_question_that_only_waited_tells_nothing_of_its_file(
    supervised: Supervised, traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces("good", "wait-asked")
    supervisor = supervised(seconds=1)
    supervisor.answer("ctxdiff_runs", {})
    for _ in range(3):
        supervisor.answer("ctxdiff_explain", {"run": "wait-asked"})
    monkeypatch.setattr(supervisor_module, "SECONDS", 60)
    assert unreadable(supervisor) == ""


def test_a_question_that_stops_its_reader_is_asked_again_once(
    supervised: Supervised, traces: Traces
) -> None:
    traces("good", "leave-asked")
    supervisor = supervised()
    answer = supervisor.answer("ctxdiff_explain", {"run": "leave-asked"})
    assert answer.is_error
    assert answer.text.startswith(STOPPED)
    assert unreadable(supervisor) == "not readable: leave-asked (stopped_the_reader)"
    assert not supervisor.answer("ctxdiff_explain", {"run": "good"}).is_error


@pytest.mark.parametrize("when", ["listed", "asked"])
@pytest.mark.parametrize("way", ["killed", "ended"])
def test_a_reader_that_somebody_else_ended_is_replaced_unseen(
    supervised: Supervised, traces: Traces, way: str, when: str
) -> None:
    traces("good", f"{way}-{when}")
    supervisor = supervised()
    assert not supervisor.answer("ctxdiff_explain", {"run": f"{way}-{when}"}).is_error
    assert unreadable(supervisor) == ""


def test_a_file_is_not_to_blame_for_readers_that_somebody_else_ended(
    supervised: Supervised, traces: Traces
) -> None:
    traces("good", "often-asked")
    supervisor = supervised()
    for _ in range(2):
        answer = supervisor.answer("ctxdiff_explain", {"run": "often-asked"})
        assert answer.text.startswith(STOPPED)
    assert not supervisor.answer("ctxdiff_explain", {"run": "often-asked"}).is_error


def test_a_file_is_not_to_blame_for_readers_that_were_halted(
    supervised: Supervised, traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces("good", "halted-listed")
    supervisor = supervised(seconds=1.5)
    for _ in range(3):
        assert supervisor.answer("ctxdiff_runs", {}).text.startswith(SLOW)
    monkeypatch.setattr(supervisor_module, "SECONDS", 60)
    assert unreadable(supervisor) == ""
    assert not supervisor.answer("ctxdiff_explain", {"run": "halted-listed"}).is_error


def test_readers_that_are_killed_as_they_start_are_started_again(
    supervised: Supervised, traces: Traces, tmp_path: Path
) -> None:
    traces("good")
    for n in range(4):
        (tmp_path / f"kill-{n}").mkdir()
    supervisor = supervised(
        f"""
import os, signal
kills = [one for one in sorted(os.listdir({str(tmp_path)!r})) if one.startswith("kill-")]
if len(kills) < 4 and kills:
    os.rmdir(os.path.join({str(tmp_path)!r}, kills[0]))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    assert not supervisor.answer("ctxdiff_runs", {}).is_error
    (tmp_path / "kill-0").rmdir()
    os.kill(pid_of(supervisor), signal.SIGKILL)
    assert not supervisor.answer("ctxdiff_runs", {}).is_error
    assert list(tmp_path.glob("kill-*")) == []
    assert pid_of(supervisor)  # of a process, not of this one's thread


def test_a_harmful_file_is_tried_again_when_it_changes(
    supervised: Supervised, traces: Traces, tmp_path: Path
) -> None:
    traces("good", "old-listed")
    path = tmp_path / "runs" / "old-listed.ctrace"
    os.utime(path, (1_000, 1_000))
    supervisor = supervised()
    assert unreadable(supervisor) == "not readable: old-listed (stopped_the_reader)"
    os.utime(path, (2_000, 2_000))
    assert unreadable(supervisor) == ""
    assert not supervisor.answer("ctxdiff_explain", {"run": "old-listed"}).is_error
    os.utime(path, (1_000, 1_000))
    assert unreadable(supervisor) == "not readable: old-listed (stopped_the_reader)"


def test_memory_is_bounded_and_the_next_question_answered(
    supervised: Supervised, traces: Traces
) -> None:
    traces("good", "eat-asked")
    supervisor = supervised()
    answer = supervisor.answer("ctxdiff_explain", {"run": "eat-asked"})
    assert answer.text.startswith("error needs_too_much: ")
    status = Path(f"/proc/{pid_of(supervisor)}/status").read_text()
    peak_kb = int(status.partition("VmHWM:")[2].split()[0])
    assert 300_000 < peak_kb < 440_000  # the server's own 70 MB come on top
    assert not supervisor.answer("ctxdiff_explain", {"run": "good"}).is_error


def test_runs_that_are_open_take_no_memory_from_the_one_that_is_asked_about(
    supervised: Supervised, new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    names = [f"run-{n}" for n in range(6)]
    for name in names:
        new_trace(turn([block(f"{name} " + "word " * 4_000_000)]), name=name)
    supervisor = supervised("from ctxdiff_mcp.worker import limits; limits.MEMORY = 200 * 2**20")
    asked = {"turn": 1, "position": 0, "max_chars": 100}
    texts = [supervisor.answer("ctxdiff_block", {"run": name, **asked}).text for name in names]
    assert [text.partition(",")[0] for text in texts] == [f"run {name}" for name in names]
    assert "6 runs, newest first" in supervisor.answer("ctxdiff_runs", {}).text


def test_no_large_file_is_written_and_none_is_left(
    supervised: Supervised, traces: Traces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    traces("write-asked")
    supervisor = supervised()
    before = set(tmp_path.rglob("*"))
    assert supervisor.answer("ctxdiff_explain", {"run": "write-asked"}).is_error
    written = [path for path in set(tmp_path.rglob("*")) - before if path.is_file()]
    assert sorted(path.name for path in written) == ["big", "lock"]
    assert max(path.stat().st_size for path in written) < 17 * 2**20
    supervisor.close()
    assert list(place.iterdir()) == []


def test_a_trace_that_is_being_written_is_read_and_no_copy_is_left(
    supervised: Supervised,
    new_session: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    session = new_session(20 * 2**20)
    supervisor = supervised()
    answer = supervisor.answer("ctxdiff_explain", {"run": "live"})
    assert answer.text.startswith("run live, turn 1")
    assert [path.name for path in place.rglob("trace")] == ["trace"]
    supervisor.close()
    session.close()
    assert list(place.iterdir()) == []


def test_without_a_folder_for_temporary_files_the_project_is_not_written_to(
    supervised: Supervised,
    traces: Traces,
    new_session: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traces("good")
    session = new_session(1)
    project = tmp_path / "runs"
    monkeypatch.chdir(project)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("ctxdiff_capture.store.temporary._usual", list)
    os.utime(project, (0, 0))
    supervisor = supervised("from ctxdiff_capture.store import temporary; temporary._usual = list")
    assert unreadable(supervisor) == "not readable: live (unreadable)"
    assert not supervisor.answer("ctxdiff_explain", {"run": "good"}).is_error
    assert not Path(f"/proc/{pid_of(supervisor)}/cwd").readlink().is_relative_to(project)
    assert project.stat().st_mtime == 0
    session.close()


def test_the_next_reader_removes_the_copies_of_a_server_that_was_killed(
    new_session: Callable[..., Any], tmp_path: Path
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    session = new_session(1_000)
    program = f"""
import os, pathlib, signal
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.worker.setup import Setup
from ctxdiff_mcp.worker.supervisor import Supervisor
supervisor = Supervisor(Setup(pathlib.Path({str(tmp_path / "runs")!r}), Policy()))
assert not supervisor.answer("ctxdiff_explain", {{"run": "live"}}).is_error
print(len(list(pathlib.Path({str(place)!r}).rglob("trace"))), flush=True)
if os.environ["ENDS"] == "killed": os.kill(os.getpid(), signal.SIGKILL)
supervisor.close()
"""
    for way in ("killed", "well"):
        told = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "TMPDIR": str(place), "ENDS": way},
            stdout=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        assert told.stdout == b"1\n"
        assert (list(place.iterdir()) == []) is (way == "well")
    session.close()


def test_many_questions_at_once_are_all_answered_beside_one_that_hangs(
    supervised: Supervised, traces: Traces
) -> None:
    traces("good", "hang-asked")
    supervisor = supervised()
    names = ["good"] * 10 + ["hang-asked"] + ["good"] * 20
    with ThreadPoolExecutor(len(names)) as threads:
        answers = list(
            threads.map(lambda run: supervisor.answer("ctxdiff_tokens", {"run": run}), names)
        )
    texts = {
        name: {a.text for n, a in zip(names, answers, strict=True) if n == name} for name in names
    }
    assert len(texts["good"]) == 1
    assert "2 turns" in texts["good"].pop()
    assert [text[: len(SLOW)] for text in texts["hang-asked"]] == [SLOW]


COUNTING = """
import os
from ctxdiff_mcp.tools import registry
from ctxdiff_mcp.tools.tool import Tool
def until_cancelled(context, values):
    os.mkdir(os.path.join(os.fspath(context.source.root), "taken"))
    while True: context.check()
registry.BY_NAME["ctxdiff_search"] = Tool("ctxdiff_search", "", "", (), until_cancelled)
"""


def test_a_cancelled_question_is_ended_without_harm(
    supervised: Supervised, traces: Traces, tmp_path: Path
) -> None:
    traces("good")
    supervisor = supervised(COUNTING)
    supervisor.answer("ctxdiff_runs", {})
    pid = pid_of(supervisor)
    taken = tmp_path / "runs" / "taken"
    asked = threading.Thread(
        target=supervisor.answer, args=("ctxdiff_search", {}, taken.is_dir), daemon=True
    )
    asked.start()
    asked.join(4)
    assert not asked.is_alive()
    assert not supervisor.answer("ctxdiff_runs", {}).is_error
    assert pid_of(supervisor) == pid


def test_a_question_cancelled_before_its_turn_is_not_begun(
    supervised: Supervised, traces: Traces, tmp_path: Path
) -> None:
    traces("good")
    supervisor = supervised(COUNTING)
    supervisor.answer("ctxdiff_search", {}, lambda: True)
    assert not supervisor.answer("ctxdiff_runs", {}).is_error
    assert not (tmp_path / "runs" / "taken").exists()


def test_handles_and_tags_outlive_a_reader(
    supervised: Supervised, new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    first, second = (f"AKIA{letter * 16}" for letter in "QZ")
    new_trace(turn([block(f"key {first}")]), name="a", started_at="2026-11-30T10:00:00+00:00")
    new_trace(turn([block(f"key {second}")]), name="b", started_at="2026-11-30T11:00:00+00:00")
    new_trace(turn([block("x")]), name="leave-asked", started_at="2026-11-29T10:00:00+00:00")
    supervisor = supervised()

    def shown(run: str) -> str:
        return str(supervisor.answer("ctxdiff_block", {"run": run, "turn": 1, "position": 0}).text)

    assert "[secret:aws-key#1]" in shown("a")
    pid = pid_of(supervisor)
    supervisor.answer("ctxdiff_explain", {"run": "leave-asked"})
    assert "[secret:aws-key#2]" in shown("b")
    assert "[secret:aws-key#1]" in shown("a")
    assert pid_of(supervisor) != pid


def test_in_redact_mode_runs_keep_their_ordinals_when_a_reader_is_lost(
    supervised: Supervised, new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    for name, hour, turns in (("a", "09", 1), ("leave-asked", "10", 2)):
        new_trace(
            *(turn([block("x")]) for _ in range(turns)),
            name=name,
            started_at=f"2026-11-30T{hour}:00:00+00:00",
            session_id=hour * 16,
        )
    supervisor = supervised(policy=Policy("all"))
    assert "- r1: 2 turns" in supervisor.answer("ctxdiff_runs", {}).text
    assert supervisor.answer("ctxdiff_explain", {"run": "r1"}).text.startswith(STOPPED)
    assert "- r2: 1 turn," in supervisor.answer("ctxdiff_runs", {}).text


def test_a_closed_supervisor_leaves_no_process_and_answers_those_who_wait(
    supervised: Supervised, traces: Traces, has_ended: Callable[[int], bool]
) -> None:
    traces("good", "wait-asked")
    supervisor = supervised()
    supervisor.answer("ctxdiff_runs", {})
    pid = pid_of(supervisor)
    with ThreadPoolExecutor(3) as threads:
        waiting = [
            threads.submit(supervisor.answer, "ctxdiff_explain", {"run": "wait-asked"})
            for _ in range(3)
        ]
        supervisor.close()
        assert [one.result(10).text for one in waiting] == ["", "", ""]
    assert has_ended(pid)


def test_what_a_reader_prints_does_not_reach_the_server(
    supervised: Supervised, traces: Traces, capfd: pytest.CaptureFixture[str]
) -> None:
    traces("noise-asked")
    assert not supervised().answer("ctxdiff_explain", {"run": "noise-asked"}).is_error
    out, err = capfd.readouterr()
    assert out == ""
    assert "NOISE" in err


@pytest.mark.parametrize("redact", ["off", "text", "all"])
def test_a_reader_writes_nothing_of_a_trace_as_it_is_to_stderr(
    supervised: Supervised, traces: Traces, capfd: pytest.CaptureFixture[str], redact: Any
) -> None:
    traces("fail-asked")
    supervisor = supervised(policy=Policy(redact))
    answer = supervisor.answer("ctxdiff_explain", {"run": "latest"})
    assert answer.text.startswith("error internal error ")
    err = capfd.readouterr().err
    assert "\x1b" not in err
    assert ("CANARY" in err) is (redact == "off")
    assert err == "" or redact == "off"


def test_a_reader_imports_nothing_of_the_current_folder_and_gets_no_keys(
    supervised: Supervised,
    traces: Traces,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traces("good")
    here = tmp_path / "project"
    here.mkdir()
    for name in ("ctxdiff_mcp.py", "json.py", "sqlite3.py", "sitecustomize.py"):
        (here / name).write_text("raise SystemExit('executed')")
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend("")
    monkeypatch.setenv("PYTHONPATH", str(here))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    supervisor = supervised("")
    assert supervisor.answer("ctxdiff_runs", {}).text.startswith("1 run")
    seen = Path(f"/proc/{pid_of(supervisor)}/environ").read_bytes()
    assert b"sk-hidden" not in seen
    assert not Path(f"/proc/{pid_of(supervisor)}/cwd").readlink().is_relative_to(here)


def test_a_part_that_cannot_be_imported_is_missed_by_its_questions_alone(
    supervised: Supervised, traces: Traces
) -> None:
    traces("good")
    supervisor = supervised("import sys; sys.modules['ctxdiff_mcp.answers.search'] = None")
    assert not supervisor.answer("ctxdiff_runs", {}).is_error
    pid = pid_of(supervisor)
    asked = {"run": "good", "query": "one"}
    assert supervisor.answer("ctxdiff_search", asked).text.startswith("error internal error ")
    assert not supervisor.answer("ctxdiff_explain", {"run": "good"}).is_error
    assert pid_of(supervisor) == pid


# Where no process can be had.


def no_process(_: Any) -> Any:
    raise OSError


@pytest.mark.parametrize("way", ["cannot be started", "ends at once"])
def test_without_a_process_small_files_are_read_and_others_refused(
    supervised: Supervised,
    traces: Traces,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    way: str,
) -> None:
    monkeypatch.setattr("ctxdiff_mcp.worker.supervisor.LARGEST_IN_THREAD", 200_000)
    traces("good", "large")
    with (tmp_path / "runs" / "large.ctrace").open("ab") as file:
        file.write(bytes(300_000))
    if way == "ends at once":
        supervisor = supervised("raise SystemExit(3)")
    else:
        supervisor = supervised(start=no_process)
    assert unreadable(supervisor) == "not readable: large (too_large)"
    assert not supervisor.answer("ctxdiff_explain", {"run": "good"}).is_error


def test_without_a_process_a_question_that_hangs_is_given_up_in_time(
    supervised: Supervised, traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctxdiff_mcp.tools import registry
    from ctxdiff_mcp.tools.tool import Tool

    release = threading.Event()
    stuck = Tool("ctxdiff_search", "", "", (), lambda *_: str(release.wait()))
    monkeypatch.setattr(registry, "BY_NAME", {**registry.BY_NAME, "ctxdiff_search": stuck})
    traces("good")
    supervisor = supervised(start=ThreadWorker, seconds=1)
    assert supervisor.answer("ctxdiff_search", {}).text.startswith(SLOW)
    monkeypatch.setattr(supervisor_module, "SECONDS", 60)
    assert supervisor.answer("ctxdiff_runs", {}).text.startswith("1 run")
    release.set()


def test_where_memory_cannot_be_limited_large_files_are_refused(
    supervised: Supervised, traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxdiff_mcp.worker.supervisor.can_be_limited", lambda: False)
    monkeypatch.setattr("ctxdiff_mcp.worker.supervisor.LARGEST_UNLIMITED", 1_000)
    traces("good")
    assert unreadable(supervised(HARM)) == "not readable: good (too_large)"
