"""Whatever a body holds, the decoder gives a call, and the store keeps it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.model import Call, Exchange, Tag
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session
from ctxdiff_capture.tokens.counter import TokenCounter
from ctxdiff_capture.wire.encoding import decoded_body, joined_pieces
from hypothesis import given
from hypothesis import strategies as st

from tests.trust.fuzz.budget import fuzzed, tally
from tests.trust.fuzz.mutations import CUTS, EDITS, Cut, Edit, cut, edited, json_bytes
from tests.trust.fuzz.seeds import ANSWER, SEEDS, Seed
from tests.trust.goals import attempts

STARTED = "2026-11-30T11:39:03.079952+00:00"
SEED = st.sampled_from(SEEDS)
FEW_EDITS = st.lists(EDITS, min_size=1, max_size=4)
FEW_CUTS = st.lists(CUTS, min_size=1, max_size=4)
UNREAD = {
    "the request body is not UTF-8",
    "the request body is not a JSON object",
    "the request body is nested too deeply",
    "the request or the answer is nested too deeply",
}


class Door:
    """Decodes and stores as the recorder does, and looks at what must always hold."""

    def __init__(self, session: SessionWriter) -> None:
        self._session = session
        self._counter = TokenCounter()
        self._calls = 0

    def call(self, seed: Seed, request: bytes, response: bytes | None, **known: object) -> Call:
        self._calls += 1
        exchange = Exchange(
            seed.surface,
            request,
            STARTED,
            response=response,
            provider=seed.surface.partition(".")[0],
            tags=(Tag("rag", "ladder"),),
            **known,  # type: ignore[arg-type]
        )
        call_id = f"{self._calls:032x}"
        call = decode(exchange, seq=self._calls, call_id=call_id, count=self._counter)
        afresh = decode(exchange, seq=self._calls, call_id=call_id, count=TokenCounter())
        assert call == afresh or "NaN" in f"{call}".replace("nan", "NaN")
        self._session.write(call)
        if call.request_pieces is not None:
            assert b"".join(call.request_pieces) == request
        is_object = _is_json_object(request)
        assert is_object or call.metadata["problem"] in UNREAD
        assert not (is_object and "problem" in call.metadata) or _is_deep(request, response)
        return call


def _is_json_object(data: bytes) -> bool:
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False


def _is_deep(*bodies: bytes | None) -> bool:
    return any(body and (body.count(b"[") + body.count(b"{")) > 80 for body in bodies)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    path: Path = tmp_path_factory.mktemp("fuzz") / "run.ctrace"
    session = create_session(
        Destination(path=path), project="fuzz", provider="openai", started_at=STARTED
    )
    yield Door(session)
    session.close()


def test_every_seed_says_the_same_plain_and_streamed(door: Door) -> None:
    for seed in SEEDS:
        request = json_bytes(seed.request)
        events = list(map(json_bytes, seed.events))
        plain = door.call(seed, request, json_bytes(seed.answer))
        streamed = door.call(seed, request, seed.stream(events), is_event_stream=True)
        for call in (plain, streamed):
            assert any(ANSWER in place.block.text for place in call.outputs), seed.surface
            assert call.error is None


def test_no_edited_request_or_answer_leaves_the_decoder_as_an_error(door: Door) -> None:
    with tally("JSON bodies") as tried:

        @fuzzed(60, 5_000)
        @given(SEED, FEW_EDITS, FEW_EDITS, st.sampled_from(["request", "answer", "both"]))
        def holds(seed: Seed, asked: list[Edit], told: list[Edit], which: str) -> None:
            tried.one()
            request, answer = seed.request, seed.answer
            if which != "answer":
                request = edited(request, asked)
            if which != "request":
                answer = edited(answer, told)
            door.call(seed, json_bytes(request), json_bytes(answer), status=200)

        holds()


def test_no_edited_stream_leaves_the_decoder_as_an_error(door: Door) -> None:
    with tally("streams") as tried:

        @fuzzed(60, 5_000)
        @given(
            SEED,
            FEW_EDITS,
            st.lists(st.integers(0, 30), max_size=12),
            st.sampled_from([b"\n", b"\r\n", b"\r"]),
            st.booleans(),
        )
        def holds(
            seed: Seed, edits: list[Edit], order: list[int], end: bytes, is_labelled: bool
        ) -> None:
            tried.one()
            events = edited(list(seed.events), edits)
            listed = events if isinstance(events, list) else [events]
            if order:  # duplicated, dropped and in another order
                listed = [listed[at % len(listed)] for at in order if listed]
            told = [text for text in map(json_bytes, listed) if _fits(seed, text)]
            stream = seed.stream(told, end)
            door.call(seed, json_bytes(seed.request), stream, is_event_stream=is_labelled)

        holds()


def _fits(seed: Seed, event: bytes) -> bool:
    """Whether the event can be put into a frame at all: it needs a name there."""
    return seed.surface != "bedrock.converse" or (_is_json_object(event) and len(event) > 2)


def test_no_cut_or_damaged_bytes_leave_the_decoder_as_an_error(door: Door) -> None:
    with tally("bytes") as tried:

        @fuzzed(60, 5_000)
        @given(SEED, FEW_CUTS, st.sampled_from(["request", "answer", "stream"]), st.booleans())
        def holds(seed: Seed, cuts: list[Cut], which: str, is_labelled: bool) -> None:
            tried.one()
            request, answer = json_bytes(seed.request), json_bytes(seed.answer)
            if which == "request":
                request = cut(request, cuts)
            elif which == "answer":
                answer = cut(answer, cuts)
            else:
                answer = cut(seed.stream(list(map(json_bytes, seed.events))), cuts)
            door.call(seed, request, answer, is_event_stream=is_labelled)

        holds()


def test_a_stream_torn_at_any_byte_gives_a_beginning_of_its_texts(door: Door) -> None:
    with tally("streams torn at each byte") as tried:
        for seed in SEEDS:
            request = json_bytes(seed.request)
            events = list(map(json_bytes, seed.events))
            for end in (b"\n", b"\r\n"):
                stream = seed.stream(events, end)
                for at in range(0, len(stream), attempts(41, 1)):
                    tried.one()
                    call = door.call(seed, request, stream[:at], is_event_stream=True)
                    texts = [p.block.text for p in call.outputs if p.block.text[:5] == ANSWER[:5]]
                    assert all(ANSWER.startswith(text) for text in texts)
                    assert "\ufffd" not in "".join(p.block.text for p in call.outputs)
                if seed.is_framed:
                    break


def test_members_that_nobody_knows_change_nothing_that_is_known(door: Door) -> None:
    with tally("unknown members") as tried:

        @fuzzed(25, 3_000)
        @given(SEED, st.text(min_size=1, max_size=9), EDITS, st.integers(0, 30))
        def holds(seed: Seed, name: str, edit: Edit, at: int) -> None:
            tried.one()
            key, value = f"unknown {name}", edit.value
            if not _is_json_object(json_bytes({key: value})):
                value = None
            request, answer = json_bytes(seed.request), json_bytes(seed.answer)
            events = [dict(event) for event in seed.events]
            known = door.call(seed, request, answer)
            also = door.call(
                seed,
                json_bytes({**seed.request, key: value}),
                json_bytes({**seed.answer, key: value}),
            )
            assert (also.inputs, also.outputs) == (known.inputs, known.outputs)
            assert also.usage == known.usage
            if seed.is_framed and seed.surface == "bedrock.converse":
                return
            plain = door.call(seed, request, seed.stream(list(map(json_bytes, events))))
            more = [dict(event) for event in events]
            more[at % len(more)][key] = value
            more.insert(at % len(more), {"type": key, key: value})
            odd = door.call(seed, request, seed.stream(list(map(json_bytes, more))))
            assert odd.outputs == plain.outputs

        holds()


def test_bodies_in_pieces_and_compressed_are_the_body_as_far_as_it_came(door: Door) -> None:
    with tally("chunked and compressed bodies") as tried:

        @fuzzed(60, 5_000)
        @given(SEED, st.lists(st.integers(0, 4_000), max_size=20), st.integers(0, 4_000), st.data())
        def holds(seed: Seed, places: list[int], end: int, data: st.DataObject) -> None:
            tried.one()
            body = seed.stream(list(map(json_bytes, seed.events)))
            cuts = sorted({0, len(body), *(place % len(body) for place in places)})
            pieces = [body[a:b] for a, b in pairwise(cuts)]
            chunked = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(p), p) for p in pieces)
            assert joined_pieces(chunked + b"0\r\n\r\n") == body
            packed = gzip.compress(body, mtime=0)
            assert decoded_body(packed, "gzip") == (body, None)
            assert body.startswith(joined_pieces(chunked[: end % len(chunked)]))
            torn, unknown = decoded_body(packed[: end % len(packed)], "gzip")
            assert unknown is None
            assert body.startswith(torn)
            damaged = cut(packed, data.draw(FEW_CUTS))
            name = data.draw(st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br", "x"]))
            undone, named = decoded_body(damaged, name)
            assert (undone == damaged) if named else len(undone) < 100_000
            joined_pieces(cut(chunked, data.draw(FEW_CUTS)))

        holds()
