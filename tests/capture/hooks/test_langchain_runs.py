"""Calls that LangChain alone tells of: what else happens beside them, and who is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import openai
import pytest
from ctxdiff_capture import Tracer
from ctxdiff_capture.hooks.snapshots import ContextSnapshot, verify_payload
from ctxdiff_capture.model import CallHead, Decision, Stage

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.language_models.fake import FakeStreamingListLLM
from langchain_core.language_models.fake_chat_models import FakeListChatModel

Make = Callable[..., openai.OpenAI]
Stored = Callable[[], list[tuple[CallHead, list[Stage], list[Decision]]]]
ASK: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "a check"}]}


def chat() -> FakeListChatModel:
    return FakeListChatModel(responses=["one two"])


@pytest.mark.parametrize("model", [chat(), FakeStreamingListLLM(responses=["one two"])])
def test_a_call_between_two_pieces_of_a_stream_is_a_call_of_its_own(
    tracer: Tracer, client_of: Make, stored: Stored, model: Any
) -> None:
    client = client_of(tracer, agent="checker")
    pieces = model.stream("hi", config={"callbacks": [tracer.langchain_handler("guide")]})
    next(pieces)
    client.chat.completions.create(**ASK)
    list(pieces)

    calls = [(call.seq, call.agent, call.request_digest is None) for call, _, _ in stored()]
    assert calls == [(1, "guide", True), (2, "checker", False)]


def test_the_same_holds_in_a_task_that_is_started_between_two_pieces(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    client = client_of(tracer, agent="checker")

    async def check() -> None:
        client.chat.completions.create(**ASK)

    async def work() -> None:
        handler = tracer.langchain_handler("guide")
        async for _ in chat().astream("hi", config={"callbacks": [handler]}):
            await asyncio.create_task(check())

    asyncio.run(work())

    agents = [call.agent for call, _, _ in stored()]
    assert agents[0] == "guide"
    assert set(agents[1:]) == {"checker"}


def test_a_stream_that_nobody_finishes_is_stored_once_although_another_call_came(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    client = client_of(tracer)
    pieces = chat().stream("hi", config={"callbacks": [tracer.langchain_handler("guide")]})
    next(pieces)
    client.chat.completions.create(**ASK)
    pieces.close()

    calls = [(call.agent, call.error) for call, _, _ in stored()]
    assert calls[1] == (None, None)
    assert calls[0][0] == "guide"
    assert calls[0][1] is not None


@pytest.mark.parametrize("in_line", [False, True])
def test_on_call_is_told_of_a_call_that_no_tap_sees(tracer: Tracer, in_line: bool) -> None:
    seen: list[ContextSnapshot] = []
    tracer.on_call(seen.append, in_line=in_line, window=1_000)
    chat().invoke("hi", config={"callbacks": [tracer.langchain_handler("guide")]})
    tracer.flush()

    (snapshot,) = seen
    assert (snapshot.seq, snapshot.agent) == (1, "guide")
    assert snapshot.tokens_by_label.keys() == {"user"}
    assert snapshot.budget is not None
    assert verify_payload([{"role": "user", "content": "hi"}], snapshot.message_hash)


def test_the_snapshot_and_the_stored_call_have_one_id(tracer: Tracer, stored: Stored) -> None:
    seen: list[ContextSnapshot] = []
    tracer.on_call(seen.append)
    chat().invoke("hi", config={"callbacks": [tracer.langchain_handler()]})

    ((call, _, _),) = stored()
    assert [snapshot.call_id for snapshot in seen] == [call.id]


def test_on_call_is_told_once_of_a_call_that_both_see(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    client = client_of(tracer)
    seen: list[ContextSnapshot] = []
    tracer.on_call(seen.append)

    class Through(FakeListChatModel):
        def _call(self, *_: Any, **__: Any) -> str:
            return client.chat.completions.create(**ASK).choices[0].message.content or ""

    Through(responses=[]).invoke("hi", config={"callbacks": [tracer.langchain_handler("guide")]})

    ((call, _, _),) = stored()
    assert [(s.seq, s.agent, s.model) for s in seen] == [(1, "guide", "gpt-4o")]
    assert call.request_digest is not None


def test_a_callback_that_fails_costs_no_call(
    tracer: Tracer, stored: Stored, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: ContextSnapshot) -> None:
        raise RuntimeError("a fault of the program's")

    tracer.on_call(fail, in_line=True)
    chat().invoke("hi", config={"callbacks": [tracer.langchain_handler()]})

    ((call, _, _),) = stored()
    assert call.error is None
    assert "callback failed" in caplog.text
