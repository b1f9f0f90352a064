"""Programs that come to grief: each runs twice, recorded and not, and must do the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from ctxdiff_capture import read
from ctxdiff_capture.errors import StoreError
from ctxdiff_capture.model import CallHead

ROOT = Path(__file__).resolve().parents[3]
DEADLINE_S = 60.0

START = '''
import asyncio, json, os, signal, sys, threading, time
import httpx2, openai
from ctxdiff_capture import trace

PATH, IS_RECORDED = sys.argv[1], sys.argv[2] == "recorded"

BODY = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": "ok"}}]}
CHUNKS = [{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o",
           "choices": [{"index": 0, "finish_reason": end, "delta": {"content": word}}]}
          for word, end in (("one ", None), ("two ", None), ("three", "stop"))]
EVENTS = [b"data: " + json.dumps(chunk).encode() + b"\\n\\n"
          for chunk in CHUNKS] + [b"data: [DONE]\\n\\n"]
SSE = {"content-type": "text/event-stream"}

def within(number):
    """Called before event `number` of a stream is sent; a program may replace it."""

async def within_async(number):
    """Likewise of an asynchronous client."""

def events():
    for number, event in enumerate(EVENTS):
        within(number)
        yield event

async def events_async():
    for number, event in enumerate(EVENTS):
        await within_async(number)
        yield event

def answer(request):
    if json.loads(request.content).get("stream"):
        return httpx2.Response(200, headers=SSE, content=events())
    return httpx2.Response(200, json=BODY)

async def answer_async(request):
    if json.loads(request.content).get("stream"):
        return httpx2.Response(200, headers=SSE, content=events_async())
    return httpx2.Response(200, json=BODY)

def recorded(client):
    return tracer.wrap(client) if IS_RECORDED else client

def watch_for_trouble():
    """Our lines go to stderr as ever, and the program can wait for them."""
    import logging
    class Told(logging.StreamHandler):
        def emit(self, record):
            super().emit(record)
            if "cannot write" in record.getMessage(): met.set()
    logging.getLogger("ctxdiff").addHandler(Told())

met = threading.Event()

def wait_for_trouble():
    assert met.wait(30)

tracer = trace.init("faults", path=PATH)
plain = openai.OpenAI(
    api_key="k", max_retries=0,
    http_client=httpx2.Client(transport=httpx2.MockTransport(lambda request: answer(request))))
client = recorded(plain)

def asynchronous():
    async def handler(request):
        return await answer_async(request)
    http_client = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    return recorded(openai.AsyncOpenAI(api_key="k", max_retries=0, http_client=http_client))

def ask(text, client=client, **options):
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="gpt-4o", messages=messages, **options)

def say(*words):
    # In one piece: several processes say something at once.
    print(" ".join(map(str, words)) + "\\n", end="", flush=True)

def words_of(stream):
    return [chunk.choices[0].delta.content for chunk in stream]
'''


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    status: int
    out: str
    err: str
    """What the program itself wrote there, without the places in tracebacks."""
    said: tuple[str, ...]
    """Our own lines on stderr."""


@dataclass
class Running:
    """A program under way that the test speaks to over its standard streams."""

    process: subprocess.Popen[str]
    path: Path

    def said(self, line: str) -> None:
        """Wait until the program says `line`."""
        assert self.process.stdout is not None
        for heard in self.process.stdout:
            if heard.rstrip("\n") == line:
                return
        pytest.fail(f"ended without saying {line!r}: {self.end().err}")

    def tell(self, line: str) -> None:
        """Send the program a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self) -> Ended:
        """Wait for the end."""
        out, err = self.process.communicate(timeout=DEADLINE_S)
        lines = err.splitlines()
        return Ended(
            self.process.returncode,
            out,
            "\n".join(
                re.sub("0x[0-9a-f]+", "0x", line)
                for line in lines
                if line and not line.startswith((" ", "ctxdiff"))
            ),
            tuple(line for line in lines if line.startswith("ctxdiff")),
        )


@dataclass
class Runner:
    """Starts programs."""

    folder: Path
    file: Path
    """The trace."""
    environment: dict[str, str]
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(
        self,
        program: str,
        *,
        is_recorded: bool = True,
        is_script: bool = False,
        prefix: tuple[str, ...] = (),
    ) -> Running:
        """Start `program` after the common lines; recorded into `file`, or not at all."""
        code = START + textwrap.dedent(program)
        how = ["-c", code]
        if is_script:
            script = self.folder / "program.py"
            script.write_text(code)
            how = [str(script)]
        path = self.file if is_recorded else self.folder / "unused" / "t.ctrace"
        mode = "recorded" if is_recorded else "plain"
        process = subprocess.Popen(
            [*prefix, sys.executable, *how, str(path), mode],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return Running(process, path)

    def run(self, program: str, *, expect: int = 0, **options: Any) -> Ended:
        """Run `program` recorded and plain; both must end with `expect` and say the same."""
        both = [self.start(program, is_recorded=r, **options) for r in (True, False)]
        ours, theirs = (running.end() for running in both)
        assert ours.status == expect, (ours.err, ours.said)
        assert (ours.status, ours.out, ours.err) == (theirs.status, theirs.out, theirs.err)
        return ours


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """Starts programs that record into `tmp_path/trace/t.ctrace`."""
    (tmp_path / "trace").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "capture")}
    made = Runner(tmp_path, tmp_path / "trace" / "t.ctrace", environment)
    yield made
    for process in made.running:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture
def asked() -> Callable[[Path], list[list[str]]]:
    """Per session of a trace the texts that were asked, in order."""

    def look(path: Path) -> list[list[str]]:
        reader = read(path)
        try:
            return [
                [reader.inputs(c.id)[-1].block.text for c in reader.load(s.id).calls]
                for s in reader.sessions()
            ]
        finally:
            reader.close()

    return look


@pytest.fixture
def calls() -> Callable[[Path], list[CallHead]]:
    """All calls of a trace, by session and then by number."""

    def look(path: Path) -> list[CallHead]:
        reader = read(path)
        try:
            return [call for s in reader.sessions() for call in reader.load(s.id).calls]
        finally:
            reader.close()

    return look


@pytest.fixture
def losses() -> Callable[[Path], dict[str, int]]:
    """Calls that the newest session counts as lost, by reason."""

    def look(path: Path) -> dict[str, int]:
        reader = read(path)
        try:
            return reader.losses(reader.sessions()[-1].id)
        finally:
            reader.close()

    return look


@pytest.fixture
def stored(asked: Callable[[Path], list[list[str]]]) -> Callable[[Path, int], None]:
    """Waits until a trace holds a number of calls."""

    def wait(path: Path, count: int) -> None:
        until = monotonic() + DEADLINE_S
        found = -1
        while monotonic() < until:
            with suppress(StoreError):
                found = sum(map(len, asked(path)))
                if found == count:
                    return
            sleep(0.01)  # a poll of another process's file; there is no event to wait for
        pytest.fail(f"{path} holds {found} calls and not {count}")

    return wait
