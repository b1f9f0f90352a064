"""A recorded client of the real SDK, whose provider answers at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import openai
import pytest
from ctxdiff_capture import Tracer, read, trace
from ctxdiff_capture.model import CallHead, Decision, Stage

ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "ok"},
        }
    ],
}


@pytest.fixture
def tracer(tmp_path: Path) -> Iterator[Tracer]:
    with trace.init("hooked", path=tmp_path) as opened:
        yield opened


@pytest.fixture
def client_of() -> Iterator[Callable[..., openai.OpenAI]]:
    """Makes a client that `tracer` records; `fails` answers come as 500 first."""
    made: list[httpx2.Client] = []

    def make(tracer: Tracer, fails: int = 0, agent: str | None = None) -> openai.OpenAI:
        left = [500] * fails

        def answer(_: httpx2.Request) -> httpx2.Response:
            headers = {"retry-after-ms": "1"}
            return httpx2.Response(left.pop() if left else 200, json=ANSWER, headers=headers)

        made.append(httpx2.Client(transport=httpx2.MockTransport(answer)))
        client = openai.OpenAI(api_key="k", http_client=made[-1])
        return tracer.wrap(client, agent)

    yield make
    for client in made:
        client.close()


@pytest.fixture
def stored(tracer: Tracer) -> Callable[[], list[tuple[CallHead, list[Stage], list[Decision]]]]:
    """Each call that `tracer` stored, with what was said before it."""

    def look() -> list[tuple[CallHead, list[Stage], list[Decision]]]:
        tracer.close()
        assert tracer.path
        reader = read(tracer.path)
        try:
            (session,) = reader.sessions()
            return [
                (call, list(reader.stages(call.id)), list(reader.decisions(call.id)))
                for call in reader.load(session.id).calls
            ]
        finally:
            reader.close()

    return look
