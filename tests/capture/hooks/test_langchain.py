"""LangChain's handler: models without HTTP are recorded, others once, from the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import openai
import pytest
from ctxdiff_capture import Tracer, read
from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.hooks.langchain_messages import answer_body, request_body
from ctxdiff_capture.hooks.plain import json_bytes
from ctxdiff_capture.hooks.stages import with_said
from ctxdiff_capture.model import CallHead, Decision, Draft, Exchange, Stage
from ctxdiff_capture.tokens.counter import TokenCounter

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableConfig

VECTORS = Path(__file__).parent.parent / "data" / "capture-vectors.json"
Make = Callable[..., openai.OpenAI]
Stored = Callable[[], list[tuple[CallHead, list[Stage], list[Decision]]]]


def model(*answers: str) -> FakeListChatModel:
    return FakeListChatModel(responses=list(answers or ("ok",)))


def test_a_model_without_http_is_recorded_with_its_answer(tracer: Tracer) -> None:
    handler = tracer.langchain_handler("guide")
    tracer.tag("rag", "Oslo")
    with tracer.step("plan"):
        model().invoke("Where is Oslo?", config={"callbacks": [handler]})
    tracer.close()

    assert tracer.path
    reader = read(tracer.path)
    (call,) = reader.load(reader.sessions()[0].id).calls
    inputs, outputs = reader.inputs(call.id), reader.outputs(call.id)
    request = reader.request(call.id)
    reader.close()
    assert (call.agent, call.step, call.surface, call.provider) == (
        "guide",
        "plan",
        "openai.chat",
        "fakelistchatmodel",
    )
    assert [(p.block.role, p.block.text, p.label) for p in inputs] == [
        ("user", "Where is Oslo?", "rag")
    ]
    assert [(p.block.role, p.block.text) for p in outputs] == [("assistant", "ok")]
    assert inputs[0].block.token_method == "estimate"
    assert request is None
    assert call.request_digest is None


def test_an_answer_is_the_same_block_when_it_comes_back_as_history(tracer: Tracer) -> None:
    config: Any = {"callbacks": [tracer.langchain_handler()]}
    asked = [HumanMessage("hi")]
    answer = model("hello").invoke(asked, config=config)
    model().invoke([*asked, answer, HumanMessage("and?")], config=config)
    tracer.close()

    assert tracer.path
    reader = read(tracer.path)
    first, second = reader.load(reader.sessions()[0].id).calls
    (said,), history = reader.outputs(first.id), reader.inputs(second.id)
    reader.close()
    assert said.block == history[1].block


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream", "batch"])
def test_every_way_to_ask_is_recorded_once(tracer: Tracer, stored: Stored, way: str) -> None:
    config: Any = {"callbacks": [tracer.langchain_handler("guide")]}

    async def drained() -> None:
        async for _ in model().astream("hi", config=config):
            pass

    if way == "invoke":
        model().invoke("hi", config=config)
    elif way == "stream":
        list(model().stream("hi", config=config))
    elif way == "ainvoke":
        asyncio.run(model().ainvoke("hi", config=config))
    elif way == "astream":
        asyncio.run(drained())
    else:
        model().batch(["hi"], config=config)

    ((call, _, _),) = stored()
    assert (call.seq, call.agent, call.error) == (1, "guide", None)


def test_a_model_of_texts_is_recorded_as_one_message(tracer: Tracer) -> None:
    handler = tracer.langchain_handler()
    FakeListLLM(responses=["x"]).invoke("hi", config={"callbacks": [handler]})
    tracer.close()

    assert tracer.path
    reader = read(tracer.path)
    (call,) = reader.load(reader.sessions()[0].id).calls
    texts = [p.block.text for p in (*reader.inputs(call.id), *reader.outputs(call.id))]
    reader.close()
    assert texts == ["hi", "x"]


def test_an_error_keeps_its_class_and_reaches_the_host(tracer: Tracer, stored: Stored) -> None:
    class Broken(FakeListChatModel):
        def _call(self, *_: Any, **__: Any) -> str:
            raise LookupError("no weights")

    with pytest.raises(LookupError, match="no weights"):
        Broken(responses=[]).invoke("hi", config={"callbacks": [tracer.langchain_handler()]})

    ((call, _, _),) = stored()
    assert (call.error, call.error_message) == ("LookupError", "no weights")


class Through(GenericFakeChatModel):
    """A model that asks a provider by a client of the host's."""

    client: Any

    def _generate(self, messages: Any, *args: Any, **more: Any) -> ChatResult:
        for message in messages:
            self.client.chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": message.content}]
            )
        return super()._generate(messages, *args, **more)


