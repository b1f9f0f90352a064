"""Planted credentials, by the real SDKs, in every place where one is sent: none is stored.

All bytes of the trace and of what lies beside it are searched, and every packed value unpacked, for
each credential in plain, percent, JSON and base64 spelling.
"""

from __future__ import annotations

import asyncio
import json
import random
import string
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.capture.wire.spellings import spellings

ALNUM = string.ascii_letters + string.digits


@dataclass
class Planted:
    """Credentials drawn for one test."""

    chance: random.Random
    values: list[str] = field(default_factory=list)

    def __call__(self, start: str = "", size: int = 32, extra: str = "") -> str:
        body = "".join(self.chance.choices(ALNUM + extra, k=size))
        # A digit and a letter at each end, so that every one is what keys look like.
        self.values.append(f"{start}a1{body}9Z")
        return self.values[-1]


def leaked(stored: bytes, values: list[str]) -> list[tuple[str, bytes]]:
    return [(value, one) for value in values for one in spellings(value) if one in stored]


async def value(thing: Any) -> Any:
    return await thing if hasattr(thing, "__await__") else thing


async def items(thing: Any) -> Any:
    thing = await value(thing)
    return [item async for item in thing] if hasattr(thing, "__aiter__") else list(thing)


def headers_with(plant: Planted) -> dict[str, str]:
    return {
        "X-Custom-Auth": plant(),
        "Cookie": f"session={plant()}; other={plant()}",
        "X-Api-Token": plant(extra="+/"),
        "Helicone-Auth": f"Bearer {plant()}",
    }


def body_with(plant: Planted) -> dict[str, Any]:
    server = {
        "type": "url",
        "name": "m",
        "url": f"https://me:{plant()}@mcp.test/sse?api_key={plant()}",
        "authorization_token": plant(extra='"+/\\'),
    }
    return {
        "mcp_servers": [server],
        "api_key": plant(),
        "nested": {"headers": {"X-Auth": plant()}, "aws_session_token": plant("IQoJ", 200, "+/")},
    }


SIGNS_ONLY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
"""Never leaves the process."""
ASK = [{"role": "user", "content": "Capital of France?"}]
Stored = Callable[[Path], bytes]
Opened = Callable[[Any, str, bool], Any]
Way = Callable[[Any, dict[str, Any]], Awaitable[Any]]


@asynccontextmanager
async def openai_client(plant: Planted, url: str, is_async: bool) -> AsyncIterator[Any]:
    kind: Any = openai.AsyncOpenAI if is_async else openai.OpenAI
    client = kind(
        api_key=plant("sk-proj-"),
        base_url=f"{url}/v1",
        default_headers=headers_with(plant),
        default_query={"sig": plant(extra="+/="), "key": plant()},
        max_retries=0,
    )
    yield client
    await value(client.close())


@asynccontextmanager
async def anthropic_client(plant: Planted, url: str, is_async: bool) -> AsyncIterator[Any]:
    kind: Any = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
    client = kind(
        api_key=plant("sk-ant-api03-"),
        base_url=url,
        default_headers=headers_with(plant),
        default_query={"code": plant()},
        max_retries=0,
    )
    yield client
    await value(client.close())


@asynccontextmanager
async def genai_client(plant: Planted, url: str, is_async: bool) -> AsyncIterator[Any]:
    genai = pytest.importorskip("google.genai")
    options: dict[str, Any] = {
        "base_url": url,
        "headers": headers_with(plant),
        "extra_body": body_with(plant),
    }
    if is_async:
        options["async_client_args"] = {"transport": httpx2.AsyncHTTPTransport()}
    client = genai.Client(api_key=plant("AIza", 35), http_options=options)
    yield client
    await client.aio.aclose()
    client.close()


@asynccontextmanager
async def bedrock_client(plant: Planted, url: str, is_async: bool) -> AsyncIterator[Any]:
    config = pytest.importorskip("botocore.config").Config(retries={"total_max_attempts": 1})
    options: dict[str, Any] = {
        "region_name": "us-east-1",
        "endpoint_url": url,
        "aws_access_key_id": plant("AKIA", 16),
        "aws_secret_access_key": SIGNS_ONLY,
        "aws_session_token": plant("IQoJb3JpZ2lu", 300, "+/="),
    }
    if is_async:
        aiobotocore = pytest.importorskip("aiobotocore.session")
        options["config"] = pytest.importorskip("aiobotocore.config").AioConfig(
            retries={"total_max_attempts": 1}
        )
        async with aiobotocore.get_session().create_client("bedrock-runtime", **options) as client:
            yield client
        return
    client = pytest.importorskip("boto3").client("bedrock-runtime", config=config, **options)
    yield client
    client.close()


def chat(client: Any, more: dict[str, Any]) -> Any:
    return value(client.chat.completions.create(model="m", messages=ASK, extra_body=more))


def chat_stream(client: Any, more: dict[str, Any]) -> Any:
    return items(
        client.chat.completions.create(model="m", messages=ASK, extra_body=more, stream=True)
    )


