"""Supervised workers whose reading goes wrong, by the names of the files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import Call
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session

from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.worker import process, supervisor
from ctxdiff_mcp.worker.setup import Setup
from ctxdiff_mcp.worker.supervisor import Supervisor

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")

HARM = """
import os, signal, sys, threading
from ctxdiff_capture.store import open as opening
from ctxdiff_mcp.worker import limits, loop
limits.SECONDS_OF_LISTED_FILE = 0.7
loop.Watched.seconds_to_list = 60  # a busy machine changes nothing

def hang(path):
    while True: pass

def wait(path):
    threading.Event().wait()

def eat(path):
    kept = []
    while True: kept.append(b"x" * 2**20)

def crash(path):
    os.kill(os.getpid(), signal.SIGSEGV)

def leave(path):
    os._exit(3)

def killed(path, number=signal.SIGKILL, times=1):
    met = f"{path}.met"
    os.makedirs(met, exist_ok=True)
    if (before := len(os.listdir(met))) < times:
        os.mkdir(f"{met}/{before}")
        os.kill(os.getpid(), number)

def ended(path):
    killed(path, signal.SIGTERM)

def often(path):
    killed(path, times=5)

def halted(path):
    killed(path, signal.SIGSTOP, times=3)

def old(path):
    if os.stat(path).st_mtime == 1_000: leave(path)

def fail(path):
    raise RuntimeError("CANARY \\x1b[31m")

def write(path):
    import tempfile
    with open(os.path.join(tempfile.gettempdir(), "big"), "wb") as file:
        while True: file.write(bytes(2**20))

def noise(path):
    os.write(1, b"NOISE " * 10)
    print("NOISE", flush=True)

def reader(path, _real=opening.open_reader, **more):
    harm, _, when = path.stem.partition("-")
    if when == "listed": globals()[harm](path)
    made = _real(path, **more)
    if when == "asked":
        load = made.load
        made.load = lambda *given: (globals()[harm](path), load(*given))[1]
    return made
opening.open_reader = reader
"""
"""Run by the worker before it begins: a file `hang-listed` makes it hang when it is listed,
`hang-asked` when a question is about it."""


@pytest.fixture
def supervised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Starts a supervisor over `tmp_path / "runs"`; `inside` is run by the worker first.

    A question has a minute, so that a busy machine changes nothing, or what `seconds` says.
    """
    running: list[Supervisor] = []

    def start(
        inside: str = HARM, policy: Policy | None = None, seconds: float = 60, **more: Any
    ) -> Supervisor:
        monkeypatch.setattr(supervisor, "SECONDS", seconds)
        monkeypatch.setattr(process, "BOOT", before(inside))
        made = Supervisor(Setup(tmp_path / "runs", policy or Policy()), **more)
        running.append(made)
        return made

    yield start
    for one in running:
        one.close()


def before(inside: str) -> str:
    """What a worker runs when `inside` comes first, with its modules to be found."""
    paths, rest = process.BOOT.split("; ", 2)[:2], process.BOOT.split("; ", 2)[2]
    return f"{'; '.join(paths)}\n{inside}\n{rest}"


@pytest.fixture
def traces(new_trace: Callable[..., Path], block: Any, turn: Any) -> Callable[..., None]:
    """Writes traces of two turns with these names."""

    def write(*names: str) -> None:
        for name in names:
            new_trace(turn([block("one")]), turn([block("one"), block("two")]), name=name)

    return write


@pytest.fixture
def new_session(tmp_path: Path, block: Any) -> Callable[[int], SessionWriter]:
    """Begins a session of one turn with that many characters, and leaves it open for writing."""

    def begin(chars: int) -> SessionWriter:
        path = tmp_path / "runs" / "live.ctrace"
        path.parent.mkdir(exist_ok=True)
        session = create_session(
            Destination(path=path),
            project="shop",
            provider="openai",
            started_at="2026-11-30T10:00:00.000000+00:00",
        )
        session.write(
            Call(
                id="c" * 32,
                seq=1,
                provider="openai",
                surface="openai.chat",
                inputs=(block("word " * (chars // 5)).placed(),),
                started_at="2026-11-30T10:00:00.000000+00:00",
            )
        )
        return session

    return begin
