"""Every way in which the SDKs ask a model, recorded and not: the host sees no difference."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import httpx
import openai
import pydantic
import pytest

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Capital of France?"}]}
USAGE = {"stream_options": {"include_usage": True}}
MESSAGE = {**CHAT, "model": "claude-of-tests", "max_tokens": 100}


class Answer(pydantic.BaseModel):
    answer: str


# Each way is written once for both kinds of client.


async def value(thing: Any) -> Any:
    return await thing if hasattr(thing, "__await__") else thing


async def items(thing: Any) -> list[Any]:
    if hasattr(thing, "__aiter__"):
        return [item async for item in thing]
    return list(thing)


@asynccontextmanager
async def entered(manager: Any) -> AsyncIterator[Any]:
    if hasattr(manager, "__aenter__"):
        async with manager as inside:
            yield inside
    else:
        with manager as inside:
            yield inside


def plain(thing: Any) -> Any:
    return thing.model_dump() if isinstance(thing, pydantic.BaseModel) else thing


async def streamed(call: Any) -> Any:
    return [plain(item) for item in await items(await value(call))]


async def managed(manager: Any, *, last: str | None = None) -> Any:
    async with entered(manager) as stream:
        events = [plain(event) for event in await items(stream)]
        return events, plain(await value(getattr(stream, last)())) if last else None


async def raw(call: Any) -> Any:
    response = await value(call)
    parsed = await value(response.parse())
    is_stream = hasattr(parsed, "__aiter__") or hasattr(parsed, "__next__")
    return response.status_code, await streamed(parsed) if is_stream else plain(parsed)


async def lines(manager: Any) -> Any:
    async with entered(manager) as response:
        return response.status_code, await items(response.iter_lines())


async def parsed_inside(manager: Any) -> Any:
    async with entered(manager) as response:
        return plain(await value(response.parse()))


async def text_only(manager: Any) -> Any:
    async with entered(manager) as stream:
        return "".join(await items(stream.text_stream))


async def tools(client: Any) -> Any:
    runner = client.beta.messages.tool_runner(**MESSAGE, tools=[])
    return plain(await value(runner.until_done()))


OPENAI: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "create": lambda c: one(c.chat.completions.create(**CHAT)),
    "create stream": lambda c: streamed(c.chat.completions.create(**CHAT, **USAGE, stream=True)),
    "stream manager": lambda c: managed(
        c.chat.completions.stream(**CHAT, **USAGE), last="get_final_completion"
    ),
    "raw": lambda c: raw(c.chat.completions.with_raw_response.create(**CHAT)),
    "raw stream": lambda c: raw(
        c.chat.completions.with_raw_response.create(**CHAT, **USAGE, stream=True)
    ),
    "raw from the root": lambda c: raw(c.with_raw_response.chat.completions.create(**CHAT)),
    "streaming": lambda c: parsed_inside(c.chat.completions.with_streaming_response.create(**CHAT)),
    "streaming lines": lambda c: lines(
        c.chat.completions.with_streaming_response.create(**CHAT, **USAGE, stream=True)
    ),
    "parse": lambda c: one(c.chat.completions.parse(**CHAT, response_format=Answer)),
    "beta parse": lambda c: one(c.beta.chat.completions.parse(**CHAT, response_format=Answer)),
    "beta stream": lambda c: managed(
        c.beta.chat.completions.stream(**CHAT, **USAGE, response_format=Answer)
    ),
    "with_options": lambda c: one(c.with_options(timeout=9).chat.completions.create(**CHAT)),
    "copy of a copy": lambda c: one(c.copy().copy().chat.completions.create(**CHAT)),
    "sentinels": lambda c: one(
        c.chat.completions.create(**CHAT, temperature=openai.omit, timeout=httpx.Timeout(9))
    ),
    "post": lambda c: one(c.post("/chat/completions", cast_to=object, body=CHAT)),
}
ANTHROPIC: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "create": lambda c: one(c.messages.create(**MESSAGE)),
    "create stream": lambda c: streamed(c.messages.create(**MESSAGE, stream=True)),
    "stream manager": lambda c: managed(c.messages.stream(**MESSAGE), last="get_final_message"),
    "text stream": lambda c: text_only(c.messages.stream(**MESSAGE)),
    "raw": lambda c: raw(c.messages.with_raw_response.create(**MESSAGE)),
    "raw stream": lambda c: raw(c.messages.with_raw_response.create(**MESSAGE, stream=True)),
    "streaming": lambda c: parsed_inside(c.messages.with_streaming_response.create(**MESSAGE)),
    "streaming lines": lambda c: lines(
        c.messages.with_streaming_response.create(**MESSAGE, stream=True)
    ),
    "parse": lambda c: one(c.messages.parse(**MESSAGE, output_format=Answer)),
    "beta": lambda c: one(c.beta.messages.create(**MESSAGE, betas=["x"])),
    "beta stream": lambda c: managed(c.beta.messages.stream(**MESSAGE)),
    "beta tool runner": tools,
    "with_options": lambda c: one(c.with_options(max_retries=0).messages.create(**MESSAGE)),
    "sentinels": lambda c: one(c.messages.create(**MESSAGE, tools=anthropic.omit)),
}


async def one(call: Any) -> Any:
    return plain(await value(call))


CLIENTS = {
    "openai": (openai.OpenAI, openai.AsyncOpenAI, "/v1"),
    "anthropic": (anthropic.Anthropic, anthropic.AsyncAnthropic, ""),
}
WAYS = [("openai", way) for way in OPENAI] + [("anthropic", way) for way in ANTHROPIC]


async def ask(provider: Any, tracer: Any, sdk: str, way: str, is_async: bool) -> tuple[Any, Any]:
    """What an unrecorded and a recorded client give the host."""
    sync_kind, async_kind, path = CLIENTS[sdk]
    kind: Any = async_kind if is_async else sync_kind
    client = kind(api_key="sk-never-to-be-stored", base_url=provider.url + path)
    recorded = tracer.wrap(client)
    asked = {"openai": OPENAI, "anthropic": ANTHROPIC}[sdk][way]
    try:
        return await asked(client), await asked(recorded)
    finally:
        await value(client.close())


@pytest.mark.filterwarnings("ignore:.*Pydantic serializer")
@pytest.mark.parametrize("compress", [False, True], ids=["", "gzip"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("sdk", "way"), WAYS)
def test_the_host_gets_the_same_and_the_trace_has_the_call(
    provider: Any, recording: Any, sdk: str, way: str, is_async: bool, compress: bool
) -> None:
    provider.compress = compress

    unrecorded, recorded = asyncio.run(ask(provider, recording.tracer, sdk, way, is_async))

    assert recorded == unrecorded
    (call,) = recording.calls()
    assert (call.head.seq, call.head.error, call.detail.metadata) == (1, None, {})
    assert call.request == provider.bodies[1] == provider.bodies[0]
    assert call.head.surface == {"openai": "openai.chat", "anthropic": "anthropic.messages"}[sdk]
    (answer,) = [place.block.text for place in call.outputs]
    text = json.dumps({"answer": "Paris"})
    if sdk == "openai":
        usage = {"prompt_tokens": 21, "completion_tokens": 5, "total_tokens": 26}
        assert (call.head.usage, call.head.finish_reason) == (usage, "stop")
        assert answer == text
    else:
        usage = {"input_tokens": 12, "output_tokens": 6, "cache_read_input_tokens": 900}
        assert (call.head.usage, call.head.finish_reason) == (usage, "end_turn")
        assert json.loads(answer) == {"text": text, "type": "text"}
    assert call.head.response_id in ("chatcmpl-1", "msg_1")
    assert call.detail.request_id == "req_1"
    assert b"sk-never-to-be-stored" not in recording.path.read_bytes()
