"""What every test stands on: our own faults are raised, and whole texts compare with golden files."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture import guard
from hypothesis import HealthCheck, settings

GOLDEN = Path(__file__).parent / "golden"

# A busy machine is no fault of the code, so no example is timed.
# CI tries the same examples every time, so that its verdict is about the change; elsewhere each
# run tries others.
settings.register_profile(
    "ctxdiff",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("ctxdiff")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden")


@pytest.fixture(autouse=True)
def our_own_faults_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "strict", True)
    monkeypatch.setenv("CTXDIFF_STRICT", "1")


@pytest.fixture(autouse=True)
def no_key_of_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What redaction keeps for later sessions is kept beside the test, not in the home."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def everything_stored() -> Callable[[Path], bytes]:
    """All bytes of a trace and its sidecars, and every value that is packed in it."""

    def look(path: Path) -> bytes:
        found = [other.read_bytes() for other in path.parent.glob(path.name + "*")]
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        for (table,) in connection.execute("select name from sqlite_master where type = 'table'"):
            for row in connection.execute(f"select * from {table}"):
                for value in row:
                    if isinstance(value, bytes):
                        with suppress(zlib.error):
                            found.append(zlib.decompress(value))
                    found.append(value if isinstance(value, bytes) else str(value).encode())
        connection.close()
        return b"\n".join(found)

    return look


@pytest.fixture
def matches_golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """A check that a text equals `tests/golden/NAME`; `--update-golden` rewrites the file."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check


@pytest.fixture
def handshake() -> Callable[..., list[str]]:
    """Starts a stdio server as a client would and gives the names of its tools, sorted.

    Every wait is bounded: a server that stays silent is killed, and its stderr is shown.
    """

    def start(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> list[str]:
        messages: list[dict[str, Any]] = [
            {
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "test", "version": "0"},
                },
            },
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list"},
        ]
        server = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        guard_dog = threading.Timer(60, server.kill)
        guard_dog.start()
        assert server.stdin
        assert server.stdout
        assert server.stderr
        with server, server.stderr:
            for message in messages:
                server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()
            # EOF would end the server before it answers, so the answers are read first.
            answers = {a.get("id"): a for a in map(json.loads, islice(server.stdout, 2))}
            server.stdin.close()
            complaint = server.stderr.read().decode(errors="replace")
            server.wait(timeout=30)
        guard_dog.cancel()
        assert 2 in answers, complaint
        return sorted(tool["name"] for tool in answers[2]["result"]["tools"])

    return start
