"""Rows of section A: what a host does with a client works as without us."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import pickle
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from ctxdiff_capture import trace
from ctxdiff_capture.tokens import vocabulary

ASK: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Which city?"}]}


def test_a_wrapped_client_is_a_context_manager(provider: Any, recording: Any) -> None:
    client = openai.OpenAI(api_key="none", base_url=f"{provider.url}/v1")
    with recording.tracer.wrap(client) as wrapped:
        wrapped.chat.completions.create(**ASK)
    assert client.is_closed()

    async def ask() -> None:
        opened = openai.AsyncOpenAI(api_key="none", base_url=f"{provider.url}/v1")
        async with recording.tracer.wrap(opened) as wrapped:
            await wrapped.chat.completions.create(**ASK)
        assert opened.is_closed()

    asyncio.run(ask())
    assert [call.head.error for call in recording.calls()] == [None, None]


@pytest.mark.parametrize("items", [None, [], [None], 7, object(), {"a": None}])
def test_a_tag_of_nothing_costs_neither_the_host_nor_the_call(
    provider: Any, recording: Any, items: Any
) -> None:
    with openai.OpenAI(api_key="none", base_url=f"{provider.url}/v1") as client:
        recording.tracer.tag("rag", items)
        recording.tracer.tag(None, ["x"])
        recording.tracer.wrap(client).chat.completions.create(**ASK)
    assert len(recording.calls()) == 1


def test_exact_counts_need_neither_network_nor_a_cache(
    provider: Any, recording: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []
    resolve: Callable[..., Any] = socket.getaddrinfo

    def resolved(host: Any, *rest: Any, **more: Any) -> Any:
        asked.append(str(host))
        return resolve(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setattr(vocabulary.o200k, "_encoding", None)
    with openai.OpenAI(api_key="none", base_url=f"{provider.url}/v1") as client:
        wrapped = recording.tracer.wrap(client)
        wrapped.chat.completions.create(**ASK)
        recording.tracer.flush()
        count = recording.tracer._count.count("Which city?", "openai", "of this test")
    assert count == (3, "tiktoken")
    assert set(asked) <= {"127.0.0.1"}


def test_a_wrapped_client_looks_like_the_client(recording: Any) -> None:
    with openai.OpenAI(api_key="none") as client:
        wrapped = recording.tracer.wrap(client)
        assert dir(wrapped) == dir(client)
        assert repr(wrapped).partition(" at ")[0] == repr(client).partition(" at ")[0]
        for of in (lambda c: c.chat.completions.create, lambda c: c.with_options):
            assert inspect.signature(of(wrapped)) == inspect.signature(of(client))
        assert wrapped == wrapped
        assert len({wrapped, client}) == 2


# What the SDK leaves half made complains when it is dropped.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.deepcopy])
def test_a_client_that_cannot_be_copied_still_cannot(
    recording: Any, duplicate: Callable[[Any], Any]
) -> None:
    with openai.OpenAI(api_key="none") as client:
        for either in (client, recording.tracer.wrap(client)):
            with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
                duplicate(either)
        gc.collect()


def test_a_project_of_an_odd_kind_costs_no_call(provider: Any, tmp_path: Path) -> None:
    project: Any = None
    with (
        trace.init(project, path=tmp_path / "odd.ctrace") as tracer,
        openai.OpenAI(api_key="none", base_url=f"{provider.url}/v1") as client,
    ):
        tracer.wrap(client).chat.completions.create(**ASK)
        assert tracer.flush()
    assert (tmp_path / "odd.ctrace").stat().st_size > 0