def with_connector(more: dict[str, Any]) -> dict[str, Any]:
    server = more["mcp_servers"][0]
    tool = {
        "type": "mcp",
        "server_label": "m",
        "server_url": server["url"],
        "authorization": server["authorization_token"],
        "headers": {"X-Whatever-Key": more["api_key"]},
    }
    return {"model": "m", "input": ASK, "tools": [tool], "extra_body": more}


def respond(client: Any, more: dict[str, Any]) -> Any:
    return value(client.responses.create(**with_connector(more)))


def respond_stream(client: Any, more: dict[str, Any]) -> Any:
    return items(client.responses.create(**with_connector(more), stream=True))


CLAUDE = {"model": "claude", "max_tokens": 9, "messages": ASK}


def message(client: Any, more: dict[str, Any]) -> Any:
    return value(client.messages.create(**CLAUDE, extra_body=more))


def message_stream(client: Any, more: dict[str, Any]) -> Any:
    return items(client.messages.create(**CLAUDE, extra_body=more, stream=True))


def beta(client: Any, more: dict[str, Any]) -> Any:
    servers = more["mcp_servers"]
    return value(client.beta.messages.create(**CLAUDE, mcp_servers=servers, betas=["mcp-client"]))


def generate(client: Any, _: dict[str, Any]) -> Any:
    return value(client.models.generate_content(model="gemini-2.5-flash", contents="hi"))


def generate_stream(client: Any, _: dict[str, Any]) -> Any:
    return items(client.models.generate_content_stream(model="gemini-2.5-flash", contents="hi"))


CONVERSE = {
    "modelId": "amazon.nova-lite-v1:0",
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
}


def converse(client: Any, more: dict[str, Any]) -> Any:
    return value(client.converse(**CONVERSE, additionalModelRequestFields=more))


async def converse_stream(client: Any, more: dict[str, Any]) -> Any:
    asked = await value(client.converse_stream(**CONVERSE, additionalModelRequestFields=more))
    return await items(asked["stream"])


async def invoke(client: Any, more: dict[str, Any]) -> Any:
    body = json.dumps({"messages": ASK, "max_tokens": 9, **more})
    asked = await value(client.invoke_model(modelId="anthropic.claude-3-5-sonnet", body=body))
    return await value(asked["body"].read())


SURFACES: dict[str, tuple[Opened, tuple[Way, ...]]] = {
    "openai": (openai_client, (chat, chat_stream, respond, respond_stream)),
    "anthropic": (anthropic_client, (message, message_stream, beta)),
    "gemini": (genai_client, (generate, generate_stream)),
    "bedrock": (bedrock_client, (converse, converse_stream, invoke)),
}


def echo_of(values: list[str]) -> bytes:
    """What a careless server says of a request that it refuses."""
    quoted = " ".join(one.decode() for v in values for one in sorted(spellings(v)) if one)
    error = {"type": "authentication_error", "code": 401, "message": f"refused: {quoted}"}
    return json.dumps({"error": error, "message": f"refused: {quoted}", "raw": quoted}).encode()


@pytest.mark.filterwarnings("ignore:.*Pydantic serializer", "ignore:Inheritance class Aiohttp")
@pytest.mark.parametrize("how", ["wrapped", "process"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("outcome", ["answers", "refuses", "breaks off"])
@pytest.mark.parametrize("surface", SURFACES)
def test_no_credential_of_a_request_is_stored(
    provider: Any,
    recording: Any,
    reply: Any,
    everything_stored: Stored,
    surface: str,
    outcome: str,
    is_async: bool,
    how: str,
) -> None:
    opened, ways = SURFACES[surface]
    plant = Planted(random.Random(f"{surface} {outcome} {is_async} {how}"))

    async def ask() -> None:
        async with opened(plant, provider.url, is_async) as client:
            more = body_with(plant)
            if how == "process":
                recording.tracer.record_process(agent="a")
                used = client
            else:
                used = recording.tracer.wrap(client, agent="a")
            used = used.aio if is_async and surface == "gemini" else used
            for way in ways:
                if outcome != "answers":
                    # What a server sees of a request: its headers and address.
                    seen = [v for v in plant.values if v not in json.dumps(more)]
                    is_cut = outcome == "breaks off"
                    provider.replies.append(reply(echo_of(seen), 401, cut=is_cut))
                with suppress(Exception) if outcome != "answers" else nullcontext():
                    await way(used, more)

    asyncio.run(ask())

    calls = recording.calls()
    assert len(calls) == len(ways)
    assert [call.head.error is not None for call in calls] == [outcome != "answers"] * len(ways)
    assert len(plant.values) >= 8
    stored = everything_stored(recording.path)
    assert leaked(stored, [*plant.values, SIGNS_ONLY]) == []
    # The search finds what is there.
    assert (b"Capital of France?" in stored) or (b"hi" in stored)
