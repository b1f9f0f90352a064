"""A real server over stdio, and what may not stand in what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.trust.handshake import HELLO, READY

INITIALIZE: tuple[dict[str, Any], ...] = (HELLO, READY)
LAST: dict[str, Any] = {"jsonrpc": "2.0", "id": "last", "method": "ping"}
SERVE = "from pathlib import Path; from ctxdiff_mcp import server; server.serve"


class Talk(NamedTuple):
    """What a server said, in bytes and in messages, until it had answered the last of our own."""

    lines: list[bytes]
    stderr: bytes
    status: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def answer(self, own_id: Any) -> dict[str, Any]:
        return next(one for one in self.messages if one.get("id") == own_id)


@pytest.fixture
def talk(tmp_path: Path) -> Callable[..., Talk]:
    """Says lines to `server.serve(tmp_path / "runs", ...)` and hears its answers.

    Lines are bytes, or messages to be spelled. Before them stands the handshake, behind them a
    ping, whose answer shows that the server is alive. `expected` counts the answers to the lines.
    """

    def say(
        *lines: bytes | dict[str, Any],
        expected: int,
        options: str = "",
        inside: str = "",
        opening: Sequence[dict[str, Any]] = INITIALIZE,
        closing: Sequence[dict[str, Any]] = (LAST,),
    ) -> Talk:
        code = f"{inside}\n{SERVE}(Path({str(tmp_path / 'runs')!r}){options})"
        path = os.pathsep.join(entry for entry in sys.path if entry)
        server = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        said: list[bytes] = []
        listener = threading.Thread(target=lambda: said.append(server.stderr.read()))  # type: ignore[union-attr]
        guard_dog = threading.Timer(60, server.kill)
        guard_dog.start()
        listener.start()
        assert server.stdin
        assert server.stdout
        heard: list[bytes] = []
        with server:
            for one in (*opening, *lines, *closing):
                line = one if isinstance(one, bytes) else json.dumps(one).encode()
                server.stdin.write(line + b"\n")
            server.stdin.flush()
            # The end of input ends the server at once, so every answer is awaited before it.
            awaited = expected + sum(1 for one in (*opening, *closing) if "id" in one)
            while len(heard) < awaited and (line := server.stdout.readline()):
                heard.append(line)
            server.stdin.close()
            heard += server.stdout.readlines()
            status = server.wait(30)
            listener.join()
        guard_dog.cancel()
        return Talk(heard, said[0], status)

    return say
