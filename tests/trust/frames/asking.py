"""Asking the tools: in this process, or a real server over its wire."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from typing_extensions import Self

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context
from tests.trust.frames.properties import ROWS, Answer, failures
from tests.trust.goals import GOALS
from tests.trust.handshake import HELLO, READY


class Server:
    """A real server over a folder, asked line by line; used as a `with` statement."""

    def __init__(self, runs: Path, *flags: str) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", "from ctxdiff_mcp.__main__ import main; main()", "serve"),
                *("--runs-dir", os.fspath(runs), *flags),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._number = 0
        self._send(HELLO)
        self._send(READY)
        self._line()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(30)

    def ask(self, tool: str, arguments: Mapping[str, Any], **known: Any) -> Answer:
        """One call of a tool; what is `known` of it goes into the answer."""
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        self._send({"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params})
        line = self._line()
        message = json.loads(line)
        assert message["id"] == self._number
        return Answer(message["result"]["content"][0]["text"], line, **known)

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the server is gone"
        return line


class Here:
    """The tools in this process, without a wire."""

    def __init__(self, runs: Path, policy: Policy | None = None) -> None:
        self._source = Source(runs)
        self._context = Context(self._source, policy or Policy())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()

    def ask(self, tool: str, arguments: Mapping[str, Any], **known: Any) -> Answer:
        """One call of a tool."""
        return Answer(run_tool(BY_NAME[tool], self._context, arguments)[0], **known)


class Judge:
    """Holds answers to every property, and counts them into the table of promises."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        """Of all frames so far."""
        self.broken: dict[str, list[str]] = {}
        self._answers = 0
        self._tried: Counter[str] = Counter()
        """Answers that could break a row that not every answer can."""
        self._cost = 0

    def hear(self, answer: Answer, of: object = "", *more: str) -> Answer:
        """Judge an answer; `of` names it where it is broken, `more` are further properties."""
        self._answers += 1
        for row in ("inverse", "pages"):
            self._tried[row] += answer.source is not None
        self._tried["cap"] += answer.line is not None
        self._tried["echo"] += bool(answer.wrote)
        found = failures(replace(answer, earlier=self.words), *more)
        for row, whys in found.items():
            self.broken.setdefault(row, []).extend(f"{of}: {why}" for why in whys)
        if "boundary" not in found:
            frames = answer.parts.frames
            self.words |= {frame.nonce for frame in frames}
            self._cost = max([self._cost, *(frame.cost for frame in frames)])
        return answer

    def count(self, attempts: int, part: str) -> None:
        """Fill the rows of the table, and fail where something was broken."""
        for row in ROWS:
            broken, tried = len(self.broken.get(row, [])), self._tried.get(row, attempts)
            if tried or broken:
                getattr(GOALS, row).add(tried, broken, part=part)
        GOALS.frame.add(self._answers, self._cost)
        if self.broken or self._cost > GOALS.frame.most:
            shown = "\n".join(
                f"{row}: {why}" for row, all_ in self.broken.items() for why in all_[:5]
            )
            raise AssertionError(f"{shown}\nlargest cost of a frame: {self._cost}")
