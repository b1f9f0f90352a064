"""The redaction hook: nothing that it withholds reaches the disk, and no call is lost."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture import read, trace
from ctxdiff_capture.model import Block, Exchange

SECRET = "4111-1111-1111-1111"


def exchange(**more: Any) -> Exchange:
    request = {
        "model": "gpt-4o",
        "user": f"card {SECRET}",
        "messages": [{"role": "user", "content": f"my card is {SECRET}"}],
        "tools": [{"type": "function", "function": {"name": "f", "description": SECRET}}],
    }
    message = {"role": "assistant", "content": f"you said {SECRET}"}
    response = {"id": "1", "choices": [{"finish_reason": "stop", "message": message}]}
    return Exchange(
        surface="openai.chat",
        provider="openai",
        request=json.dumps(request).encode(),
        response=json.dumps(response).encode(),
        status=200,
        started_at="2026-11-30T10:00:00.000000+00:00",
        **more,
    )


def hide(block: Block) -> Block:
    return replace(block, text=block.text.replace(SECRET, "<card>"))


def fault(_: Block) -> Block:
    raise RuntimeError("the hook's own fault")


def leave(_: Block) -> Block:
    sys.exit(3)


def record(path: Path, hook: Callable[[Block], Any] | None, seen: Exchange) -> Any:
    with trace.init("test", path=path, redact=hook) as tracer:
        tracer.submit(seen)
    reader = read(path)
    (call,) = reader.load(reader.sessions()[0].id).calls
    found = (call, reader.inputs(call.id), reader.outputs(call.id), reader.request(call.id))
    reader.close()
    return found


def test_what_the_hook_hides_is_nowhere_in_the_file(tmp_path: Path) -> None:
    tags = trace.init("x")._scope
    tags.tag("rag", f"my card is {SECRET}")
    seen = exchange(tags=tags.take()[1], metadata={"note": [SECRET]})

    call, inputs, outputs, request = record(tmp_path / "t.ctrace", hide, seen)

    assert SECRET.encode() not in (tmp_path / "t.ctrace").read_bytes()
    assert (inputs[-1].block.text, inputs[-1].label) == ("my card is <card>", "rag")
    assert [place.block.text for place in outputs] == ["you said <card>"]
    assert (call.params["user"], call.params["model"]) == ("card <card>", "gpt-4o")
    assert request is None


def test_without_a_hook_everything_is_kept(tmp_path: Path) -> None:
    seen = exchange()

    assert record(tmp_path / "t.ctrace", None, seen)[3] == seen.request


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        (fault, "[redaction-error]"),
        (leave, "[redaction-error]"),
        (lambda _: None, "[redacted]"),
        (lambda _: "text", "[redaction-error]"),
        (lambda block: replace(block, text=None), "[redaction-error]"),
    ],
    ids=["raises", "exits", "None", "no block", "no text"],
)
def test_a_hook_that_gives_no_block_costs_the_text_and_not_the_call(
    tmp_path: Path, hook: Any, text: str
) -> None:
    _, inputs, outputs, _ = record(tmp_path / "t.ctrace", hook, exchange())

    assert {place.block.text for place in (*inputs, *outputs)} == {text}
    assert SECRET.encode() not in (tmp_path / "t.ctrace").read_bytes()


def test_a_hook_that_fails_is_told_of_once_for_each_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with trace.init("test", path=tmp_path / "t.ctrace", redact=fault) as tracer:
        tracer.submit(exchange())
        tracer.submit(exchange())

    told = ["ctxdiff: the redaction hook failed; texts are withheld"] * 2
    assert [record.getMessage() for record in caplog.records] == told


def test_the_message_of_an_error_is_redacted(tmp_path: Path) -> None:
    error = json.dumps({"error": {"message": f"refused: {SECRET}"}}).encode()
    seen = replace(exchange(), response=error, status=400)

    call, *_ = record(tmp_path / "t.ctrace", hide, seen)

    assert call.error_message == "refused: <card>"
    assert SECRET.encode() not in (tmp_path / "t.ctrace").read_bytes()
