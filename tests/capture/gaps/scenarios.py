"""What the steps of a case do, by the kind of step, against the real SDKs on loopback.

A scenario runs twice: once by unrecorded clients, once by recorded ones. What the host got and
what it sent can then be compared, and the trace be asked.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from ctxdiff_capture import Tracer

from tests.capture.wire.conftest import (
    CHAT,
    CONVERSE,
    GEMINI,
    MESSAGE,
    Provider,
    Recording,
    Reply,
    Seen,
    chat_events,
    failure,
)

ASK: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Which city?"}]}
CLAUDE: dict[str, Any] = {**ASK, "model": "claude-of-tests", "max_tokens": 64}


@dataclass
class Host:
    """A program that calls models; `tracer` is None when it is not recorded."""

    provider: Provider
    tracer: Tracer | None
    got: list[Any] = field(default_factory=list)
    """What the SDK gave it, in order."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What a step has measured."""
    clients: list[Any] = field(default_factory=list)
    """To be closed at the end."""

    def wrapped(self, client: Any) -> Any:
        self.clients.append(client)
        return client if self.tracer is None else self.tracer.wrap(client)

    def openai(self) -> Any:
        return self.wrapped(openai.OpenAI(api_key="none", base_url=f"{self.provider.url}/v1"))

    def async_openai(self) -> Any:
        client = openai.AsyncOpenAI(api_key="none", base_url=f"{self.provider.url}/v1")
        return client if self.tracer is None else self.tracer.wrap(client)

    def anthropic(self) -> Any:
        client = anthropic.Anthropic(api_key="none", base_url=self.provider.url, max_retries=0)
        return self.wrapped(client)

    def genai(self) -> Any:
        genai = pytest.importorskip("google.genai")
        options = {"base_url": self.provider.url, "api_version": "v1"}
        return self.wrapped(genai.Client(api_key="none", http_options=options))

    def bedrock(self) -> Any:
        boto3 = pytest.importorskip("boto3")
        client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=self.provider.url,
            aws_access_key_id="none",
            aws_secret_access_key="none",
        )
        return self.wrapped(client)

    def answers(self, body: dict[str, Any]) -> None:
        """The next request is answered with this."""
        self.provider.replies.append(Reply(json.dumps(body).encode()))


@dataclass(frozen=True)
class Run:
    """A scenario that ran twice."""

    plain: Host
    recorded: Host
    calls: list[Seen]
    path: Path
    plain_bodies: list[bytes]
    recorded_bodies: list[bytes]


Step = Callable[[Host, str], None]


def run(steps: list[str], sdk: str, provider: Provider, recording: Recording) -> Run:
    """Run the steps unrecorded, then recorded.

    Skips the test when a step is of no known kind.
    """
    works = [(step, kind_of(step, sdk)) for step in steps]
    hosts = []
    bodies = []
    for tracer in (None, recording.tracer):
        host = Host(provider, tracer)
        start = len(provider.bodies)
        for step, work in works:
            work(host, step)
        for client in host.clients:
            client.close()
        hosts.append(host)
        bodies.append(provider.bodies[start:])
    return Run(*hosts, recording.calls(), recording.path, *bodies)


def kind_of(step: str, sdk: str) -> Step:
    """The first kind whose pattern the step, after its SDK, matches."""
    found = next((work for pattern, work in KINDS if re.search(pattern, f"{sdk}: {step}")), None)
    if found is None:
        pytest.skip(f"no way to run a step of this kind: {sdk}: {step}")
    return found


def literal_keywords(step: str) -> dict[str, Any]:
    """The keywords with literal values of the calls in a step that is Python."""
    try:
        tree = ast.parse(step)
    except SyntaxError:
        return {}
    keywords = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg:
            try:
                keywords[node.arg] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return {key: value for key, value in keywords.items() if value is not ...}


# OpenAI


def create(host: Host, step: str) -> None:
    host.got.append(host.openai().chat.completions.create(**ASK, **literal_keywords(step)))


def raw_response(host: Host, _: str) -> None:
    response = host.openai().chat.completions.with_raw_response.create(**ASK)
    host.got += [response, response.parse(), response.headers["x-request-id"]]


def streaming_response(host: Host, _: str) -> None:
    with host.openai().chat.completions.with_streaming_response.create(**ASK) as response:
        host.got += [response, response.parse()]


def stream(host: Host, _: str) -> None:
    # A provider that was not asked for usage sends none.
    events = tuple(event for event in chat_events() if b'"usage": {' not in event)
    host.provider.replies.append(Reply(events=events))
    given = host.openai().chat.completions.create(**ASK, stream=True)
    host.got += [given, *given]


def abandoned_stream(host: Host, _: str) -> None:
    given = host.openai().chat.completions.create(**ASK, stream=True)
    for chunk in given:
        host.got += [given, chunk]
        break
    given.close()


