"""A wrapped client behaves as the client does, apart from being recorded."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
MESSAGE = {**CHAT, "model": "claude-of-tests", "max_tokens": 9}


def openai_client(provider: Any, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="k", base_url=provider.url + "/v1", **options)


@pytest.mark.parametrize(
    "client",
    [
        openai.OpenAI(api_key="k", max_retries=7, timeout=3),
        openai.AsyncOpenAI(api_key="k", default_headers={"a": "b"}),
        openai.AzureOpenAI(api_key="k", api_version="2026-01-01", azure_endpoint="https://x"),
        anthropic.Anthropic(api_key="k", timeout=4),
        anthropic.AsyncAnthropic(auth_token="k", max_retries=1),
    ],
    ids=lambda client: type(client).__name__,
)
def test_it_has_the_class_and_the_settings_of_the_client(client: Any, recording: Any) -> None:
    wrapped = recording.tracer.wrap(client)

    def settings(c: Any) -> Any:
        names = (
            "api_key",
            "base_url",
            "timeout",
            "max_retries",
            "_custom_headers",
            "_custom_query",
        )
        return [getattr(c, name) for name in names]

    assert type(wrapped) is type(client)
    assert settings(wrapped) == settings(client)
    assert wrapped._client._transport is client._client._transport
    assert isinstance(wrapped._client, type(client._client))


def test_the_client_itself_stays_unrecorded(provider: Any, recording: Any) -> None:
    with openai_client(provider) as client:
        recording.tracer.wrap(client)
        client.chat.completions.create(**CHAT)

    assert recording.calls() == []


def test_writing_an_attribute_changes_the_wrapped_client(provider: Any, recording: Any) -> None:
    with openai_client(provider) as client:
        wrapped = recording.tracer.wrap(client)
        wrapped.base_url = provider.url + "/elsewhere"
        wrapped.chat.completions.create(**CHAT)

    assert provider.paths == ["/elsewhere/chat/completions"]
    assert client.base_url == provider.url + "/v1/"


@pytest.mark.parametrize("closes", ["wrapped", "client"])
def test_closing_either_closes_both_as_it_is_with_copies(
    provider: Any, recording: Any, closes: str
) -> None:
    client = openai_client(provider)
    wrapped = recording.tracer.wrap(client)

    with {"wrapped": wrapped, "client": client}[closes]:
        pass

    assert (wrapped.is_closed(), client.is_closed()) == (True, True)
    with pytest.raises(RuntimeError, match="closed"):
        wrapped.chat.completions.create(**CHAT)


def test_an_async_client_closes_as_before(provider: Any, recording: Any) -> None:
    async def run() -> tuple[bool, bool]:
        client = anthropic.AsyncAnthropic(api_key="k", base_url=provider.url)
        async with recording.tracer.wrap(client) as wrapped:
            await wrapped.messages.create(**MESSAGE)
        return wrapped.is_closed(), client.is_closed()

    assert asyncio.run(run()) == (True, True)
    assert len(recording.calls()) == 1


def test_a_client_that_only_its_wrapped_copy_holds_stays_usable(
    provider: Any, recording: Any
) -> None:
    wrapped = recording.tracer.wrap(openai_client(provider))
    gc.collect()
    wrapped.chat.completions.create(**CHAT)
    wrapped.close()

    assert len(recording.calls()) == 1


def test_dropping_the_wrapped_copy_leaves_the_client_usable(provider: Any, recording: Any) -> None:
    client = openai_client(provider)
    dropped = weakref.ref(recording.tracer.wrap(client))
    gc.collect()

    assert dropped() is None
    assert not client.is_closed()
    client.chat.completions.create(**CHAT)
    client.close()


def test_wrapping_again_records_once_under_the_new_agent(provider: Any, recording: Any) -> None:
    with openai_client(provider) as client:
        first = recording.tracer.wrap(client, agent="first")
        second = recording.tracer.wrap(first, agent="second")
        first.chat.completions.create(**CHAT)
        second.chat.completions.create(**CHAT)

    assert [call.head.agent for call in recording.calls()] == ["first", "second"]


def test_two_tracers_record_one_client_each_once(
    provider: Any, recording: Any, new_recording: Any
) -> None:
    other = new_recording()
    with openai_client(provider) as client:
        both = other.tracer.wrap(recording.tracer.wrap(client))
        both.chat.completions.create(**CHAT)

    assert (len(recording.calls()), len(other.calls())) == (1, 1)


@pytest.mark.parametrize(
    "stranger",
    [openai, object(), openai.OpenAI, openai.OpenAI(api_key="k").chat, httpx2.Client(), None, "x"],
    ids=["module", "object", "class", "resource", "http client", "None", "text"],
)
def test_an_unknown_client_is_refused_with_what_is_supported(stranger: Any, recording: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot record .*supported are openai\.OpenAI"):
        recording.tracer.wrap(stranger)


def test_an_sdk_that_moved_its_http_client_is_refused(recording: Any) -> None:
    client = openai.OpenAI(api_key="k")
    client.close()
    del client._client

    with pytest.raises(ValueError, match="does not keep its HTTP client where"):
        recording.tracer.wrap(client)


def test_a_subclass_of_a_client_is_recorded(provider: Any, recording: Any) -> None:
    class Mine(openai.OpenAI):
        pass

    with Mine(api_key="k", base_url=provider.url + "/v1") as client:
        wrapped = recording.tracer.wrap(client)
        wrapped.chat.completions.create(**CHAT)

    assert type(wrapped) is Mine
    assert len(recording.calls()) == 1


class OwnOpenAI(openai.OpenAI):
    """A program's class, made by other options than the SDK's."""

    def __init__(self, url: str) -> None:
        super().__init__(api_key="k", base_url=url + "/v1")
        self.budget = 7


class OwnAnthropic(anthropic.Anthropic):
    """Likewise."""

    def __init__(self, url: str) -> None:
        super().__init__(api_key="k", base_url=url)
        self.budget = 7


@pytest.mark.parametrize("kind", [OwnOpenAI, OwnAnthropic])
def test_a_class_with_an_init_of_its_own_is_recorded(
    provider: Any, recording: Any, kind: Any
) -> None:
    client = kind(provider.url)

    def ask(asked: Any) -> None:
        if kind is OwnOpenAI:
            asked.chat.completions.create(**CHAT)
        else:
            asked.messages.create(**MESSAGE)

    ask(client)  # its resources have been made
    wrapped = recording.tracer.wrap(client)
    ask(wrapped)
    ask(client)

    assert (type(wrapped), wrapped.budget, len(provider.bodies)) == (kind, 7, 3)
    assert len(recording.calls()) == 1


def test_what_the_program_has_put_on_a_client_is_on_the_wrapped_one(
    provider: Any, recording: Any
) -> None:
    client: Any = openai_client(provider)
    client.budget = 7
    client.post = None  # bound to the client: the wrapped one has its own
    wrapped = recording.tracer.wrap(client)
    wrapped.chat.completions.create(**CHAT)

    assert wrapped.budget == 7
    assert len(recording.calls()) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_legacy_httpx_client_is_recorded(provider: Any, recording: Any, stream: bool) -> None:
    with openai_client(provider, http_client=httpx.Client()) as client:
        wrapped = recording.tracer.wrap(client)
        answer = wrapped.chat.completions.create(**CHAT, stream=stream)
        seen = len(list(answer)) if stream else answer.usage.total_tokens

    (call,) = recording.calls()
    assert (seen, call.request) == (5 if stream else 26, provider.bodies[0])
    assert call.head.finish_reason == "stop"


@pytest.mark.parametrize("stream", [False, True])
def test_a_legacy_async_httpx_client_is_recorded(
    provider: Any, recording: Any, stream: bool
) -> None:
    async def run() -> None:
        options = {"http_client": httpx.AsyncClient(), "base_url": provider.url + "/v1"}
        async with openai.AsyncOpenAI(api_key="k", **options) as client:
            answer = await recording.tracer.wrap(client).chat.completions.create(
                **CHAT, stream=stream
            )
            if stream:
                assert len([part async for part in answer]) == 5

    asyncio.run(run())

    (call,) = recording.calls()
    assert call.head.finish_reason == "stop"


def test_azure_is_recorded_by_its_deployment_path(provider: Any, recording: Any) -> None:
    options = {"api_version": "2026-01-01", "azure_endpoint": provider.url}
    with openai.AzureOpenAI(api_key="k", **options) as client:
        recording.tracer.wrap(client).chat.completions.create(**CHAT)

    (call,) = recording.calls()
    assert provider.paths == ["/openai/deployments/gpt-4o/chat/completions?api-version=2026-01-01"]
    assert call.detail.endpoint == provider.url + "/openai/deployments/gpt-4o/chat/completions"


def test_a_send_that_the_host_replaced_is_used_and_recorded(recording: Any) -> None:
    client = openai.OpenAI(api_key="k")
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
    client._client.send = lambda request, **_: httpx2.Response(200, json=body, request=request)
    with client:
        answer = recording.tracer.wrap(client).chat.completions.create(**CHAT)

    assert answer.id == "1"
    assert [call.head.response_id for call in recording.calls()] == ["1"]


def test_a_faulty_recorder_leaves_the_call_alone(
    provider: Any, recording: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctxdiff_capture import guard

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(guard, "strict", False)
    for name in ("started", "ended"):
        with openai_client(provider) as client:
            wrapped = recording.tracer.wrap(client)
            monkeypatch.setattr(type(recording.tracer), name, broken)
            assert wrapped.chat.completions.create(**CHAT).usage.total_tokens == 26
            assert len(list(wrapped.chat.completions.create(**CHAT, stream=True))) == 5
        monkeypatch.undo()
        monkeypatch.setattr(guard, "strict", False)
