"""Calls that begin like earlier ones are stored by copying, and read as if they had not been."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from ctxdiff_capture.errors import StoreError
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Call, Placement
from ctxdiff_capture.store import membership
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session, open_reader
from ctxdiff_capture.store.sqlite_writer import SQLiteWriter
from hypothesis import given
from hypothesis import strategies as st

START = "2026-11-30T11:39:03.079952+00:00"


def placed(number: int, label: str = "user") -> Placement:
    text = f"text {number}"
    block = Block(digest_of("user", "message", text), "user", "message", text, 2, "estimate")
    answers = f"call_{number}" if number % 2 else None
    return Placement(block, label, path=f"/messages/{number}", tool_call_id=answers)


POOL = tuple(placed(number) for number in range(6))
"""Shared objects, as decoders give them to the turns of one conversation."""


def call(seq: int, inputs: Sequence[Placement], call_id: str | None = None) -> Call:
    return Call(call_id or f"{seq:032x}", seq, "openai", "openai.chat", tuple(inputs))


def session(path: Path) -> SQLiteWriter:
    writer = create_session(
        Destination(path=path), project="p", provider="openai", started_at=START
    )
    assert isinstance(writer, SQLiteWriter)
    return writer


def members(path: Path) -> list[tuple[Placement, ...]]:
    reader = open_reader(path)
    try:
        (found,) = reader.sessions()
        return [reader.inputs(head.id) for head in reader.load(found.id).calls]
    finally:
        reader.close()


def members_of_all(path: Path) -> list[list[tuple[Placement, ...]]]:
    reader = open_reader(path)
    try:
        calls = [reader.load(found.id).calls for found in reader.sessions()]
        return [[reader.inputs(head.id) for head in heads] for heads in calls]
    finally:
        reader.close()


STEPS = st.lists(
    st.tuples(st.lists(st.sampled_from(POOL), max_size=9), st.booleans(), st.booleans()),
    min_size=1,
    max_size=14,
)


@given(STEPS)
def test_any_sequence_of_calls_is_read_as_it_was_written(steps):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.ctrace"
        writer = session(path)
        written: list[tuple[Placement, ...]] = []
        for added, is_fresh, goes_on in steps:
            inputs = [*written[-1], *added] if goes_on and written else added
            # Fresh ones are equal, but not the same objects.
            written.append(tuple(placed(POOL.index(p)) if is_fresh else p for p in inputs))
            writer.write(call(len(written), written[-1]))
        writer.close()
        assert members(path) == written


class Turn(NamedTuple):
    """One thing that a writer is told, in some conversation of several."""

    base: int
    """Which call it goes on from, counted from the last one."""
    kept: int
    """How many of that one's blocks it begins with."""
    added: list[Placement]
    kind: str


TURNS = st.lists(
    st.builds(
        Turn,
        st.integers(0, 5),
        st.integers(0, 20),
        st.lists(st.sampled_from(POOL), max_size=4),
        st.sampled_from(["write", "write", "write", "write", "amend", "fail", "reopen"]),
    ),
    min_size=1,
    max_size=24,
)


@pytest.mark.parametrize("remembered", [(32, 20_000), (3, 20_000), (32, 12)])
@given(turns=TURNS)
def test_conversations_that_fork_and_take_turns_are_read_as_they_were_written(remembered, turns):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "_REMEMBERED", remembered[0])
        patch.setattr(membership, "_REMEMBERED_PLACES", remembered[1])
        path = Path(folder) / "t.ctrace"
        writer = session(path)
        sessions: list[list[tuple[Placement, ...]]] = [[]]
        for turn in turns:
            written = sessions[-1]
            base = written[-1 - turn.base % len(written)] if written else ()
            inputs = (*base[: turn.kept], *turn.added)
            first = f"{len(sessions):016x}{0:016x}"
            new = call(len(written) + 1, inputs, f"{len(sessions):016x}{len(written):016x}")
            if turn.kind == "reopen":
                writer.close()
                writer = session(path)
                sessions.append([])
            elif turn.kind == "fail" and written:
                with pytest.raises(StoreError, match="UNIQUE"):
                    writer.write_many([new, call(len(written) + 2, inputs, first)])
            elif turn.kind == "amend" and written:
                writer.amend(call(1, inputs, first))
                written[0] = inputs
            else:
                writer.write(new)
                written.append(inputs)
        writer.close()
        assert members_of_all(path) == sessions


def test_a_label_that_changed_is_not_copied(tmp_path: Path) -> None:
    writer = session(tmp_path / "t.ctrace")
    tagged = placed(0, "rag")
    writer.write_many([call(1, POOL[:3]), call(2, [tagged, *POOL[1:4]]), call(3, POOL)])
    writer.close()
    assert members(tmp_path / "t.ctrace") == [POOL[:3], (tagged, *POOL[1:4]), POOL]


def test_a_call_amended_meanwhile_is_not_copied_from(tmp_path: Path) -> None:
    writer = session(tmp_path / "t.ctrace")
    writer.write(call(1, POOL[:4]))
    writer.amend(call(1, POOL[2:4]))
    writer.write(call(2, POOL[:5]))
    writer.close()
    assert members(tmp_path / "t.ctrace") == [POOL[2:4], POOL[:5]]


def test_a_call_amended_with_what_it_had_keeps_it(tmp_path: Path) -> None:
    writer = session(tmp_path / "t.ctrace")
    writer.write(call(1, POOL[:4]))
    writer.amend(replace(call(1, POOL[:4]), outputs=POOL[4:5], latency_ms=9))
    writer.amend(replace(call(1, POOL[:4]), outputs=POOL[4:6], latency_ms=10))
    writer.close()
    assert members(tmp_path / "t.ctrace") == [POOL[:4]]
    reader = open_reader(tmp_path / "t.ctrace")
    (head,) = reader.load(reader.sessions()[0].id).calls
    assert (head.latency_ms, reader.outputs(head.id)) == (10, POOL[4:6])
    reader.close()


def test_what_an_undone_transaction_wrote_is_not_copied_from(tmp_path: Path) -> None:
    writer = session(tmp_path / "t.ctrace")
    writer.write(call(1, POOL[:1]))
    with pytest.raises(Exception, match="UNIQUE"):
        writer.write_many([call(2, POOL[:4]), call(1, POOL[:4])])
    writer.write(call(3, POOL))
    writer.close()
    assert members(tmp_path / "t.ctrace") == [POOL[:1], POOL]


def test_rows_that_another_program_removed_are_written_anew(tmp_path: Path) -> None:
    writer = session(tmp_path / "t.ctrace")
    writer.write(call(1, POOL[:4]))
    writer._connection.execute("delete from call_block where position = 2")
    writer.write(call(2, POOL))
    writer.close()
    assert members(tmp_path / "t.ctrace")[1] == POOL