def stream_manager(host: Host, _: str) -> None:
    with host.openai().chat.completions.stream(**ASK) as given:
        host.got += [*given, given.get_final_completion()]


def async_stream_manager(host: Host, _: str) -> None:
    async def ask() -> None:
        client = host.async_openai()
        async with client.chat.completions.stream(**ASK) as given:
            host.got += [event async for event in given]
            host.got.append(await given.get_final_completion())
        await client.close()

    asyncio.run(ask())


def changed_afterwards(host: Host, _: str) -> None:
    messages = [{"role": "user", "content": "one"}]
    host.got.append(host.openai().chat.completions.create(model="gpt-4o", messages=messages))
    messages[0]["content"] = "MUTATED"
    messages.append({"role": "user", "content": "MUTATED too"})


def message_loop(host: Host, _: str) -> None:
    client = host.openai()
    messages: list[Any] = list(ASK["messages"])
    for question in ("And then?", "And now?"):
        answer = client.chat.completions.create(model="gpt-4o", messages=messages)
        messages += [answer.choices[0].message, {"role": "user", "content": question}]
        host.got.append(answer)
    host.got.append(client.chat.completions.create(model="gpt-4o", messages=messages))


def output_loop(host: Host, _: str) -> None:
    client = host.openai()
    items: list[Any] = [{"role": "user", "content": "Which city?"}]
    for question in ("And then?", "And now?"):
        answer = client.responses.create(model="gpt-4o", input=items)
        items += [*answer.output, {"role": "user", "content": question}]
        host.got.append(answer)
    host.got.append(client.responses.create(model="gpt-4o", input=items))


def with_options(host: Host, _: str) -> None:
    client = host.openai().with_options(timeout=20)
    host.got += [client, client.chat.completions.create(**ASK)]


def parsed(host: Host, _: str) -> None:
    pydantic = pytest.importorskip("pydantic")
    form = pydantic.create_model("City", answer=(str, ...))
    host.got.append(host.openai().chat.completions.parse(**ASK, response_format=form).id)


def labels_in_threads(host: Host, _: str) -> None:
    client = host.openai()

    def call(name: str) -> Any:
        messages = [{"role": "user", "content": f"retrieved words, {name}"}]
        return client.chat.completions.create(model="gpt-4o", messages=messages)

    if host.tracer is not None:
        host.tracer.mark("outer")
        host.tracer.tag("rag", ["retrieved words"])
    with ThreadPoolExecutor(1) as pool:
        host.got.append(pool.submit(call, "pool").result(20))
    thread = threading.Thread(target=lambda: host.got.append(call("thread")))
    thread.start()
    thread.join(20)
    host.got.append(call("main"))


def two_calls(host: Host, _: str) -> None:
    client = host.openai()
    host.got += [client.chat.completions.create(**ASK) for _ in range(2)]


def large(host: Host, step: str) -> None:
    """A call with as much as the step says; notes what the recorder did on the calling thread."""
    messages, tools = sized(step)
    body = {"model": "gpt-4o", "messages": messages, **({"tools": tools} if tools else {})}

    async def ask() -> None:
        client = host.async_openai()
        small = [{"role": "user", "content": "x"}]
        await client.chat.completions.create(model="gpt-4o", messages=small)
        with own_steps() as steps:
            host.got.append(await client.chat.completions.create(**body))
        host.notes.setdefault("steps", []).append(steps())
        await client.close()

    asyncio.run(ask())


def sized(step: str) -> tuple[list[Any], list[Any]]:
    """Messages and tools of the size that the step names: `400 messages x 5 kB + 60 tools`."""
    units = {"kb": 1_000, "mb": 1_000_000}
    messages: list[Any] = []
    for count, size, unit in re.findall(r"(\d+) messages x (\d+) (kB|MB)", step):
        text = "word " * (int(size) * units[unit.lower()] // 5)
        messages += [{"role": "user", "content": f"{i} {text}"} for i in range(int(count))]
    for count, size, unit in re.findall(r"(\d+) images of (\d+) (kB|MB)", step):
        url = "data:image/png;base64," + "A" * (int(size) * units[unit.lower()])
        parts = [{"type": "image_url", "image_url": {"url": url}} for _ in range(int(count))]
        messages.append({"role": "user", "content": parts})
    (tools,) = re.findall(r"(\d+) tools", step) or [0]
    names = [f"tool_{i}" for i in range(int(tools))]
    return messages, [{"type": "function", "function": {"name": name}} for name in names]


class own_steps:  # noqa: N801 - used as a context manager
    """Counts calls of functions of ours on this thread, which no load of the machine changes."""

    def __enter__(self) -> Callable[[], int]:
        self._count = 0
        sys.setprofile(self._note)
        return lambda: self._count

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: Any, event: str, _: object) -> None:
        if event == "call" and "ctxdiff_capture" in frame.f_code.co_filename:
            self._count += 1


