"""What LangChain's handler rebuilds has the blocks, and so the hashes, of what LangChain sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, Literal

import pytest
from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.decoders.usage import usage_of
from ctxdiff_capture.model import Exchange
from ctxdiff_capture.tokens.counter import TokenCounter

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel, Field

PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR42mM4IScHRwzEcQCx"
    "YxBB00rMDQAAAABJRU5ErkJggg=="
)


class Unit(Enum):
    C = "c"
    F = "f"


class Place(BaseModel):
    """A place."""

    name: str = Field(description="as on the map", max_length=10)
    lat: float = Field(0.0, ge=-90, le=90)


class GetWeather(BaseModel):
    """Look up the weather."""

    place: Place
    kind: Literal["rain", "snow"]
    days: int = 3
    unit: Unit = Unit.C
    words: str | None = None
    near: Place | None = None
    either: int | str | None = None
    others: list[Place] = []
    grid: list[list[int]] = []
    exact: bool = Field(False, description="to the minute")


def now() -> str:
    """The time."""
    return ""


def calls(*ids: str) -> list[dict[str, Any]]:
    return [{"name": "GetWeather", "args": {"kind": "rain"}, "id": known} for known in ids]


CONVERSATIONS: dict[str, list[BaseMessage]] = {
    "a tool that answers and one that fails": [
        SystemMessage("Be brief."),
        HumanMessage("Weather in Oslo and Bergen?"),
        AIMessage("Let me see.", tool_calls=calls("call_1", "call_2")),
        ToolMessage("4 C", tool_call_id="call_1", name="GetWeather"),
        ToolMessage("no answer", tool_call_id="call_2", name="GetWeather", status="error"),
        HumanMessage("And tomorrow?"),
        AIMessage("The same."),
        HumanMessage([{"type": "text", "text": "Sure?"}]),
    ],
    "a system text in parts and a picture": [
        SystemMessage(
            [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
        ),
        HumanMessage(
            [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": PICTURE}},
            ]
        ),
    ],
    "several messages of the user": [
        HumanMessage("one"),
        HumanMessage("two"),
        HumanMessage(["three", {"type": "text", "text": "four"}]),
    ],
}
TOOLS: dict[str, list[Any]] = {"none": [], "simple": [now], "of every type": [GetWeather, now]}


def chat_openai(url: str) -> Any:
    kind = pytest.importorskip("langchain_openai").ChatOpenAI
    return kind(model="m", base_url=f"{url}/v1", api_key="k")


def chat_anthropic(url: str) -> Any:
    kind = pytest.importorskip("langchain_anthropic").ChatAnthropic
    return kind(model_name="claude-m", base_url=url, api_key="k")


def chat_gemini(url: str) -> Any:
    genai = pytest.importorskip("langchain_google_genai", reason="it needs Python 3.11")
    return genai.ChatGoogleGenerativeAI(model="gemini-m", base_url=url, api_key="k")


def chat_bedrock(url: str) -> Any:
    kind = pytest.importorskip("langchain_aws").ChatBedrockConverse
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    return kind(model="anthropic.claude-m", endpoint_url=url, temperature=0.5, **keys)


MODELS: dict[str, Callable[[str], Any]] = {
    "openai.chat": chat_openai,
    "anthropic.messages": chat_anthropic,
    "gemini.generate_content": chat_gemini,
    "bedrock.converse": chat_bedrock,
}


@pytest.mark.parametrize("tools", TOOLS)
@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("surface", MODELS)
def test_a_rebuilt_call_has_the_blocks_of_the_one_that_was_sent(
    provider: Any, recording: Any, surface: str, conversation: str, tools: str
) -> None:
    if surface == "bedrock.converse" and conversation.startswith("a tool") and tools == "none":
        tools = "simple"  # without tools LangChain sends calls and results as prose
    model = MODELS[surface](provider.url)
    asked = model.bind_tools(TOOLS[tools], tool_choice="any") if TOOLS[tools] else model
    handler = recording.tracer.langchain_handler()
    asked.invoke(CONVERSATIONS[conversation], config={"callbacks": [handler]})

    (rebuilt,) = recording.calls()
    path, body = provider.paths[0], provider.bodies[0]
    answer = provider.reply_to(path, body).body
    sent = Exchange(surface, body, "t", response=answer, status=200, provider=rebuilt.head.provider)
    direct = decode(sent, seq=1, call_id="c", count=TokenCounter())
    look = partial(map, lambda p: (p.block.role, p.block.kind, p.block.text, p.label))
    assert list(look(rebuilt.inputs)) == list(look(direct.inputs))
    assert [p.block.content_hash for p in rebuilt.inputs] == [
        p.block.content_hash for p in direct.inputs
    ]
    assert [p.block.content_hash for p in rebuilt.outputs] == [
        p.block.content_hash for p in direct.outputs
    ]
    label = rebuilt.head.provider
    told, billed = (usage_of(call.usage, label, surface) for call in (rebuilt.head, direct))
    for name in ("prompt_tokens", "output_tokens", "cache_read_tokens"):
        assert (getattr(told, name) or 0) == (getattr(billed, name) or 0), name
    assert rebuilt.head.finish_reason == direct.finish_reason


@pytest.mark.parametrize("choice", ["any", "auto", "GetWeather"])
@pytest.mark.parametrize("surface", ["gemini.generate_content", "bedrock.converse"])
def test_the_choice_of_a_tool_is_told_as_it_is_sent(
    provider: Any, recording: Any, surface: str, choice: str
) -> None:
    model = MODELS[surface](provider.url).bind_tools([GetWeather, now], tool_choice=choice)
    model.invoke("x", config={"callbacks": [recording.tracer.langchain_handler()]})

    (rebuilt,) = recording.calls()
    body = json.loads(provider.bodies[0])
    if surface == "bedrock.converse":
        told = rebuilt.head.params["toolChoice"], rebuilt.head.params["temperature"]
        assert told == (body["toolConfig"]["toolChoice"], body["inferenceConfig"]["temperature"])
    else:
        assert rebuilt.head.params["tool_config"] == body["toolConfig"]
        assert rebuilt.head.params["candidate_count"] == body["generationConfig"]["candidateCount"]
    assert "tool_choice" not in rebuilt.head.params