def test_a_call_that_a_tap_sees_is_recorded_once_and_from_the_wire(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    asks = Through(messages=iter([AIMessage("ok")]), client=client_of(tracer))
    tracer.decision("faq", "dropped")
    asks.invoke("hi", config={"callbacks": [tracer.langchain_handler("guide")]})

    ((call, _, decisions),) = stored()
    assert (call.agent, call.provider, call.attempts) == ("guide", "openai", 1)
    assert call.request_digest is not None
    assert [d.candidate for d in decisions] == ["faq"]


def test_a_second_request_of_the_same_run_is_a_call_of_its_own(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    asks = Through(messages=iter([AIMessage("ok")]), client=client_of(tracer, agent="client"))
    asks.invoke(["a", "b"], config={"callbacks": [tracer.langchain_handler("guide")]})

    assert [(call.seq, call.agent) for call, _, _ in stored()] == [(1, "guide"), (2, "client")]


def test_the_name_of_a_wrapped_client_holds_where_the_handler_has_none(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    asks = Through(messages=iter([AIMessage("ok")]), client=client_of(tracer, agent="client"))
    asks.invoke("a", config={"callbacks": [tracer.langchain_handler()]})

    assert [call.agent for call, _, _ in stored()] == ["client"]


def test_nodes_of_a_graph_name_their_calls_on_request(tracer: Tracer, stored: Stored) -> None:
    handler = tracer.langchain_handler("team", by_node=True)
    for metadata in ({"langgraph_node": "planner"}, {}):
        model().invoke("hi", config={"callbacks": [handler], "metadata": metadata})

    assert [call.agent for call, _, _ in stored()] == ["planner", "team"]


def test_a_run_without_an_answer_is_stored_as_unfinished(tracer: Tracer, stored: Stored) -> None:
    stream = model("one two").stream("hi", config={"callbacks": [tracer.langchain_handler()]})
    next(stream)

    ((call, _, _),) = stored()
    assert (call.seq, call.error) == (1, "Unfinished")
    stream.close()


def test_an_end_without_a_start_is_no_call(tracer: Tracer) -> None:
    handler = tracer.langchain_handler()
    handler.on_llm_error(ValueError("x"), run_id=uuid4())
    tracer.close()

    assert tracer.count == 0


def test_chat_openai_is_recorded_once_from_the_wire(tracer: Tracer, stored: Stored) -> None:
    langchain_openai = pytest.importorskip("langchain_openai", reason="optional")
    tracer.record_process()
    seen: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        message = {"role": "assistant", "content": "ok"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o"}
        return httpx2.Response(200, json=body | {"choices": [choice]})

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        chat = langchain_openai.ChatOpenAI(model="gpt-4o", api_key="k", http_client=http)
        chat.invoke("hi", config={"callbacks": [tracer.langchain_handler("guide")]})

    ((call, _, _),) = stored()
    assert len(seen) == 1
    assert (call.agent, call.provider, call.params["model"]) == ("guide", "openai", "gpt-4o")
    assert call.request_digest is not None


def conversation(picture: str) -> list[Any]:
    return [
        SystemMessage("You are a terse assistant."),
        HumanMessage("Weather in Oslo?"),
        AIMessage(
            "", tool_calls=[{"name": "get_weather", "args": {"city": "Oslo"}, "id": "call_1"}]
        ),
        ToolMessage("4 C, drizzle", tool_call_id="call_1", name="get_weather"),
        HumanMessage(
            [
                {"type": "text", "text": "And this?"},
                {"type": "image_url", "image_url": {"url": picture}},
            ]
        ),
    ]


def vectors() -> Iterator[Any]:
    for case in json.loads(VECTORS.read_text(encoding="utf-8")):
        if case["id"] in ("langchain-openai", "langchain-anthropic", "langchain-bedrock"):
            yield pytest.param(case, id=case["id"])


@pytest.mark.parametrize("case", list(vectors()))
def test_blocks_have_the_hashes_of_the_vectors(case: Any) -> None:
    provider = case["run_provider"]
    surface = {
        "openai": "openai.chat",
        "anthropic": "anthropic.messages",
        "bedrock": "bedrock.converse",
    }[provider]
    data = (
        "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR42mM4IScHRwzEcQCxYxBB00rMDQ"
        "AAAABJRU5ErkJggg=="
    )
    messages = conversation(f"data:image/png;base64,{data}")
    body = json.dumps(request_body(surface, messages, None)).encode()
    sent = Exchange(surface, body, "t", provider=provider)
    found = decode(sent, seq=1, call_id="c", count=TokenCounter()).inputs

    # The result of a tool has its `is_error` or `status` as on the wire, which ctxdiff leaves out.
    left_out = "tool_result" if provider == "anthropic" else "toolResult"
    expected = [b for b in case["calls"][0]["blocks"] if b["kind"] not in ("tool_schema", "image")]
    assert [
        p.block.content_hash
        for p in found
        if p.block.kind != "image" and left_out not in p.block.text
    ] == [b["content_hash"] for b in expected if left_out not in b["text"]]


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("openai.chat", {"prompt_tokens": 1012, "completion_tokens": 6, "total_tokens": 1018}),
        ("anthropic.messages", {"input_tokens": 12, "output_tokens": 6}),
        ("bedrock.converse", {"inputTokens": 12, "outputTokens": 6, "totalTokens": 1018}),
    ],
)
def test_usage_is_told_as_the_provider_would(surface: str, expected: dict[str, int]) -> None:
    usage = {
        "input_tokens": 1012,
        "output_tokens": 6,
        "total_tokens": 1018,
        "input_token_details": {"cache_read": 900, "cache_creation": 100},
    }
    answer = answer_body(surface, AIMessage("ok"), "ok", "stop", usage)

    assert expected.items() <= answer["usage"].items()


@pytest.mark.parametrize("is_async", [False, True])
def test_nodes_of_a_real_graph_name_their_calls(
    tracer: Tracer, stored: Stored, is_async: bool
) -> None:
    graphs = pytest.importorskip("langgraph.graph", reason="LangGraph is optional")

    def node(name: str) -> Callable[[Any], Any]:
        # Python 3.10 does not carry a task's context on: there a node passes its config itself.
        async def awaited(state: Any, config: RunnableConfig) -> Any:
            return {"messages": [await model(name).ainvoke(state["messages"], config)]}

        def called(state: Any) -> Any:
            return {"messages": [model(name).invoke(state["messages"])]}

        return awaited if is_async else called

    graph = graphs.StateGraph(graphs.MessagesState)
    for name, before in (("planner", graphs.START), ("writer", "planner")):
        graph.add_node(name, node(name))
        graph.add_edge(before, name)
    config: Any = {"callbacks": [tracer.langchain_handler(by_node=True)]}
    asked = {"messages": [HumanMessage("hi")]}
    compiled = graph.compile()
    if is_async:
        asyncio.run(compiled.ainvoke(asked, config))
    else:
        compiled.invoke(asked, config)

    assert [call.agent for call, _, _ in stored()] == ["planner", "writer"]


@pytest.mark.parametrize("surface", ["openai.chat", "anthropic.messages", "bedrock.converse"])
def test_messages_of_langchain_make_a_stage_in_the_form_of_the_call(surface: str) -> None:
    held = conversation("https://example.com/a.png")
    request = json.dumps(request_body(surface, held, None)).encode()
    sent = Exchange(surface, request, "t")
    count = TokenCounter()
    call = decode(sent, seq=1, call_id="c", count=count)
    draft = Draft("before_model", "t", json_bytes(held))

    (stage,) = with_said(call, sent, (draft,), count).stages
    assert stage.inputs == call.inputs
