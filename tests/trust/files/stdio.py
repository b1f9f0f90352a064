"""A server as a process of its own, asked line by line, with its memory and its time measured."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.trust.handshake import HELLO, READY

PATIENCE_SECONDS = 15.0
LONGEST_SECONDS = 20.0
"""How long a question is waited for before the server counts as hung."""


@dataclass(frozen=True)
class Answered:
    """What came back for one question."""

    text: str
    """All text of the result or of the protocol's error; empty when nothing came."""
    seconds: float
    """Of computing, in all its processes, as others may keep the machine busy; of waiting where it
    was longer than `PATIENCE_SECONDS`."""
    is_alive: bool
    """An answer came and the server still runs."""


class StdioServer:
    """`ctxdiff-mcp` over one folder. Closed by `close`, which gives the peak of its memory."""

    def __init__(self, runs: Path, *flags: str, cwd: Path | None = None) -> None:
        program = "from ctxdiff_mcp.__main__ import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, "--runs-dir", os.fspath(runs), *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._errors: list[bytes] = []
        self._number = 0
        self.peak_megabytes = 0.0
        """The most memory that the server and its children held, as far as seen after answers."""
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._read_answers, self._read_errors)
        ]
        for thread in self._threads:
            thread.start()
        self._ask(HELLO["method"], HELLO["params"])
        self._send(READY)

    def call(self, tool: str, **arguments: Any) -> Answered:
        """One call of a tool."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments})

    @property
    def errors(self) -> str:
        """What it wrote to stderr so far."""
        return b"".join(self._errors).decode("utf-8", "replace")

    def close(self) -> None:
        """End it as a client does, by closing its input."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(10)
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()

    def _ask(self, method: str, params: dict[str, Any]) -> Answered:
        self._number += 1
        begun, worked = time.monotonic(), self._worked()
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        message: dict[str, Any] | None = None
        while message is None or message.get("id") != self._number:
            left = begun + LONGEST_SECONDS - time.monotonic()
            try:
                line = self._lines.get(timeout=max(left, 0.01))
            except queue.Empty:
                line = b""
            if not line:  # it hangs, or is gone
                self._measure()
                return Answered("", time.monotonic() - begun, False)
            message = json.loads(line)
        waited = time.monotonic() - begun
        seconds = self._worked() - worked if waited < PATIENCE_SECONDS else waited
        self._measure()
        content = message.get("result", {}).get("content", [])
        text = "\n".join(part.get("text", "") for part in content)
        text += message.get("error", {}).get("message", "")
        return Answered(text, seconds, self._process.poll() is None)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it died: the answer that does not come tells
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _measure(self) -> None:
        """Of the processes that are there now: one that was replaced holds nothing any more."""
        held = 0
        for process in self._family():
            with contextlib.suppress(OSError, StopIteration, ValueError):
                lines = Path(f"/proc/{process}/status").read_text().splitlines()
                line = next(line for line in lines if line.startswith("VmHWM"))
                held += int(line.split()[1])
        self.peak_megabytes = max(self.peak_megabytes, held / 1024)

    def _worked(self) -> float:
        """Seconds of computing so far, those of children that ended among them."""
        ticks = 0
        for process in self._family():
            with contextlib.suppress(OSError):
                # Behind the name, which may hold anything but ends at the last bracket.
                numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, numbers[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _family(self) -> list[int]:
        family = [self._process.pid]
        for process in family:
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{process}/task").iterdir():
                    family += map(int, (task / "children").read_text().split())
        return family

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line)
