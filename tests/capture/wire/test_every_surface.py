"""Each surface by the real SDK, in each way that it offers: whole calls are recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anthropic
import httpx2
import openai
import pytest

TEXT = json.dumps({"answer": "Paris"})
SECRET = "never-to-be-stored"
ASK = "Capital of France?"

# Each way is written once for both kinds of client.


async def value(thing: Any) -> Any:
    return await thing if hasattr(thing, "__await__") else thing


async def items(thing: Any) -> list[Any]:
    thing = await value(thing)
    if hasattr(thing, "__aiter__"):
        return [item async for item in thing]
    return list(thing)


async def managed(manager: Any) -> list[Any]:
    if hasattr(manager, "__aenter__"):
        async with manager as stream:
            return await items(stream)
    with manager as stream:
        return await items(stream)


async def raw(call: Any) -> Any:
    response = await value(call)
    return await value(response.parse())


async def raw_lines(manager: Any) -> list[Any]:
    if hasattr(manager, "__aenter__"):
        async with manager as response:
            return await items(response.iter_lines())
    with manager as response:
        return await items(response.iter_lines())


RESPONSE = {"model": "gpt-4o", "input": ASK}
MESSAGE = {"max_tokens": 9, "messages": [{"role": "user", "content": ASK}]}
CLAUDE = {**MESSAGE, "model": "claude-of-tests"}
BEDROCK_CLAUDE = {**MESSAGE, "model": "anthropic.claude-3-5-sonnet-20241022-v2:0"}
GEMINI = {"model": "gemini-2.5-flash", "contents": ASK}
CONVERSE = {
    "modelId": "amazon.nova-lite-v1:0",
    "messages": [{"role": "user", "content": [{"text": ASK}]}],
}
INVOKE = {
    "modelId": "anthropic.claude-3-5-sonnet-20241022-v2:0",
    "body": json.dumps({**MESSAGE, "anthropic_version": "bedrock-2023-05-31"}),
}


async def event_stream(call: Any, member: str) -> list[Any]:
    return await items((await value(call))[member])


async def body_of(call: Any) -> bytes:
    read = await value((await value(call))["body"].read())
    assert isinstance(read, bytes)
    return read


def chats(client: Any) -> Any:
    return client.chats.create(model="gemini-2.5-flash")


Way = Callable[[Any], Awaitable[Any]]
RESPONSES: dict[str, Way] = {
    "create": lambda c: value(c.responses.create(**RESPONSE)),
    "create stream": lambda c: items(c.responses.create(**RESPONSE, stream=True)),
    "stream manager": lambda c: managed(c.responses.stream(**RESPONSE)),
    "raw": lambda c: raw(c.responses.with_raw_response.create(**RESPONSE)),
    "streaming raw": lambda c: raw_lines(
        c.responses.with_streaming_response.create(**RESPONSE, stream=True)
    ),
    "parse": lambda c: value(c.responses.parse(**RESPONSE)),
}


def messages(ask: dict[str, Any]) -> dict[str, Way]:
    return {
        "create": lambda c: value(c.messages.create(**ask)),
        "create stream": lambda c: items(c.messages.create(**ask, stream=True)),
        "stream manager": lambda c: managed(c.messages.stream(**ask)),
        "raw": lambda c: raw(c.messages.with_raw_response.create(**ask)),
        "streaming raw": lambda c: raw_lines(
            c.messages.with_streaming_response.create(**ask, stream=True)
        ),
    }


GENERATE: dict[str, Way] = {
    "generate": lambda c: value(c.models.generate_content(**GEMINI)),
    "generate stream": lambda c: items(c.models.generate_content_stream(**GEMINI)),
    "chat": lambda c: value(chats(c).send_message(ASK)),
    "chat stream": lambda c: items(chats(c).send_message_stream(ASK)),
}
CONVERSING: dict[str, Way] = {
    "converse": lambda c: value(c.converse(**CONVERSE)),
    "converse stream": lambda c: event_stream(c.converse_stream(**CONVERSE), "stream"),
}
INVOKING: dict[str, Way] = {
    "invoke": lambda c: body_of(c.invoke_model(**INVOKE)),
    "invoke stream": lambda c: event_stream(c.invoke_model_with_response_stream(**INVOKE), "body"),
}


@dataclass(frozen=True)
class Expected:
    """What the recorded call says of itself."""

    surface: str
    provider: str
    usage: dict[str, Any]
    finish: str
    response_id: str | None
    answer: Any
    """The output block's text; JSON is read."""


CLAUDE_ANSWER = Expected(
    "anthropic.messages",
    "anthropic",
    {"input_tokens": 12, "output_tokens": 6, "cache_read_input_tokens": 900},
    "end_turn",
    "msg_1",
    {"text": TEXT, "type": "text"},
)
INVOKED = replace(CLAUDE_ANSWER, surface="bedrock.invoke_model", provider="bedrock")
RESPONDED = Expected(
    "openai.responses",
    "openai-compatible",
    {
        "input_tokens": 30,
        "input_tokens_details": {"cached_tokens": 10},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 37,
    },
    "completed",
    "resp_1",
    {"answer": "Paris"},
)
GENERATED = Expected(
    "gemini.generate_content",
    "gemini",
    {"prompt_token_count": 11, "candidates_token_count": 4, "total_token_count": 15},
    "STOP",
    "g_1",
    {"answer": "Paris"},
)
CONVERSED = Expected(
    "bedrock.converse",
    "bedrock",
    {"inputTokens": 14, "outputTokens": 5, "totalTokens": 29, "cacheReadInputTokens": 10},
    "end_turn",
    None,
    {"answer": "Paris"},
)


