"""The file behind the writer: its rights, locks, crashes, neighbours, and what is not ours."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.errors import NotATrace, StoreBusy, StoreError, UnsupportedVersion
from ctxdiff_capture.model import Call
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session, open_reader
from ctxdiff_capture.store.sqlite_writer import SQLiteWriter

Begin = Callable[..., SessionWriter]
MakeCall = Callable[..., Call]


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_files_are_for_their_owner_only(tmp_path: Path, begin: Begin, make_call: MakeCall) -> None:
    writer = begin(tmp_path / "a.ctrace")
    writer.write(make_call(1, "hi"))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    writer.close()
    assert modes == {"a.ctrace": 0o600, "a.ctrace-shm": 0o600, "a.ctrace-wal": 0o600}


def test_closing_leaves_one_file_and_may_be_done_twice(
    tmp_path: Path, begin: Begin, make_call: MakeCall
) -> None:
    writer = begin(tmp_path / "a.ctrace")
    writer.write(make_call(1, "hi"))
    writer.close()
    writer.close()
    assert [file.name for file in tmp_path.iterdir()] == ["a.ctrace"]


def test_a_trace_is_readable_while_it_is_written(
    tmp_path: Path, begin: Begin, make_call: MakeCall, bytes_of: Callable[[Path], dict[str, str]]
) -> None:
    writer = begin(tmp_path / "a.ctrace")
    for seq in (1, 2):
        writer.write(make_call(seq, "hi"))
        before = bytes_of(tmp_path)
        reader = open_reader(tmp_path / "a.ctrace")
        assert len(reader.load(writer.session_id).calls) == seq
        reader.close()
        assert bytes_of(tmp_path) == before
    writer.close()


def test_two_writers_share_a_file(tmp_path: Path, begin: Begin, make_call: MakeCall) -> None:
    def record(number: int) -> None:
        writer = begin(tmp_path / "a.ctrace", session_id=f"{number:032x}")
        for seq in range(1, 41):
            writer.write(make_call(seq, "shared", f"{number} {seq}", id=f"{number:016x}{seq:016x}"))
        writer.close()

    threads = [threading.Thread(target=record, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader = open_reader(tmp_path / "a.ctrace")
    seqs = [[c.seq for c in reader.load(s.id).calls] for s in reader.sessions()]
    reader.close()
    assert seqs == [list(range(1, 41))] * 2


def record_and_die(path: Path, call: Call) -> None:
    details = {"project": "p", "provider": "openai", "started_at": "2026", "session_id": "s"}
    writer = create_session(Destination(path=path), **details)
    writer.write(call)
    assert isinstance(writer, SQLiteWriter)
    writer._connection.execute("begin immediate")
    writer._insert(dataclasses.replace(call, id="half", seq=2))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_writer_leaves_the_calls_before_and_nothing_of_the_last(
    tmp_path: Path, make_full_call: MakeCall, begin: Begin, make_call: MakeCall
) -> None:
    path = tmp_path / "a.ctrace"
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=record_and_die, args=(path, make_full_call(1)))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    reader = open_reader(path)
    assert [call.seq for call in reader.load("s").calls] == [1]
    reader.close()
    writer = begin(path)
    writer.write(make_call(7, "next"))
    writer.close()
    assert rows(path, "select seq from call order by seq") == [(1,), (7,)]


def test_a_lock_that_stays_is_told(tmp_path: Path, begin: Begin, make_call: MakeCall) -> None:
    path = tmp_path / "a.ctrace"
    begin(path).close()
    details = {"project": "p", "provider": "openai", "started_at": "2026"}
    writer = SQLiteWriter(path, **details, busy_seconds=0.01)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(StoreBusy):
        writer.write(make_call(1, "hi"))
    other.execute("rollback")
    other.close()
    writer.write(make_call(1, "hi"))
    writer.close()
    assert rows(path, "select count(*) from call") == [(1,)]


def test_a_file_of_the_older_layout_is_widened_and_keeps_its_sessions(
    tmp_path: Path, begin: Begin, make_full_call: MakeCall
) -> None:
    path = tmp_path / "v1.ctrace"
    path.write_bytes((Path(__file__).parent / "data/ctrace/v1-schema.ctrace").read_bytes())
    writer = begin(path)
    writer.write(make_full_call(1))
    writer.close()
    names = [row[1] for row in rows(path, "pragma table_info(call)")]
    assert names[-3:] == ["agent", "step", "provider"]
    reader = open_reader(path)
    old, new = reader.sessions()
    assert (old.schema_version, old.calls, new.schema_version, new.calls) == (1, 3, 2, 1)
    assert [reader.load(s.id).has_outputs for s in (old, new)] == [False, True]
    reader.close()


@pytest.mark.parametrize(
    "tables", ["create table notes (x)", "create table run (x); create table call (y)"]
)
def test_another_programs_database_is_not_touched(
    tmp_path: Path, begin: Begin, tables: str, bytes_of: Callable[[Path], dict[str, str]]
) -> None:
    path = tmp_path / "browser.db"
    connection = sqlite3.connect(path)
    connection.executescript(tables)
    connection.close()
    before = bytes_of(tmp_path)
    with pytest.raises(NotATrace):
        begin(path)
    assert bytes_of(tmp_path) == before


@pytest.mark.parametrize("content", [b"# notes\n", b"SQLite format 3\x00 but not really"])
def test_a_file_of_another_kind_is_not_touched(
    tmp_path: Path, begin: Begin, content: bytes
) -> None:
    path = tmp_path / "notes.ctrace"
    path.write_bytes(content)
    with pytest.raises(NotATrace):
        begin(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_with_a_newer_session_is_not_appended_to(tmp_path: Path, begin: Begin) -> None:
    path = tmp_path / "a.ctrace"
    begin(path).close()
    begin(path).close()
    connection = sqlite3.connect(path)
    connection.execute("update run set schema_version = 3 where rowid = 1")
    connection.commit()
    connection.close()
    with pytest.raises(UnsupportedVersion):
        begin(path)
    assert rows(path, "select count(*) from run") == [(2,)]


def test_an_empty_file_becomes_a_trace(tmp_path: Path, begin: Begin) -> None:
    (tmp_path / "a.ctrace").touch()
    begin(tmp_path / "a.ctrace").close()
    assert rows(tmp_path / "a.ctrace", "select count(*) from run") == [(1,)]


def test_a_folder_that_is_missing_is_told(tmp_path: Path, begin: Begin) -> None:
    with pytest.raises(StoreError, match="create its folder"):
        begin(tmp_path / "no" / "a.ctrace")


def record_some(path: Path) -> None:
    details = {"project": "p", "provider": "openai", "started_at": "2026"}
    for _ in range(5):
        writer = create_session(Destination(path=path), **details)
        call = Call(writer.session_id, 1, "openai", "openai.chat", ())
        writer.write(call)
        writer.close()


def test_programs_that_come_and_go_on_one_new_file_lose_no_session(tmp_path: Path) -> None:
    path = tmp_path / "a.ctrace"
    context = multiprocessing.get_context("spawn")
    programs = [context.Process(target=record_some, args=(path,)) for _ in range(4)]
    for program in programs:
        program.start()
    for program in programs:
        program.join(120)
    assert [program.exitcode for program in programs] == [0] * 4
    assert rows(path, "select count(*), count(distinct run_id) from call") == [(20, 20)]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_was_removed_takes_no_more_calls_and_says_so(
    tmp_path: Path, begin: Begin, make_call: MakeCall, is_replaced: bool
) -> None:
    path = tmp_path / "a.ctrace"
    writer = begin(path)
    writer.write(make_call(1))
    path.rename(tmp_path / "moved")
    if is_replaced:
        path.write_bytes(b"")
    with pytest.raises(StoreError, match="removed or replaced"):
        writer.write(make_call(2))
    writer.close()
