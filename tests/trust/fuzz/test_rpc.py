"""Whatever a client writes, each line that comes back is JSON-RPC, and the next call is answered."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trust.fuzz.budget import fuzzed, tally
from tests.trust.fuzz.mutations import CUTS, EDITS, Cut, Edit, Raw, cut, edited, json_bytes

CANARY = "CNRY7q"
PATIENCE_S = 60
CLIENT = {"name": f"{CANARY} client", "version": "1"}
LEGACY = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
ERAS: dict[str, dict[str, Any]] = {"legacy": {}, "modern": {"_meta": MODERN}}


def messages(more: dict[str, Any]) -> list[Any]:
    """One of each kind that a client may send, with the marks of its era."""

    def request(method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, **more}}

    def notification(method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}

    return [
        request("tools/list"),
        request("tools/list", cursor=CANARY),
        request("tools/call", name="ctxdiff_runs", arguments={"limit": 3}),
        request("tools/call", name="ctxdiff_search", arguments={"run": "latest", "query": CANARY}),
        request("ping"),
        request("server/discover"),
        request("initialize", **LEGACY),
        request(f"resources/{CANARY}", uri=CANARY),
        request("logging/setLevel", level=CANARY),
        request("completion/complete", ref={"type": "ref/prompt", "name": CANARY}, argument={}),
        notification("initialized"),
        notification("cancelled", requestId=7, reason=CANARY),
        notification("cancelled", requestId=CANARY),
        notification("progress", progressToken=CANARY, progress=1),
        notification("roots/list_changed"),
        notification(CANARY),
        {"jsonrpc": "2.0", "id": 7, "result": {"roots": [CANARY]}},
        {"jsonrpc": "2.0", "id": CANARY, "error": {"code": -1, "message": CANARY}},
        [request("ping"), request("ping"), notification("initialized")],
        CANARY,
        Raw(f"{CANARY} \x1b[2J"),
    ]


class Server:
    """A server process, and what it says."""

    def __init__(self, folder: Path, complaints: Path) -> None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        code = "from pathlib import Path; import sys; from ctxdiff_mcp import server;"
        code += " server.serve(Path(sys.argv[1]))"
        self.complaints = complaints
        with complaints.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, "PYTHONPATH": path},
            )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()
        self._asked = 0

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def say(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer_to(self, method: str, params: dict[str, Any]) -> tuple[Any, list[bytes]]:
        """The result of a good call, and the lines that came before it."""
        self._asked += 1
        own_id = f"good {self._asked}"
        asked = {"jsonrpc": "2.0", "id": own_id, "method": method, "params": params}
        self.say(json.dumps(asked).encode() + b"\n")
        before = []
        while line := self._lines.get(timeout=PATIENCE_S):
            said = json.loads(line)
            if said.get("id") == own_id:
                return said["result"], before
            before.append(line)
        raise AssertionError("the server has ended")

    def end(self) -> int:
        """Close its input and wait."""
        assert self.process.stdin
        self.process.stdin.close()
        status = self.process.wait(PATIENCE_S)
        self._listener.join(PATIENCE_S)
        return status


@contextmanager
def serving(tmp_path: Path, era: str) -> Iterator[Server]:
    (tmp_path / "runs").mkdir(exist_ok=True)
    server = Server(tmp_path / "runs", tmp_path / f"stderr of {era}")
    try:
        if era == "legacy":
            server.answer_to("initialize", LEGACY)
            server.say(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        yield server
        assert server.end() == 0
        complaints = server.complaints.read_text(errors="replace")
        assert CANARY not in complaints
        assert "Traceback" not in complaints
    finally:
        server.process.kill()
        server.process.wait()
        for stream in (server.process.stdin, server.process.stdout):
            if stream:
                stream.close()


def is_in_the_protocol(line: bytes) -> bool:
    """Whether a line is one message of JSON-RPC 2.0 that repeats nothing of the client's."""
    text = line.decode("utf-8")
    said = json.loads(text, parse_constant=_refuse)
    if said.get("jsonrpc") != "2.0" or CANARY in json.dumps({**said, "id": None}):
        return False
    if "method" in said:
        return "id" not in said and said["method"].startswith("notifications/")
    if "error" in said:
        error = said["error"]
        return isinstance(error["code"], int) and isinstance(error["message"], str)
    return isinstance(said["result"], dict) and "\x1b" not in text


def _refuse(constant: str) -> None:
    raise ValueError(constant)


@pytest.mark.parametrize("era", ERAS)
def test_any_lines_are_answered_in_the_protocol_and_so_is_the_next_call(
    tmp_path: Path, era: str
) -> None:
    kinds = messages(ERAS[era])
    with serving(tmp_path, era) as server, tally("JSON-RPC lines") as tried:

        @fuzzed(30, 2_500)
        @given(
            st.lists(
                st.tuples(
                    st.sampled_from(kinds), st.lists(EDITS, max_size=3), st.lists(CUTS, max_size=2)
                ),
                min_size=1,
                max_size=3,
            ),
            st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
        )
        def holds(said: list[tuple[Any, list[Edit], list[Cut]]], end: bytes) -> None:
            tried.one()
            for message, edits, cuts in said:
                server.say(cut(json_bytes(edited(message, edits)), cuts) + end)
            result, before = server.answer_to("tools/list", ERAS[era])
            assert len(result["tools"]) == 7
            assert [line for line in before if not is_in_the_protocol(line)] == []

        holds()
        arguments = {"name": "ctxdiff_runs", "arguments": {}, **ERAS[era]}
        result, before = server.answer_to("tools/call", arguments)
        assert "no runs" in result["content"][0]["text"]
        assert all(map(is_in_the_protocol, before))


@pytest.mark.parametrize("era", ERAS)
def test_a_line_of_any_length_costs_no_more_than_an_error(tmp_path: Path, era: str) -> None:
    with serving(tmp_path, era) as server, tally("JSON-RPC lines") as tried:
        for fill in (b"x", b"[", b"\0", b'{"a":', b"\xff", b" "):
            tried.one()
            size = 50_000_000 if fill == b"x" else 3_000_000
            server.say(
                b'{"jsonrpc": "2.0", "id": 1, "method": "' + fill * (size // len(fill)) + b"\n"
            )
            result, before = server.answer_to("tools/list", ERAS[era])
            assert len(result["tools"]) == 7
            assert len(before) == 1
            assert all(map(is_in_the_protocol, before))


@pytest.mark.parametrize(
    "rest", [b"", b'{"jsonrpc": "2.0", "id": 1, "meth', b'"\xe4\xb8', b"{", b" "]
)
def test_an_input_that_ends_anywhere_ends_the_server_in_peace(tmp_path: Path, rest: bytes) -> None:
    with serving(tmp_path, "legacy") as server, tally("ends of input") as tried:
        tried.one()
        server.say(rest)