# LangChain


def wrapped_and_handled(host: Host, _: str) -> None:
    langchain_openai = pytest.importorskip("langchain_openai", reason="LangChain is optional")
    client = host.openai()
    chat = langchain_openai.ChatOpenAI(
        model="gpt-4o", api_key="none", base_url=f"{host.provider.url}/v1"
    )
    chat.client = client.chat.completions
    chat.root_client = client
    config = {"callbacks": [host.tracer.langchain_handler("graph")]} if host.tracer else {}
    host.got.append(type(chat.invoke("Which city?", config=config)))


# The others


def typed_contents(host: Host, _: str) -> None:
    types = pytest.importorskip("google.genai.types")
    place = types.FunctionDeclaration(
        name="place", description="Where it is.", parameters_json_schema={"type": "object"}
    )
    client = host.genai()
    answer = client.models.generate_content(
        model="gemini-2.5-flash",
        contents=[types.Content(role="user", parts=[types.Part.from_text(text="Which city?")])],
        config=types.GenerateContentConfig(
            system_instruction=types.Content(parts=[types.Part.from_text(text="Be brief.")]),
            tools=[types.Tool(function_declarations=[place])],
        ),
    )
    host.got.append(answer)


def content_loop(host: Host, _: str) -> None:
    client = host.anthropic()
    messages: list[Any] = list(CLAUDE["messages"])
    for question in ("And then?", "And now?"):
        answer = client.messages.create(**{**CLAUDE, "messages": messages})
        messages += [
            {"role": "assistant", "content": answer.content},
            {"role": "user", "content": question},
        ]
        host.got.append(answer)


def refused(host: Host, step: str) -> None:
    found = re.search(r"fails with (\d{3}) '(.+)'", step)
    assert found, step
    host.provider.replies.append(failure(int(found[1]), found[2]))
    with pytest.raises(anthropic.APIStatusError) as raised:
        host.anthropic().messages.create(**CLAUDE)
    host.got.append(type(raised.value))


def cached_everywhere(host: Host, _: str) -> None:
    """One call to each provider, each of which read from its cache."""
    details = {"cached_tokens": 1024}
    host.answers({**CHAT, "usage": {**CHAT["usage"], "prompt_tokens_details": details}})
    host.got.append(host.openai().chat.completions.create(**ASK))
    host.answers({**MESSAGE, "usage": {**MESSAGE["usage"], "cache_read_input_tokens": 900}})
    host.got.append(host.anthropic().messages.create(**CLAUDE))
    counted = {**GEMINI["usageMetadata"], "cachedContentTokenCount": 800}
    host.answers({**GEMINI, "usageMetadata": counted})
    gemini = host.genai()
    host.got.append(
        gemini.models.generate_content(model="gemini-2.5-flash", contents="Which city?")
    )
    host.answers({**CONVERSE, "usage": {**CONVERSE["usage"], "cacheReadInputTokens": 700}})
    message = {"role": "user", "content": [{"text": "Which city?"}]}
    asked = host.bedrock().converse(modelId="amazon.nova-lite-v1:0", messages=[message])
    host.got.append(asked["usage"])


KINDS: list[tuple[str, Step]] = [
    (r"^langchain.*ChatOpenAI .*handler", wrapped_and_handled),
    (r"^google-genai: generate_content\(.*types\.", typed_contents),
    (r"^openai.*one call each.*cached", cached_everywhere),
    (r"^anthropic: a call that fails with \d{3} '", refused),
    (r"^anthropic: .*content.*(resp|message|answer)\w*\.content", content_loop),
    (r"^openai.*with_raw_response\.create", raw_response),
    (r"^openai.*with_streaming_response\.create", streaming_response),
    (r"^openai.*async with .*completions\.stream\(", async_stream_manager),
    (r"^openai.*with .*completions\.stream\(", stream_manager),
    (r"^openai.*stream=True.*break", abandoned_stream),
    (r"^openai.*stream=True", stream),
    (r"^openai.*(append|\+=).*choices\[0\]\.message", message_loop),
    (r"^openai.*input \+= .*\.output", output_loop),
    (r"^openai.*with_options\(", with_options),
    (r"^openai.*completions\.parse\(", parsed),
    (r"^openai.*ThreadPoolExecutor", labels_in_threads),
    (r"^openai.*\d+ (messages x|images of) \d+", large),
    (r"^openai.*MUTATED", changed_afterwards),
    (r"^openai: (chat\.completions\.)?create\(", create),
    (r"^any: two calls", two_calls),
]
"""Patterns of `SDK: step`; the first that fits counts."""


def values_of(host: Host) -> Iterator[type]:
    """Types of what the host got."""
    return (type(value) for value in host.got)
