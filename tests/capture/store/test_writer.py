"""What is written is read back, whole, or nothing of it is there."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.errors import StoreError
from ctxdiff_capture.model import Block, Call, CallDetail, CallHead, Marker, Placement, Session
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session, open_reader
from ctxdiff_capture.store.sqlite_writer import WRITER
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Begin = Callable[..., SessionWriter]
MakeCall = Callable[..., Call]


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_every_field_of_a_call_comes_back(
    tmp_path: Path, begin: Begin, make_full_call: MakeCall
) -> None:
    call = make_full_call(3)
    writer = begin(tmp_path / "a.ctrace")
    writer.write(call)
    writer.close()

    reader = open_reader(tmp_path / "a.ctrace")
    recording = reader.load(writer.session_id)
    assert recording.calls == (
        CallHead(
            id=call.id,
            seq=3,
            provider="openai-compatible",
            agent="writer",
            step="draft",
            params=call.params,
            usage=call.usage,
            latency_ms=50,
            error="RateLimitError",
            surface="openai.chat",
            started_at=call.started_at,
            first_byte_ms=20,
            finish_reason="stop",
            response_id="chatcmpl-1",
            response_model="gpt-4o-2024",
            error_message="slow down: é",
            error_status=429,
            attempts=2,
            request_digest=call.request_digest,
        ),
    )
    assert recording.has_outputs
    assert [list(map(int, side[0])) for side in (recording.inputs, recording.outputs)] == [
        [0, 1, 2],
        [3, 4],
    ]
    assert reader.inputs(call.id) == call.inputs
    assert reader.outputs(call.id) == call.outputs
    assert reader.request(call.id) == b"".join(call.request_pieces or ())
    assert reader.detail(call.id) == CallDetail(
        endpoint=call.endpoint,
        request_id="req_1",
        attempts=call.attempts,
        tags=call.tags,
        markers=call.markers,
        paths={0: "/messages/0", 1: "/messages/1/content/0"},
        tool_call_ids={2: "call_1"},
        output_tool_call_ids={1: "call_2"},
        metadata={"line": 3},
    )
    reader.close()


def test_a_session_is_listed_as_it_was_begun(
    tmp_path: Path, begin: Begin, make_call: MakeCall
) -> None:
    writer = begin(tmp_path / "a.ctrace", "Köln/1", session_id="f" * 32)
    for seq, model in enumerate(["b", "a", "b", "", "c"], start=1):
        writer.write(make_call(seq, params={"model": model}, agent=f"agent {seq % 2}"))
    writer.write(make_call(6, params={"modelId": "d"}))
    writer.close()
    reader = open_reader(tmp_path / "a.ctrace")
    assert reader.sessions() == [
        Session(
            id="f" * 32,
            project="Köln/1",
            started_at="2026-11-30T11:39:03.079952+00:00",
            provider="openai",
            models=("b", "a", "c", "d"),
            writer=WRITER,
            schema_version=2,
            calls=6,
            agents=("agent 1", "agent 0"),
        )
    ]
    reader.close()


def test_json_columns_are_spelled_as_ctxdiff_spells_them(
    tmp_path: Path, begin: Begin, make_call: MakeCall
) -> None:
    writer = begin(tmp_path / "a.ctrace")
    writer.write(make_call(1, params={"z": "é", "a": [1, None]}, usage={"n": float("nan")}))
    writer.close()
    assert rows(tmp_path / "a.ctrace", "select params, usage from call") == [
        ('{"z": "\\u00e9", "a": [1, null]}', '{"n": NaN}')
    ]
    reader = open_reader(tmp_path / "a.ctrace")
    (call,) = reader.load(writer.session_id).calls
    assert repr(call.usage) == "{'n': nan}"
    reader.close()


def test_an_answer_that_comes_back_as_history_is_one_block(
    tmp_path: Path, begin: Begin, make_call: MakeCall, make_placement: Callable[..., Placement]
) -> None:
    answer = make_placement("Hello.", "assistant")
    writer = begin(tmp_path / "a.ctrace")
    writer.write(make_call(1, "hi", outputs=(answer,)))
    writer.write(make_call(2, inputs=(answer,)))
    writer.close()
    reader = open_reader(tmp_path / "a.ctrace")
    recording = reader.load(writer.session_id)
    reader.close()
    assert recording.outputs[0] == recording.inputs[1]
    assert rows(tmp_path / "a.ctrace", "select count(*) from block") == [(2,)]


def test_the_first_writer_of_a_block_wins(
    tmp_path: Path, begin: Begin, make_placement: Callable[..., Placement], make_call: MakeCall
) -> None:
    first = make_placement("door code 1234")
    later = dataclasses.replace(first, block=dataclasses.replace(first.block, text="[redacted]"))
    for number, placement in enumerate((first, later), start=1):
        writer = begin(tmp_path / "a.ctrace")
        writer.write(make_call(1, id=f"{number:032x}", inputs=(placement,)))
        writer.close()
    assert rows(tmp_path / "a.ctrace", "select text from block") == [("door code 1234",)]


def test_a_batch_is_stored_whole_or_not_at_all(
    tmp_path: Path, begin: Begin, make_call: MakeCall
) -> None:
    writer = begin(tmp_path / "a.ctrace")
    writer.write_many([make_call(1, "a"), make_call(2, "b")])
    with pytest.raises(StoreError):
        writer.write_many([make_call(3, "c"), make_call(2, "again")])
    writer.write(make_call(4, "c", params={"model": "later"}))
    writer.close()
    reader = open_reader(tmp_path / "a.ctrace")
    recording = reader.load(writer.session_id)
    assert [call.seq for call in recording.calls] == [1, 2, 4]
    assert recording.notes == ()
    assert recording.session.models == ("gpt-4o", "later")
    reader.close()


def test_an_amended_call_replaces_what_was_stored(
    tmp_path: Path, begin: Begin, make_call: MakeCall, make_full_call: MakeCall
) -> None:
    writer = begin(tmp_path / "a.ctrace")
    writer.write_many([make_full_call(1), make_call(2, "other")])
    amended = make_call(1, "new", request_pieces=(b"new",), markers=(Marker(0, "/x"),))
    writer.amend(amended)
    with pytest.raises(StoreError):
        writer.amend(make_call(9))
    writer.close()
    reader = open_reader(tmp_path / "a.ctrace")
    assert [call.seq for call in reader.load(writer.session_id).calls] == [1, 2]
    assert reader.inputs(amended.id) == amended.inputs
    assert reader.outputs(amended.id) == ()
    assert reader.request(amended.id) == b"new"
    assert reader.detail(amended.id) == CallDetail(endpoint="", markers=(Marker(0, "/x"),))
    reader.close()


def test_losses_add_up_by_reason(tmp_path: Path, begin: Begin) -> None:
    writer = begin(tmp_path / "a.ctrace")
    writer.note_loss("the queue was full", 3)
    writer.note_loss("the queue was full")
    writer.note_loss("the disk was full")
    writer.close()
    reader = open_reader(tmp_path / "a.ctrace")
    assert reader.losses(writer.session_id) == {"the disk was full": 1, "the queue was full": 4}
    reader.close()


def test_lone_surrogates_and_nul_cost_no_call(
    tmp_path: Path, begin: Begin, make_call: MakeCall
) -> None:
    call = make_call(1, "a\ud800b\x00c", agent="x\udfff", params={"model": "m\ud800"})
    writer = begin(tmp_path / "a.ctrace", "p\ud800")
    writer.write(call)
    writer.close()
    reader = open_reader(tmp_path / "a.ctrace")
    (placement,) = reader.inputs(call.id)
    assert placement.block.text == "a\ufffdb\x00c"
    assert placement.block.content_hash == call.inputs[0].block.content_hash
    assert reader.sessions()[0].agents == ("x\ufffd",)
    assert reader.sessions()[0].models == ("m\ud800",)
    reader.close()


def test_a_growing_conversation_takes_space_for_what_is_new(
    tmp_path: Path, begin: Begin, make_call: MakeCall
) -> None:
    random = os.urandom
    pieces: list[bytes] = []
    writer = begin(tmp_path / "a.ctrace")
    for seq in range(1, 201):
        pieces += [random(100), random(100)]
        tail = f'], "n": {seq}}}'.encode()
        writer.write(make_call(seq, request_pieces=(b'{"messages": [', *pieces, tail)))
    writer.close()
    query = "select sum(length(body)) from ctx_piece"
    ((kept,),) = rows(tmp_path / "a.ctrace", query)
    ((longest,),) = rows(tmp_path / "a.ctrace", "select max(length(pieces)) from ctx_request")
    assert kept < sum(map(len, pieces)) + 200 * 20
    assert longest < 100
    reader = open_reader(tmp_path / "a.ctrace")
    expected = b'{"messages": [' + b"".join(pieces) + b'], "n": 200}'
    assert reader.request(f"{200:032x}") == expected
    reader.close()


def test_a_request_that_would_be_too_large_to_be_read_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: Begin, make_call: MakeCall
) -> None:
    monkeypatch.setattr("ctxdiff_capture.store.pieces.MAX_BODY_BYTES", 10)
    path = tmp_path / "a.ctrace"
    writer = begin(path)
    fitting, larger = (b"12345", b"67890"), (b"12345", b"678901")
    writer.write_many([make_call(1, request_pieces=fitting), make_call(2, request_pieces=larger)])
    writer.close()
    reader = open_reader(path)
    assert [reader.request(f"{seq:032x}") for seq in (1, 2)] == [b"1234567890", None]
    reader.close()


def test_a_networked_store_is_refused_without_its_password(begin: Begin) -> None:
    destination = Destination(dsn="postgresql://me:secret@db.example.test/traces")
    with pytest.raises(StoreError) as caught:
        create_session(destination, project="p", provider="openai", started_at="2026")
    assert "not supported yet" in str(caught.value)
    assert "secret" not in str(caught.value) + repr(destination)


texts = st.text(st.characters(exclude_categories=[]), max_size=30)
scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False)
json_values = st.recursive(
    scalars | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=8
)
placements = st.builds(
    lambda number, text, label, source, path, identifier: Placement(
        Block(f"{number:064x}", "user", "message", f"{number}{text}", number, "tiktoken"),
        label,
        source,
        path,
        identifier,
    ),
    st.integers(0, 5),
    st.just(""),
    st.text("ab,;'\x1f\x00é", max_size=4),
    st.sampled_from(["tagged", "heuristic"]),
    st.text("/ab~0", max_size=6),
    st.none() | st.text("ab", max_size=3),
)
calls = st.lists(
    st.builds(
        Call,
        id=st.uuids().map(lambda u: u.hex),
        seq=st.just(0),
        provider=st.sampled_from(["openai", "anthropic"]),
        surface=st.just("openai.chat"),
        inputs=st.lists(placements, max_size=6).map(tuple),
        outputs=st.lists(placements, max_size=3).map(tuple),
        params=st.dictionaries(texts, json_values, max_size=3),
        usage=st.none() | st.dictionaries(texts, json_values, max_size=3),
        request_pieces=st.none() | st.lists(st.binary(max_size=600), max_size=5).map(tuple),
        metadata=st.dictionaries(texts, json_values, max_size=2),
    ),
    max_size=4,
    unique_by=lambda call: call.id,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn=calls)
def test_whatever_is_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory, begin: Begin, drawn: list[Call]
) -> None:
    path = tmp_path_factory.mktemp("round") / "a.ctrace"
    stored = [dataclasses.replace(call, seq=seq) for seq, call in enumerate(drawn)]
    writer = begin(path)
    writer.write_many(stored)
    writer.close()
    reader = open_reader(path)
    recording = reader.load(writer.session_id)
    hashes = [head.content_hash for head in recording.blocks]
    for place, call in enumerate(stored):
        head = recording.calls[place]
        assert (head.params, head.usage) == (call.params, call.usage)
        assert reader.inputs(call.id) == call.inputs
        assert reader.outputs(call.id) == call.outputs
        body = None if call.request_pieces is None else b"".join(call.request_pieces)
        assert reader.request(call.id) == body
        assert dict(reader.detail(call.id).metadata) == json.loads(json.dumps(call.metadata))
        inputs = [hashes[index] for index in recording.inputs[place]]
        assert inputs == [p.block.content_hash for p in call.inputs]
        labels = [recording.label_table[index] for index in recording.labels[place]]
        assert labels == [(p.label, p.label_source) for p in call.inputs]
    assert recording.notes == ()
    reader.close()
