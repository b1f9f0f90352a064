"""Stages and decisions in the file."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture import read
from ctxdiff_capture.errors import TraceNotFound
from ctxdiff_capture.model import Call, Decision, Placement, Stage
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.store.said import read_stages

AT = "2026-11-30T11:39:03.079952+00:00"
DECISIONS = (Decision("faq", "dropped", "too long", 3, 900), Decision("rules", "included"))


def written(path: Path, begin: Callable[..., SessionWriter], call: Call) -> None:
    session = begin(path)
    session.write(call)
    session.close()


def said(path: Path, call_id: str) -> tuple[tuple[Stage, ...], tuple[Decision, ...]]:
    reader = read(path)
    try:
        return reader.stages(call_id), reader.decisions(call_id)
    finally:
        reader.close()


@pytest.fixture
def stages(make_placement: Callable[..., Placement]) -> tuple[Stage, ...]:
    gone = make_placement("gone", label="rag", label_source="tagged", path="/messages/0")
    sent = make_placement("hi", path="/messages/1", tool_call_id="c1")
    return Stage("pre_optimization", AT, (gone, sent, gone)), Stage("post_optimization", AT, ())


def test_stages_and_decisions_come_back_as_they_were_written(
    tmp_path: Path,
    begin: Callable[..., SessionWriter],
    make_call: Callable[..., Call],
    stages: tuple[Stage, ...],
) -> None:
    call = make_call(1, "hi", stages=stages, decisions=DECISIONS)
    written(tmp_path / "a.ctrace", begin, call)

    assert said(tmp_path / "a.ctrace", call.id) == (stages, DECISIONS)


def test_an_amended_call_has_what_was_said_once(
    tmp_path: Path,
    begin: Callable[..., SessionWriter],
    make_call: Callable[..., Call],
    stages: tuple[Stage, ...],
) -> None:
    call = make_call(1, "hi", stages=stages, decisions=DECISIONS)
    session = begin(tmp_path / "a.ctrace")
    session.write(call)
    session.amend(call)
    session.close()

    assert said(tmp_path / "a.ctrace", call.id) == (stages, DECISIONS)


def test_a_file_without_the_tables_has_nothing_said(
    tmp_path: Path, begin: Callable[..., SessionWriter], make_call: Callable[..., Call]
) -> None:
    path = tmp_path / "a.ctrace"
    call = make_call(1, "hi", decisions=DECISIONS)
    written(path, begin, call)
    with sqlite3.connect(path) as connection:
        connection.execute("drop table ctx_snapshot")
        connection.execute("drop table ctx_decision")
    connection.close()

    assert said(path, call.id) == ((), ())


def test_a_call_that_is_not_there_was_not_spoken_of(
    tmp_path: Path, begin: Callable[..., SessionWriter], make_call: Callable[..., Call]
) -> None:
    written(tmp_path / "a.ctrace", begin, make_call(1, "hi"))

    with pytest.raises(TraceNotFound):
        said(tmp_path / "a.ctrace", "0" * 32)


@pytest.mark.parametrize(
    "rows",
    [
        "no JSON",
        {"a": 1},
        [[0]],
        [[99, "l", "tagged", "", None], [-1, "l", "tagged", "", None]],
        [["unknown hash", "l", "heuristic", "", None], [True, "l", "heuristic", "", None]],
        [[0, "l", "heuristic", "", 7], [0, None, "heuristic", "", None]],
    ],
)
def test_entries_that_we_did_not_write_are_left_out(rows: Any) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table ctx_snapshot (call_id, number, stage, taken_at, packed)")
    plain = rows if isinstance(rows, str) else json.dumps(rows)
    row = ("c", 0, 5, None, zlib.compress(plain.encode()))
    connection.execute("insert into ctx_snapshot values (?, ?, ?, ?, ?)", row)
    found = read_stages(connection, "c", (), lambda _: {})
    connection.close()

    assert found == (Stage("5", "", ()),)
