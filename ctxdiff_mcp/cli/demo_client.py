"""The few lines of MCP that a client speaks to ask one question over stdio."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

from ctxdiff_capture.errors import CtxdiffError

SECONDS = 30.0
"""The server is ended when it has not answered by then."""


def ask_server(runs_dir: Path, tool: str, arguments: Mapping[str, object]) -> str:
    """Start the server on a folder of traces, call one tool and give the text of its answer.

    Raises:
        CtxdiffError: the server ended without an answer.
    """
    messages: list[dict[str, Any]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "ctxdiff-demo", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": dict(arguments)}},
    ]
    command = [sys.executable, "-m", "ctxdiff_mcp", "serve", "--runs-dir", str(runs_dir)]
    # The server sees the packages that we see, and starts in a folder without any file.
    path = os.pathsep.join(entry for entry in sys.path if entry)
    with TemporaryDirectory() as empty:
        server = subprocess.Popen(  # noqa: S603  our own program with our own arguments
            command,
            cwd=empty,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        limit = Timer(SECONDS, server.kill)
        limit.start()
        with server:
            assert server.stdin
            assert server.stdout
            for message in messages:
                server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()
            answers = [json.loads(line) for line in islice(server.stdout, 2)]
        limit.cancel()
    if len(answers) < 2:
        raise CtxdiffError("the server ended without an answer", remedy="its stderr says why")
    return "".join(part["text"] for part in answers[1]["result"]["content"])
