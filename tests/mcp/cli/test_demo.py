"""The demo: one command, no key, no network, and the server names the cause."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic
from ctxdiff_capture.recorder import trace
from ctxdiff_capture.store.open import open_reader
from openai import OpenAI

from ctxdiff_mcp.cli import demo as command
from ctxdiff_mcp.cli.demo_pipeline import ANSWERS, BROKEN_TURN, BULLETIN, run_pipeline
from ctxdiff_mcp.cli.demo_provider import provider

LOG = Path(command.__file__).parent / "data" / "demo.jsonl"
Cli = Callable[..., Any]


def blocks(path: Path) -> list[list[str]]:
    """Hashes of the input blocks, call by call."""
    with closing(open_reader(path)) as reader:
        (session,) = reader.sessions()
        calls = reader.load(session.id).calls
        return [[placed.block.content_hash for placed in reader.inputs(call.id)] for call in calls]


def recorded_log(path: Path) -> list[dict[str, Any]]:
    """The pipeline's calls as an exchange log, with the labels that the tap recorded at `path`."""
    with (
        provider(ANSWERS) as fake,
        OpenAI(base_url=f"{fake.url}/v1", api_key="k") as openai,
        Anthropic(base_url=fake.url, api_key="k") as anthropic,
        trace.init("demo", path=path) as tracer,
    ):
        run_pipeline(
            tracer.wrap(openai, agent="researcher"),
            tracer.wrap(anthropic, agent="writer"),
            tag=tracer.tag,
            step=tracer.step,
        )
    reader = open_reader(path)
    (session,) = reader.sessions()
    lines = []
    for call, (surface, request, response) in zip(
        reader.load(session.id).calls, fake.exchanges, strict=True
    ):
        tags = reader.detail(call.id).tags
        lines.append(
            {
                "provider": surface,
                "request": request,
                "response": response,
                "error": None,
                "started_at": f"2026-11-30T09:00:{call.seq * 4:02}.000Z",
                "latency_ms": 1200 + 100 * call.seq,
                "agent": call.agent,
                "step": call.step,
                "session": None,
                "tags": [{"label": tag.label, "text": tag.text} for tag in tags],
                "attempt": 1,
            }
        )
    reader.close()
    return lines


def test_the_shipped_log_is_what_the_pipeline_sends(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lines = recorded_log(tmp_path / "tap.ctrace")
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    if request.config.getoption("--update-golden"):
        LOG.write_text(text, encoding="utf-8")
    assert text == LOG.read_text(encoding="utf-8")


def test_the_tap_and_the_import_of_the_log_record_the_same_blocks(
    tmp_path: Path, demo: Path
) -> None:
    recorded_log(tmp_path / "tap.ctrace")
    assert blocks(tmp_path / "tap.ctrace") == blocks(demo)


def test_the_bulletin_is_in_every_turn_of_the_researcher_but_the_broken_one(demo: Path) -> None:
    lines = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    having = [
        n for n, line in enumerate(lines, 1) if BULLETIN in json.dumps(line, ensure_ascii=False)
    ]
    assert having == [2, 4, 5, 7]
    assert lines[BROKEN_TURN - 1]["agent"] == "researcher"
    assert "55" not in json.dumps(lines[BROKEN_TURN - 1])


@pytest.mark.parametrize("sdk", ["present", "absent"])
def test_the_demo_tells_why_turn_8_broke(
    ctxdiff: Cli, monkeypatch: pytest.MonkeyPatch, sdk: str
) -> None:
    if sdk == "absent":
        monkeypatch.setattr(command, "find_spec", lambda _name: None)
    done = ctxdiff("demo")
    assert (done.status, done.err) == (0, "")
    assert ("on the wire" in done.out) == (sdk == "present")
    assert "context_evicted" in done.out
    assert "SB-2041" in done.out
    assert "claude mcp add ctxdiff -- ctxdiff-mcp serve" in done.out
    assert '"mcpServers"' in done.out
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("is_on_path", [True, False])
def test_the_demo_tells_where_a_command_is_that_clients_would_not_find(
    ctxdiff: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_on_path: bool
) -> None:
    own = tmp_path / "ctxdiff-mcp"
    own.touch(0o755)
    monkeypatch.setattr(command, "get_path", lambda _name: str(tmp_path))
    monkeypatch.setattr(command, "record", lambda _path: "recorded on the wire")
    monkeypatch.setattr(command, "ask_server", lambda *_: "answer")
    monkeypatch.setenv("PATH", str(tmp_path if is_on_path else tmp_path / "elsewhere"))
    hint = f"  (ctxdiff-mcp is not on your PATH: write {own} in its place)"
    assert (hint in ctxdiff("demo").out.splitlines()) is not is_on_path


def test_the_demo_keeps_its_trace_and_never_adds_to_one(ctxdiff: Cli) -> None:
    assert ctxdiff("demo", "--out", "kept.ctrace").status == 0
    before = Path("kept.ctrace").read_bytes()
    again = ctxdiff("demo", "--out", "kept.ctrace")
    assert (again.status, again.out) == (1, "")
    assert "kept.ctrace exists" in again.err
    assert Path("kept.ctrace").read_bytes() == before
    assert "turns=9" in ctxdiff("runs").out


def test_the_demo_in_json_gives_the_answer_as_one_object(ctxdiff: Cli) -> None:
    answer = json.loads(ctxdiff("demo", "--json").out)
    assert answer["turn"] == BROKEN_TURN
    assert "context_evicted" in answer["answer"]
