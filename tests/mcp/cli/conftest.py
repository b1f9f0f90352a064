"""The command line in this process, and a trace to ask."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ctxdiff_capture.importers.base import import_log

from ctxdiff_mcp.__main__ import main


class Done(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def ctxdiff(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Done]:
    """Runs a command in an empty folder, without what the environment might say."""
    for name in ("CTXDIFF_STORE", "CTXDIFF_CONTEXT_WINDOW", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*argv: str | Path) -> Done:
        status = main([str(part) for part in argv])
        return Done(status, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of the demo's pipeline: nine turns of two agents, a tagged block lost at 8."""
    path = tmp_path_factory.mktemp("demo") / "demo.ctrace"
    log = files("ctxdiff_mcp.cli") / "data" / "demo.jsonl"
    import_log(Path(str(log)), path)
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Callable[..., Path]:
    """Writes a trace from calls as an exchange log spells them; each gives only what matters."""

    def write(*calls: dict[str, Any], name: str = "t") -> Path:
        lines = []
        for number, call in enumerate(calls, 1):
            line = {
                "provider": "openai.chat",
                "request": {
                    "model": "gpt-5",
                    "messages": [
                        {"role": role, "content": text} for role, text in call.pop("messages")
                    ],
                },
                "response": None,
                "started_at": f"2026-11-30T10:00:{number:02}.000Z",
                **call,
            }
            lines.append(json.dumps(line))
        log = tmp_path / f"{name}.jsonl"
        log.write_text("\n".join(lines), encoding="utf-8")
        path = tmp_path / f"{name}.ctrace"
        report = import_log(log, path)
        assert not report.errors
        return path

    return write