# How each kind of client is made: a context manager, so that it is closed as its SDK wants.


@asynccontextmanager
async def openai_client(url: str, is_async: bool) -> AsyncIterator[Any]:
    kind: Any = openai.AsyncOpenAI if is_async else openai.OpenAI
    client = kind(api_key=f"sk-{SECRET}", base_url=f"{url}/v1")
    yield client
    await value(client.close())


def anthropic_client(name: str, **options: Any) -> Any:
    @asynccontextmanager
    async def opened(url: str, is_async: bool) -> AsyncIterator[Any]:
        kind: Any = getattr(anthropic, f"Async{name}" if is_async else name)
        client = kind(base_url=url, **options)
        yield client
        await value(client.close())

    return opened


def genai_client(*, http: dict[str, Any] | None = None, **options: Any) -> Any:
    @asynccontextmanager
    async def opened(url: str, is_async: bool) -> AsyncIterator[Any]:
        genai = pytest.importorskip("google.genai")
        http_options = {"base_url": url, "api_version": "v1", **(http or {})}
        client = genai.Client(api_key=f"AIza-{SECRET}", http_options=http_options, **options)
        yield client
        await client.aio.aclose()
        client.close()

    return opened


@asynccontextmanager
async def bedrock_client(url: str, is_async: bool) -> AsyncIterator[Any]:
    options = {
        "region_name": "us-east-1",
        "endpoint_url": url,
        "aws_access_key_id": f"AKIA{SECRET}",
        "aws_secret_access_key": SECRET,
        "aws_session_token": f"token-{SECRET}",
    }
    if is_async:
        aiobotocore = pytest.importorskip("aiobotocore.session")
        async with aiobotocore.get_session().create_client("bedrock-runtime", **options) as client:
            yield client
        return
    boto3 = pytest.importorskip("boto3")
    client = boto3.client("bedrock-runtime", **options)
    yield client
    client.close()


AWS = {"aws_region": "us-east-1", "aws_access_key": f"AKIA{SECRET}", "aws_secret_key": SECRET}
SURFACES: dict[str, tuple[Any, dict[str, Way], Expected]] = {
    "responses": (openai_client, RESPONSES, RESPONDED),
    "anthropic on bedrock": (
        anthropic_client("AnthropicBedrock", **AWS),
        messages(BEDROCK_CLAUDE),
        INVOKED,
    ),
    "anthropic on vertex": (
        anthropic_client(
            "AnthropicVertex", region="global", project_id="p", access_token=f"ya29.{SECRET}"
        ),
        messages(CLAUDE),
        CLAUDE_ANSWER,
    ),
    "anthropic on foundry": (
        anthropic_client("AnthropicFoundry", api_key=f"key-{SECRET}"),
        messages(CLAUDE),
        CLAUDE_ANSWER,
    ),
    "gemini": (genai_client(), GENERATE, GENERATED),
    # Without a transport of its own, the asynchronous client sends by aiohttp.
    "gemini by httpx": (
        genai_client(http={"async_client_args": {"transport": httpx2.AsyncHTTPTransport()}}),
        GENERATE,
        GENERATED,
    ),
    "gemini on vertex": (genai_client(vertexai=True), GENERATE, GENERATED),
    "converse": (bedrock_client, CONVERSING, CONVERSED),
    "invoke model": (bedrock_client, INVOKING, INVOKED),
}
ROWS = [(surface, way) for surface, (_, ways, _) in SURFACES.items() for way in ways]


@pytest.mark.filterwarnings("ignore:.*Pydantic serializer", "ignore:Inheritance class Aiohttp")
@pytest.mark.parametrize("how", ["wrapped", "process"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("surface", "way"), ROWS)
def test_the_whole_call_is_recorded(
    provider: Any, recording: Any, surface: str, way: str, is_async: bool, how: str
) -> None:
    opened, ways, expected = SURFACES[surface]

    async def ask() -> None:
        async with opened(provider.url, is_async) as client:

            def of(client: Any) -> Any:
                return client.aio if is_async and ways is GENERATE else client

            if how == "wrapped":
                await ways[way](of(client))  # the client itself stays unrecorded
                await ways[way](of(recording.tracer.wrap(client, agent="a")))
            else:
                recording.tracer.record_process(agent="a")
                await ways[way](of(client))

    asyncio.run(ask())

    (call,) = recording.calls()
    head = call.head
    assert (head.seq, head.agent, head.surface, head.provider) == (
        1,
        "a",
        expected.surface,
        expected.provider,
    )
    assert (head.error, head.attempts, call.detail.metadata) == (None, 1, {})
    assert (head.usage, head.finish_reason) == (expected.usage, expected.finish)
    assert head.response_id == expected.response_id
    (answer,) = [json.loads(place.block.text) for place in call.outputs]
    assert answer == expected.answer
    assert call.request == provider.bodies[-1]
    assert [place.block.role for place in call.inputs] == ["user"]
    assert ASK in call.inputs[0].block.text
    assert SECRET.encode() not in recording.path.read_bytes()
    if how == "wrapped":
        assert recording.session_provider() == expected.provider
