"""A trace written by the real store, and the server asked through the protocol in memory."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Call, CallError, Placement
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session
from mcp.client import Client

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.server import build


class B(NamedTuple):
    """A block as a test spells it."""

    text: str
    role: str = "user"
    label: str = "user"
    kind: str = "message"
    tagged: bool = False

    def placed(self) -> Placement:
        tokens = max(len(self.text) // 4, 1)
        block = Block(
            digest_of(self.role, self.kind, self.text),
            self.role,
            self.kind,
            self.text,
            tokens,
            "tiktoken",
        )
        return Placement(block, self.label, "tagged" if self.tagged else "heuristic")


class T(NamedTuple):
    """A turn as a test spells it."""

    inputs: Sequence[B]
    outputs: Sequence[B] = ()
    agent: str | None = None
    model: str = "gpt-5.4"
    finish: str | None = "stop"
    error: CallError | None = None
    usage: Mapping[str, Any] | None = None
    step: str | None = None
    provider: str = "openai"
    params: Mapping[str, Any] = {}


@pytest.fixture
def block() -> type[B]:
    return B


@pytest.fixture
def turn() -> type[T]:
    return T


@pytest.fixture
def new_trace(tmp_path: Path) -> Callable[..., Path]:
    """Writes turns as a session of a file in a runs folder, `tmp_path / "runs"` unless given."""

    def write(
        *turns: T,
        name: str = "demo",
        project: str = "shop",
        started_at: str = "2026-11-30T10:00:00.000000+00:00",
        session_id: str = "5e55" + "0" * 28,
        folder: Path = tmp_path / "runs",
    ) -> Path:
        path = folder / f"{name}.ctrace"
        path.parent.mkdir(parents=True, exist_ok=True)
        session = create_session(
            Destination(path=path),
            project=project,
            provider="openai",
            started_at=started_at,
            session_id=session_id,
        )
        for seq, one in enumerate(turns, 1):
            session.write(
                Call(
                    id=f"{session_id[:24]}{seq:08d}",
                    seq=seq,
                    provider=one.provider,
                    surface="openai.chat",
                    inputs=tuple(part.placed() for part in one.inputs),
                    outputs=tuple(part.placed() for part in one.outputs),
                    params={"model": one.model, **one.params},
                    usage=one.usage,
                    finish_reason=one.finish,
                    error=one.error,
                    agent=one.agent,
                    step=one.step,
                    started_at=f"2026-11-30T10:00:{seq:02d}.000000+00:00",
                    latency_ms=100,
                )
            )
        session.close()
        return path

    return write


@pytest.fixture
def has_ended() -> Callable[[int], bool]:
    """Whether a process, which need not be a child of ours, ends within seconds."""

    def look(pid: int) -> bool:
        for _ in range(200):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
            # A zombie, whoever should have waited for it, has ended too.
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    return True
            time.sleep(0.05)
        return False

    return look


class Answer(NamedTuple):
    """A tool's result as a client gets it."""

    text: str
    is_error: bool


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Answer]:
    """Calls a tool of a server over `tmp_path / "runs"` through the protocol, in memory."""

    def call(
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        policy: Policy | None = None,
        mode: Any = "auto",
        folder: Path = tmp_path / "runs",
        **more: Any,
    ) -> Answer:
        source = Source(folder)

        async def run() -> Answer:
            with anyio.fail_after(30):
                async with Client(build(source, policy or Policy()), mode=mode) as client:
                    result = await client.call_tool(tool, {**(arguments or {}), **more})
                    (content,) = result.content
                    assert result.structured_content is None
                    return Answer(content.text, bool(result.is_error))

        try:
            return anyio.run(run)
        finally:
            source.close()

    return call


@pytest.fixture
def with_client(tmp_path: Path) -> Callable[..., Any]:
    """Runs a coroutine with a client of a server over `tmp_path / "runs"`."""

    def run(
        work: Callable[[Client], Awaitable[Any]],
        *,
        policy: Policy | None = None,
        mode: Any = "auto",
    ) -> Any:
        source = Source(tmp_path / "runs")

        async def bounded() -> Any:
            with anyio.fail_after(30):
                async with Client(build(source, policy or Policy()), mode=mode) as client:
                    return await work(client)

        try:
            return anyio.run(bounded)
        finally:
            source.close()

    return run
