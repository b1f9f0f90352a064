"""`tracer.snapshot` and `tracer.decision`: what was held and decided before a call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest
from ctxdiff_capture import Tracer, read, trace
from ctxdiff_capture.hooks.pending import MOST
from ctxdiff_capture.hooks.stages import with_said
from ctxdiff_capture.model import Block, Call, CallHead, Decision, Draft, Exchange, Stage
from ctxdiff_capture.tokens.counter import TokenCounter

Make = Callable[..., openai.OpenAI]
Stored = Callable[[], list[tuple[CallHead, list[Stage], list[Decision]]]]

LONG: list[Any] = [{"role": "user", "content": text} for text in ("old", "older", "now")]
SHORT = LONG[-1:]


def ask(client: openai.OpenAI, messages: list[Any] = SHORT, **more: Any) -> None:
    client.chat.completions.create(model="gpt-4o", messages=messages, **more)


def test_a_stage_is_stored_with_the_next_call_as_the_blocks_it_would_have_been(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    client = client_of(tracer)
    tracer.snapshot(LONG)
    ask(client)
    ask(client)

    (_, (stage,), _), (_, later, _) = stored()
    assert stage.name == "pre_optimization"
    assert [(p.block.text, p.path) for p in stage.inputs] == [
        ("old", "/messages/0/content"),
        ("older", "/messages/1/content"),
        ("now", "/messages/2/content"),
    ]
    assert later == []


def test_a_block_that_was_sent_has_the_same_hash_in_the_stage(
    tracer: Tracer, client_of: Make
) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    tracer.snapshot(LONG)
    ask(client_of(tracer), tools=tools)
    tracer.close()

    assert tracer.path
    reader = read(tracer.path)
    (call,) = reader.load(reader.sessions()[0].id).calls
    sent = [p.block for p in reader.inputs(call.id)]
    (stage,) = reader.stages(call.id)
    reader.close()
    # The tools were not named, so they are those of the call.
    assert [p.block for p in stage.inputs if p.block.text not in ("old", "older")] == sent


def test_what_is_held_is_taken_as_it_is_now(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    history = list(LONG)
    tracer.snapshot(history)
    del history[:2]
    ask(client_of(tracer), history)

    ((_, (stage,), _),) = stored()
    assert len(stage.inputs) == 3


def test_stages_and_decisions_keep_the_order_in_which_they_were_said(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    tracer.snapshot(LONG)
    tracer.decision("old", "dropped", "too old", rank=2, tokens=1)
    tracer.decision("now", "included")
    tracer.snapshot(SHORT, stage="post_optimization")
    ask(client_of(tracer))

    ((_, stages, decisions),) = stored()
    assert [stage.name for stage in stages] == ["pre_optimization", "post_optimization"]
    assert decisions == [
        Decision("old", "dropped", "too old", rank=2, tokens=1),
        Decision("now", "included"),
    ]


def test_what_is_said_in_one_task_does_not_reach_a_call_of_another(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    client = client_of(tracer)

    async def agent(name: str) -> None:
        tracer.decision(name, "included")
        await asyncio.sleep(0)
        ask(client, [{"role": "user", "content": name}])

    async def run() -> None:
        await asyncio.gather(agent("a"), agent("b"))

    asyncio.run(run())
    assert [[d.candidate for d in said] for _, _, said in stored()] == [["a"], ["b"]]


def test_a_retried_call_keeps_what_was_said_before_it(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    tracer.snapshot(LONG)
    tracer.decision("old", "dropped")
    ask(client_of(tracer, fails=2))

    ((call, stages, decisions),) = stored()
    assert (call.attempts, len(stages), len(decisions)) == (3, 1, 1)


def test_the_redaction_hook_sees_stages_and_decisions(tmp_path: Path, client_of: Make) -> None:
    def hide(block: Block) -> Block | None:
        return None if "old" in block.text else block

    with trace.init("r", path=tmp_path, redact=hide) as tracer:
        tracer.snapshot(LONG)
        tracer.decision("older", "dropped", "so old")
        ask(client_of(tracer))
    assert tracer.path
    reader = read(tracer.path)
    (call,) = reader.load(reader.sessions()[0].id).calls
    (stage,) = reader.stages(call.id)
    (decision,) = reader.decisions(call.id)
    reader.close()

    assert [p.block.text for p in stage.inputs] == ["[redacted]", "[redacted]", "now"]
    assert decision == Decision("[redacted]", "dropped", "[redacted]")
    assert b"older" not in Path(tracer.path).read_bytes()


def test_numbers_too_large_for_a_column_cost_the_number_and_not_the_call(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    tracer.decision("x\ud800", "dropped", rank=2**70)
    ask(client_of(tracer))

    ((_, _, decisions),) = stored()
    assert decisions == [Decision("x\ufffd", "dropped")]


def test_what_waits_for_a_call_that_never_comes_is_bounded(
    tracer: Tracer, client_of: Make, stored: Stored, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(MOST + 2):
        tracer.decision(str(number), "included")
    ask(client_of(tracer))

    ((_, _, decisions),) = stored()
    assert [d.candidate for d in decisions] == [str(n) for n in range(2, MOST + 2)]
    assert sum("wait for a call" in r.getMessage() for r in caplog.records) == 1


@pytest.mark.parametrize(
    ("surface", "body", "draft", "texts"),
    [
        (
            "anthropic.messages",
            {"system": "S", "messages": [{"role": "user", "content": "b"}]},
            Draft("x", "t", b'[{"role":"user","content":"a"}]', system=b'"T"'),
            ["T", "a"],
        ),
        ("openai.responses", {"input": "b"}, Draft("x", "t", b'"a"'), ["a"]),
        (
            "bedrock.converse",
            {"messages": []},
            Draft("x", "t", b'[{"role":"user","content":[{"text":"a"}]}]', tools=b"[]"),
            ["a"],
        ),
        (
            "gemini.generate_content",
            {"contents": [], "systemInstruction": {"parts": [{"text": "S"}]}},
            Draft("x", "t", b'[{"role":"user","parts":[{"text":"a"}]}]'),
            ["S", "a"],
        ),
    ],
)
def test_a_stage_is_read_in_the_form_of_the_calls_surface(
    surface: str, body: Any, draft: Draft, texts: list[str]
) -> None:
    sent = Exchange(surface, json.dumps(body).encode(), "t")
    call = with_said(Call("c", 1, "", surface, ()), sent, (draft,), TokenCounter())

    assert [p.block.text for p in call.stages[0].inputs] == texts


def test_a_stage_that_cannot_be_read_costs_itself_and_not_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ctxdiff_capture.guard.strict", False)
    sent = Exchange("openai.chat", b'{"messages":[]}', "t")
    call = Call("c", 1, "openai", "openai.chat", ())
    said = (Draft("x", "t", b"cut o"), Decision("a", "dropped"))

    assert with_said(call, sent, said, TokenCounter()) == replace(call, decisions=(said[1],))
