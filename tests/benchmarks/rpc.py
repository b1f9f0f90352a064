"""A stdio MCP client of thirty lines: the same for both servers, so that only they differ."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROTOCOL = "2025-06-18"


class Server:
    """A server started over stdio and initialised."""

    def __init__(self, command: Sequence[str | Path], cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self.last_id = 0
        client = {"name": "benchmark", "version": "0"}
        self.ask(
            "initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a request; notifications in between are passed over.

        Raises:
            RuntimeError: the server answered with an error, or ended.
        """
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        assert self.process.stdout
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
        raise RuntimeError(f"{method}: the server ended")

    def timed_call(
        self, tool: str, arguments: Mapping[str, Any], limit_s: float | None = None
    ) -> tuple[float, str]:
        """Seconds that a tool took, and its text.

        Raises:
            TimeoutError: it took longer than `limit_s`; the server was killed.
            RuntimeError: the tool reported an error.
        """
        killer = threading.Timer(limit_s or threading.TIMEOUT_MAX, self.process.kill)
        killer.daemon = True
        killer.start()
        begin = time.perf_counter()
        try:
            result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        except (RuntimeError, OSError):
            if limit_s is not None and time.perf_counter() - begin >= limit_s:
                raise TimeoutError(f"{tool} took longer than {limit_s:g} s") from None
            raise
        finally:
            killer.cancel()
        seconds = time.perf_counter() - begin
        text = result["content"][0]["text"]
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {text}")
        return seconds, text

    def close(self) -> None:
        """End the server as most clients do: by closing its input."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=30)
        assert self.process.stdout
        self.process.stdout.close()
