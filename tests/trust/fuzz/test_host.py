"""Whatever a provider sends, in whatever pieces: the host gets those bytes, and a call is stored."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx2
import openai
from ctxdiff_capture import read, trace
from hypothesis import given
from hypothesis import strategies as st

from tests.trust.fuzz.budget import fuzzed, tally
from tests.trust.fuzz.mutations import CUTS, EDITS, Cut, Edit, cut, edited, json_bytes
from tests.trust.fuzz.seeds import SEEDS, Seed

ADDRESSES = {
    "openai.chat": "https://api.openai.com/v1/chat/completions",
    "openai.responses": "https://api.openai.com/v1/responses",
    "anthropic.messages": "https://api.anthropic.com/v1/messages",
}
TAPPED = [seed for seed in SEEDS if seed.surface in ADDRESSES]


class Pieces(httpx2.SyncByteStream):
    """A body that comes in pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces


def test_the_host_gets_the_bytes_of_the_provider_and_its_own_are_sent(tmp_path: Path) -> None:
    asked: list[bytes] = []
    answers: list[list[bytes]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.read())
        headers = {"content-type": "text/event-stream; charset=utf-8"}
        return httpx2.Response(200, headers=headers, stream=Pieces(answers[-1]))

    tracer = trace.init("fuzz", path=tmp_path / "run.ctrace")
    with (
        httpx2.Client(transport=httpx2.MockTransport(answer)) as http,
        tally("bodies seen by the host") as tried,
    ):
        # The HTTP client inside takes bytes that the SDK around it would never make.
        client = tracer.wrap(openai.OpenAI(api_key="k", http_client=http))._client

        @fuzzed(15, 1_500)
        @given(
            st.sampled_from(TAPPED),
            st.lists(EDITS, max_size=3),
            st.lists(CUTS, max_size=3),
            st.lists(st.integers(0, 4_000), max_size=12),
        )
        def holds(seed: Seed, edits: list[Edit], cuts: list[Cut], places: list[int]) -> None:
            tried.one()
            request = json_bytes(edited(seed.request, edits))
            body = cut(seed.stream(list(map(json_bytes, seed.events))), cuts)
            at = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
            answers.append([body[a:b] for a, b in pairwise(at)])
            with client.stream("POST", ADDRESSES[seed.surface], content=request) as response:
                assert list(response.iter_raw()) == answers[-1]
            assert asked[-1] == request

        holds()
    tracer.close()
    reader = read(tmp_path / "run.ctrace")
    (session,) = reader.sessions()
    reader.close()
    assert session.calls == tried.examples
