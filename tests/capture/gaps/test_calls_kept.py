"""Rows of section B: whatever a program gives the SDK, the call is recorded as it was sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import openai
import pydantic
import pytest

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*Pydantic serializer", "ignore:Inheritance class Aiohttp"
)
USER = {"role": "user", "content": "Which city?"}
PDF = b"%PDF-1.7 " + bytes(range(256)) * 40


class City(pydantic.BaseModel):
    answer: str


def drained(manager: Any) -> None:
    with manager as stream:
        for _ in stream:
            pass


def chat(client: Any, **more: Any) -> None:
    client.chat.completions.create(**{"model": "gpt-4o", "messages": [USER], **more})


OPENAI: dict[str, tuple[Callable[[Any], object], list[str]]] = {
    "not given": (lambda c: chat(c, temperature=openai.NOT_GIVEN, stop=openai.omit), ["user"]),
    "a form of the stream": (
        lambda c: drained(
            c.chat.completions.stream(model="gpt-4o", messages=[USER], response_format=City)
        ),
        ["user"],
    ),
    "a form of a streamed response": (
        lambda c: drained(c.responses.stream(model="gpt-4o", input=[USER], text_format=City)),
        ["user"],
    ),
    "a timeout of httpx": (lambda c: chat(c, timeout=httpx2.Timeout(20)), ["user"]),
    "a set in the query": (lambda c: chat(c, extra_query={"tag": {"a"}}), ["user"]),
    "messages from a generator": (
        lambda c: chat(c, messages=(message for message in [USER, USER])),
        ["user", "user"],
    ),
    "tools from a map": (
        lambda c: chat(
            c,
            tools=map(lambda n: {"type": "function", "function": {"name": n}}, ["look"]),  # noqa: C417
        ),
        ["system", "user"],
    ),
    "content as a tuple": (
        lambda c: chat(c, messages=[{**USER, "content": ({"type": "text", "text": "Which?"},)}]),
        ["user"],
    ),
    "content as a number": (lambda c: chat(c, messages=[{**USER, "content": 7}]), ["user"]),
    "no role": (lambda c: chat(c, messages=[{"role": None, "content": "Which?"}]), ["user"]),
    "a part without text": (
        lambda c: chat(c, messages=[{**USER, "content": [{"type": "text", "text": None}]}]),
        ["user"],
    ),
    "instructions as a list": (
        lambda c: c.responses.create(model="gpt-4o", input="Which?", instructions=[USER]),
        ["user", "user"],
    ),
}


@pytest.mark.parametrize("name", OPENAI)
def test_what_the_openai_sdk_sends_is_recorded(name: str, provider: Any, recording: Any) -> None:
    asked, roles = OPENAI[name]
    with openai.OpenAI(api_key="none", base_url=f"{provider.url}/v1") as client:
        asked(recording.tracer.wrap(client))
    (call,) = recording.calls()
    assert (call.head.error, call.request) == (None, provider.bodies[0])
    assert [place.block.role for place in call.inputs] == roles


def test_what_the_anthropic_sdk_sends_of_sentinels_is_recorded(
    provider: Any, recording: Any
) -> None:
    with anthropic.Anthropic(api_key="none", base_url=provider.url) as client:
        recording.tracer.wrap(client).messages.create(
            model="claude-of-tests",
            max_tokens=9,
            messages=[USER],
            stop_sequences=anthropic.omit,
            tools=anthropic.NOT_GIVEN,
            timeout=httpx2.Timeout(20),
        )
    (call,) = recording.calls()
    assert (call.head.params["max_tokens"], call.request) == (9, provider.bodies[0])


@contextmanager
def gemini(provider: Any, recording: Any) -> Iterator[Any]:
    genai = pytest.importorskip("google.genai")
    options = {"base_url": provider.url, "api_version": "v1"}
    with genai.Client(api_key="none", http_options=options) as client:
        yield recording.tracer.wrap(client)


def look_up(city: str) -> str:
    """Where it is.

    Args:
        city: its name.
    """
    return city


def gemini_forms() -> dict[str, Callable[[Any], tuple[dict[str, Any], list[tuple[str, str]]]]]:
    """By name: what is asked, and role and kind of each block that must be there."""
    said = ("user", "content_part")
    return {
        "a typed content": lambda t: (
            {"contents": t.Content(role="user", parts=[t.Part.from_text(text="Which?")])},
            [said],
        ),
        "a typed part": lambda t: ({"contents": t.Part.from_text(text="Which?")}, [said]),
        "a part among texts": lambda t: (
            {"contents": ["Which?", t.Part.from_bytes(data=PDF, mime_type="application/pdf")]},
            [said, said],
        ),
        "a file": lambda t: (
            {"contents": [t.File(uri="https://example.com/f", mime_type="text/plain"), "Which?"]},
            [said, said],
        ),
        "a lone dict": lambda t: ({"contents": {"text": "Which?"}}, [said]),
        "dicts of texts": lambda t: (
            {"contents": [{"text": "Which?"}, {"text": "Now"}]},
            [said] * 2,
        ),
        "a typed part in a dict": lambda t: (
            {"contents": [{"role": "user", "parts": [t.Part.from_text(text="Which?")]}]},
            [said],
        ),
        "a typed tool and a function": lambda t: (
            {
                "contents": "Which?",
                "config": t.GenerateContentConfig(
                    tools=[t.Tool(google_search=t.GoogleSearch()), look_up],
                    automatic_function_calling={"disable": True},
                ),
            },
            [("system", "tool_schema"), ("system", "tool_schema"), said],
        ),
        "a typed instruction": lambda t: (
            {
                "contents": "Which?",
                "config": {"system_instruction": t.Part.from_text(text="Be brief.")},
            },
            [("system", "message"), said],
        ),
    }


@pytest.mark.parametrize("name", gemini_forms())
def test_every_form_of_contents_that_gemini_takes_is_recorded(
    name: str, provider: Any, recording: Any
) -> None:
    types = pytest.importorskip("google.genai.types")
    asked, blocks = gemini_forms()[name](types)
    with gemini(provider, recording) as client:
        client.models.generate_content(model="gemini-2.5-flash", **asked)
    (call,) = recording.calls()
    assert call.request == provider.bodies[0]
    assert [(place.block.role, place.block.kind) for place in call.inputs] == blocks
    assert all(place.block.token_count < 400 for place in call.inputs)


def test_an_answer_of_gemini_that_is_sent_back_is_there(provider: Any, recording: Any) -> None:
    contents: list[Any] = ["Which city?"]
    with gemini(provider, recording) as client:
        for question in ("And then?", "And now?"):
            answer = client.models.generate_content(model="gemini-2.5-flash", contents=contents)
            contents += [answer.candidates[0].content, question]
    first, second = recording.calls()
    assert [place.block.role for place in second.inputs] == ["user", "assistant", "user"]
    assert second.inputs[1].block == first.outputs[0].block


def test_raw_bytes_for_bedrock_are_recorded_and_no_prose(provider: Any, recording: Any) -> None:
    boto3 = pytest.importorskip("boto3")
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=provider.url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
    )
    result = [{"image": {"format": "png", "source": {"bytes": PDF}}}]
    content = [
        {"document": {"format": "pdf", "name": "d", "source": {"bytes": PDF}}},
        {"video": {"format": "mp4", "source": {"bytes": PDF}}},
        {"toolResult": {"toolUseId": "t1", "content": result}},
    ]
    recording.tracer.wrap(client).converse(
        modelId="amazon.nova-lite-v1:0", messages=[{"role": "user", "content": content}]
    )
    client.close()
    (call,) = recording.calls()
    assert call.request == provider.bodies[0]
    assert [place.label for place in call.inputs] == ["user", "user", "tool_output"]
    assert all(place.block.token_method == "estimate" for place in call.inputs)
    texts = [place.block.text for place in call.inputs]
    assert max(map(len, texts)) < 300
    assert all("base64 10249 bytes" in text for text in texts), json.dumps(texts)
