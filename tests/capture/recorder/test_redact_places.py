"""A redaction sees every place where a text may stand, on a thread that no call waits for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import openai
import pytest
from ctxdiff_capture import Tracer, read, trace
from ctxdiff_capture.hooks.export import invocation_snapshot
from ctxdiff_capture.hooks.spelling import to_json
from ctxdiff_capture.model import Block, CallError, Exchange

PERSON = "Ada Lovelace-Byron"
KEY = "ghp_" + "aB3dE5gH7j" * 4
Stored = Callable[[Path], bytes]

DELTAS = [f"I am {PERSON}", f" and I use {KEY}"]
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": json.dumps({"who": PERSON, "nested": {"key": KEY}})},
}
MESSAGES: list[Any] = [
    {"role": "system", "content": f"You serve {PERSON} with {KEY}."},
    {"role": "user", "content": [{"type": "text", "text": f"{PERSON}: {KEY}"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": f"{PERSON}\n{KEY}"},
]
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "f", "description": f"for {PERSON}, {KEY}"}}
]


def hide(block: Block) -> Block:
    return replace(block, text=block.text.replace(PERSON, "<person>").replace(KEY, "<key>"))


def chunk(text: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    made = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    return b"data: " + json.dumps({**made, "choices": [choice]}).encode() + b"\n\n"


def answer(request: httpx2.Request) -> httpx2.Response:
    body = json.loads(request.content)
    if body.get("stream"):
        stream = b"".join(map(chunk, DELTAS))
        return httpx2.Response(200, content=stream, headers={"content-type": "text/event-stream"})
    if body["model"] == "refuses":
        error = {"message": f"{PERSON} may not use {KEY}", "type": "x", "code": "y", "param": None}
        return httpx2.Response(400, json={"error": error})
    message = {"role": "assistant", "content": f"{PERSON}: {KEY}", "tool_calls": [CALL]}
    refusal = {"role": "assistant", "content": None, "refusal": f"not for {PERSON}, {KEY}"}
    choices = [
        {"index": index, "finish_reason": "stop", "message": said}
        for index, said in enumerate((message, refusal))
    ]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "note": KEY}
    made = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o"}
    return httpx2.Response(200, json={**made, "choices": choices, "usage": usage})


def use_everything(tracer: Tracer, client: openai.OpenAI) -> None:
    """Calls that answer, stream, are let go of, and fail; with all that may be said of them."""
    ask: dict[str, Any] = {"messages": MESSAGES, "tools": TOOLS, "user": f"{PERSON} {KEY}"}
    ask["metadata"] = {"who": PERSON, "deep": KEY}
    ask["extra_body"] = {"stop_words": [PERSON, {"inner": [KEY]}], "unknown": f"{PERSON} {KEY}"}
    chats = tracer.wrap(client).chat.completions

    tracer.tag("rag", [f"{PERSON}\n{KEY}", f"{PERSON}: {KEY}"])
    tracer.snapshot([*MESSAGES, {"role": "user", "content": f"left out: {PERSON} {KEY}"}])
    tracer.snapshot(MESSAGES, TOOLS, "post_optimization", system=f"{PERSON} {KEY}")
    tracer.before_model({"messages": MESSAGES}, TOOLS)
    tracer.after_tool({"raw": f"{PERSON} {KEY}"}, f"cut: {PERSON} {KEY}", name="f")
    tracer.decision(f"note of {PERSON} {KEY}", "dropped", reason=f"{PERSON}'s {KEY}", rank=1)
    chats.create(model="gpt-4o", **ask)
    list(chats.create(model="gpt-4o", stream=True, **ask))
    stream = chats.create(model="gpt-4o", stream=True, **ask)
    next(iter(stream))
    stream.close()
    with suppress(openai.BadRequestError):
        chats.create(model="refuses", **ask)
    tracer.submit(
        Exchange(
            surface="openai.chat",
            request=json.dumps({"model": "m", "messages": MESSAGES}).encode(),
            started_at="2026-11-30T10:00:00.000000+00:00",
            error=CallError("Broken", f"{PERSON} {KEY}"),
            metadata={"their note": {"of": [f"{PERSON} {KEY}"]}},
        )
    )


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        yield openai.OpenAI(api_key="k", http_client=http, max_retries=0)


def test_what_a_hook_hides_is_in_no_byte_of_the_trace(
    tmp_path: Path, client: openai.OpenAI, everything_stored: Stored
) -> None:
    path = tmp_path / "t.ctrace"
    with trace.init("test", path=path, redact=hide) as tracer:
        use_everything(tracer, client)

    stored = everything_stored(path)
    assert [one for one in (PERSON, "Lovelace") if one.encode() in stored] == []
    assert b"<person>" in stored


def test_a_credential_is_in_no_byte_of_the_trace(
    tmp_path: Path, client: openai.OpenAI, everything_stored: Stored
) -> None:
    path = tmp_path / f"of {KEY[:3]}.ctrace"
    tracer = trace.init("test", path=path, redact="secrets")
    with tracer, tracer.agent(f"a {KEY}"), tracer.step(f"with {KEY}"):
        use_everything(tracer, client)

    stored = everything_stored(path)
    assert KEY.encode() not in stored
    assert PERSON.encode() in stored
    reader = read(path)
    session = reader.sessions()[0].id
    calls = reader.load(session).calls
    assert len(calls) == 5
    assert {call.agent for call in calls[:4]} == {"a [secret:github-token#1]"}
    assert [len(reader.stages(call.id)) for call in calls] == [4, 0, 0, 0, 0]
    assert reader.load(session).calls[3].error_message == (
        f"{PERSON} may not use [secret:github-token#1]"
    )
    exported = [to_json(invocation_snapshot(reader, session, call.seq)) for call in calls]
    reader.close()
    assert all("[secret:github-token#1]" in one and KEY not in one for one in exported)


def test_a_redaction_runs_on_no_thread_of_the_programs(
    tmp_path: Path, client: openai.OpenAI
) -> None:
    threads: set[str] = set()

    def note(block: Block) -> Block:
        threads.add(threading.current_thread().name)
        return block

    with trace.init("test", path=tmp_path / "t.ctrace", redact=note) as tracer:
        use_everything(tracer, client)

    assert threads == {"ctxdiff-writer"}


FAULTS: dict[str, Callable[[Block], Any]] = {
    "raises": lambda _: 1 / 0,
    "None": lambda _: None,
    "text": lambda _: "text",
    "another kind": lambda _: {"text": "x"},
    "no text": lambda block: replace(block, text=None),
    "huge count": lambda block: replace(block, token_count=2**70),
    "count below nothing": lambda block: replace(block, token_count=-1),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("order", ["alone", "before secrets", "after secrets"])
def test_a_hook_that_fails_everywhere_loses_no_call_and_shows_no_text(
    tmp_path: Path, client: openai.OpenAI, everything_stored: Stored, fault: str, order: str
) -> None:
    path = tmp_path / "t.ctrace"
    hook = FAULTS[fault]
    steps = {"alone": hook, "before secrets": [hook, "secrets"], "after secrets": ["secrets", hook]}
    with trace.init("test", path=path, redact=steps[order]) as tracer:
        use_everything(tracer, client)

    reader = read(path)
    session = reader.sessions()[0].id
    calls = reader.load(session).calls
    details = [reader.detail(call.id) for call in calls]
    texts = {p.block.text for call in calls for p in reader.inputs(call.id)}
    reader.close()
    assert len(calls) == 5
    assert PERSON.encode() not in everything_stored(path)
    assert texts == {"[redacted]" if fault == "None" else "[redaction-error]"}
    counted = [detail.metadata["redaction"] for detail in details]
    assert [list(one) for one in counted] == [["withheld" if fault == "None" else "failed"]] * 5
    assert all(sum(one.values()) >= 4 for one in counted)


def test_texts_that_are_withheld_keep_the_pattern_of_what_changed(tmp_path: Path) -> None:
    path = tmp_path / "t.ctrace"
    with trace.init("test", path=path, redact=lambda _: None) as tracer:
        for texts in (["a", "b"], ["a", "c", "b"]):
            messages = [{"role": "user", "content": text} for text in texts]
            request = json.dumps({"model": "m", "messages": messages}).encode()
            tracer.submit(Exchange("openai.chat", request, "2026-11-30T10:00:00+00:00"))

    reader = read(path)
    first, second = reader.load(reader.sessions()[0].id).inputs
    reader.close()
    assert (list(first), list(second)) == ([0, 1], [0, 2, 1])


def test_a_call_of_langchains_is_redacted_as_one_from_the_wire(
    tmp_path: Path, everything_stored: Stored
) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.language_models.fake_chat_models import (
        FakeListChatModel,
    )

    path = tmp_path / "t.ctrace"
    with trace.init("test", path=path, redact=["secrets", hide]) as tracer:
        model = FakeListChatModel(responses=[f"{PERSON} {KEY}"])
        config: Any = {"callbacks": [tracer.langchain_handler(agent="a")]}
        model.invoke(f"{PERSON} {KEY}", config=config)
        listener = tracer.langchain_handler()
        run = uuid4()
        listener.on_llm_start({"name": "M"}, [f"{PERSON} {KEY}"], run_id=run)
        listener.on_llm_error(RuntimeError(f"{PERSON} {KEY}"), run_id=run)

    stored = everything_stored(path)
    assert [one for one in (PERSON, KEY) if one.encode() in stored] == []
    reader = read(path)
    calls = reader.load(reader.sessions()[0].id).calls
    assert [call.error_message for call in calls] == [None, "<person> [secret:github-token#1]"]
    assert [p.block.text for c in calls for p in reader.inputs(c.id)] == [
        "<person> [secret:github-token#1]"
    ] * 2
    reader.close()
