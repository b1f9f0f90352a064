"""Traces that are being written: every read is whole and fresh, and the writer does not notice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from ctxdiff_capture.errors import StoreBusy

from ctxdiff_mcp.answers.select import find_run
from ctxdiff_mcp.answers.source import Source
from tests.trust.files.judging import state_of
from tests.trust.files.writing import DISTINCT
from tests.trust.goals import GOALS, attempts

READS = attempts(50, 1_000)
STILL_EVERY = 10
"""Every so many reads the writer is stopped, so that a changed byte would be ours."""

PROGRAM = Path(__file__).with_name("writing.py")


class Writer:
    """The writing program, with what it said last."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(folder), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.newest = (0, 0)
        """File and call of the newest commit that was told of."""
        self._last = ""
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        assert self._begun.wait(60)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._last = line
            if not line.startswith("{"):
                file, number = map(int, line.split())
                self.newest = file, number
                self._begun.set()

    def stop(self) -> None:
        """Freeze it where it is, perhaps in the middle of a commit."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitpid(self._process.pid, os.WUNTRACED)  # it runs on for a moment

    def go_on(self) -> None:
        """Undo `stop`."""
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> list[str]:
        """End it; its errors."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._thread.join(60)
        assert self._process.wait(60) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()
        told = json.loads(self._last)
        return [str(error) for error in told["errors"]]


def read(source: Source, known: tuple[int, int]) -> list[str]:
    """Ask for the newest run; what is wrong with it, given that `known` was committed before."""
    run = find_run(source, "latest")
    recording = run.recording
    seqs = [call.seq for call in recording.calls]
    newest = (int(raw_label(source)), len(seqs))
    wrong = []
    if seqs != list(range(1, len(seqs) + 1)):
        wrong.append(f"calls are missing: {seqs}")
    if newest < known:
        wrong.append(f"{newest} is older than {known}")
    if [len(row) for row in recording.inputs] != [seq % DISTINCT + 1 for seq in seqs]:
        wrong.append("blocks of calls are missing")
    if recording.notes:
        wrong.append(f"left out: {recording.notes}")
    if recording.inputs:
        texts = [run.text(recording.blocks[at].content_hash) for at in recording.inputs[-1]]
        if texts != [f"text {n}" for n in range(len(texts))]:
            wrong.append(f"other texts: {texts}")
    return wrong


def raw_label(source: Source) -> str:
    return source.listing().runs[0].label


@pytest.mark.timeout(900)
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="the system cannot stop a program")
@pytest.mark.parametrize("kind", ["recorder", "bare"])
def test_reading_a_trace_that_is_being_written_is_whole_and_harmless(
    kind: str, tmp_path: Path
) -> None:
    folder = tmp_path / "runs" / "live"
    folder.mkdir(parents=True)
    writer = Writer(folder, kind)
    source = Source(folder)
    wrong: list[str] = []
    for number in range(READS):
        is_still = number % STILL_EVERY == 0
        if is_still:
            writer.stop()
        before = state_of(folder) if is_still else {}
        known = writer.newest
        try:
            wrong += read(source, known)
        except StoreBusy:  # a writer that had ended came back; tools too ask once more
            try:
                wrong += read(source, known)
            except StoreBusy as problem:
                wrong.append(repr(problem))
        if is_still:
            if state_of(folder) != before:
                wrong.append("a byte was changed while the writer stood still")
            writer.go_on()
    wrong += writer.end()
    source.close()
    wrong += [line for path in folder.glob("*.ctrace") for line in damage(path)]
    GOALS.live.add(READS, len(wrong), kind)
    assert wrong == []


def damage(path: Path) -> list[str]:
    """What SQLite finds wrong with a file that its writer has closed."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        ((verdict,),) = connection.execute("pragma integrity_check(1)").fetchall()
    return [] if verdict == "ok" else [f"{path.name}: {verdict}"]
