"""What a reader refuses, and what a damaged or foreign value costs: its field."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ctxdiff_capture.errors import (
    EmptyTrace,
    NotATrace,
    StoreBusy,
    StoreError,
    TraceNotFound,
    UnfinishedChange,
    UnsafeTrace,
    UnsupportedVersion,
)
from ctxdiff_capture.model import Call
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.store.open import open_reader

Begin = Callable[..., SessionWriter]
MakeCall = Callable[..., Call]
SESSION = "5" * 32


@pytest.fixture
def trace(tmp_path: Path, begin: Begin, make_call: MakeCall, make_full_call: MakeCall) -> Path:
    """A file alone in a folder: call 1 has all fields, calls 2 and 3 share a text."""
    (tmp_path / "alone").mkdir()
    path = tmp_path / "alone" / "a.ctrace"
    writer = begin(path, session_id=SESSION)
    writer.write_many([make_full_call(1), make_call(2, "a", "b"), make_call(3, "a", "b", "c")])
    writer.close()
    return path


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("pragma foreign_keys = off")
    connection.execute("pragma ignore_check_constraints = on")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(TraceNotFound):
        open_reader(tmp_path / "no.ctrace")
    with pytest.raises(TraceNotFound):
        open_reader(tmp_path / "no" / "no.ctrace")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"text", b"SQLite format 3\x00", b"\x00" * 4096])
def test_other_files_are_no_trace(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.ctrace").write_bytes(content)
    with pytest.raises(NotATrace):
        open_reader(tmp_path / "a.ctrace")
    assert (tmp_path / "a.ctrace").read_bytes() == content


def test_a_folder_and_a_pipe_are_no_trace(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ctrace")
    for path in (tmp_path, tmp_path / "pipe.ctrace"):
        with pytest.raises(NotATrace, match="not a regular file"):
            open_reader(path)


def test_a_path_too_long_for_sqlite_is_told(trace: Path, tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["folder" * 10] * 10)
    deep.mkdir(parents=True)
    shutil.copy(trace, deep)
    with pytest.raises(StoreError, match="shorter path"):
        open_reader(deep / trace.name)


def test_a_trace_without_sessions_says_so(trace: Path) -> None:
    change(trace, "delete from run")
    with pytest.raises(EmptyTrace):
        open_reader(trace)


@pytest.mark.parametrize(("version", "error"), [(3, UnsupportedVersion), (0, NotATrace)])
def test_the_newest_session_decides_whether_a_file_is_readable(
    trace: Path, version: int, error: type[StoreError]
) -> None:
    change(trace, f"update run set schema_version = {version}")
    with pytest.raises(error):
        open_reader(trace)
    change(trace, "insert into run values ('new', 'p', '', 'openai', '[]', '0.5.1', 2)")
    reader = open_reader(trace)
    assert [session.schema_version for session in reader.sessions()] == [version, 2]
    reader.close()


ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n) select x"


@pytest.mark.parametrize(
    "statements",
    [
        ["drop table call"],
        ["drop table run", f"create view run as {ENDLESS} as id from n"],
        ["alter table block rename to b", "create view block as select * from b"],
        ["alter table call_block rename column position to place"],
        ["drop table ctx_call", "create table ctx_call (call_id)"],
        ["drop table ctx_output", "create view ctx_output as select 1 as call_id"],
        ["drop table run", "create virtual table run using fts5(id)"],
    ],
)
def test_a_table_that_is_not_what_its_name_says_is_refused(
    trace: Path, statements: list[str]
) -> None:
    change(trace, *statements)
    with pytest.raises(NotATrace):
        open_reader(trace)


@pytest.mark.parametrize(
    "statement",
    [
        f"create view endless as {ENDLESS} from n",
        "create trigger t after insert on run begin delete from call; end",
        "create index i on block (lower(text))",
        "create virtual table words using fts5(word)",
        "create table other (x)",
        "alter table run add column more generated always as (id || id) virtual",
    ],
)
def test_what_no_trace_has_makes_a_file_unsafe(trace: Path, statement: str) -> None:
    change(trace, statement)
    with pytest.raises(UnsafeTrace):
        open_reader(trace)


def test_a_table_of_a_newer_version_is_left_alone(trace: Path) -> None:
    change(trace, "create table ctx_newer (x)", "alter table call add column newer", "analyze")
    reader = open_reader(trace)
    assert reader.sessions()[0].calls == 3
    with pytest.raises(sqlite3.DatabaseError):
        reader._connection.execute("select * from ctx_newer")  # type: ignore[attr-defined]
    reader.close()


def test_an_unfinished_change_beside_the_file_is_not_played(
    trace: Path, bytes_of: Callable[[Path], dict[str, str]]
) -> None:
    (trace.parent / "a.ctrace-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
    before = bytes_of(trace.parent)
    with pytest.raises(UnfinishedChange):
        open_reader(trace)
    assert bytes_of(trace.parent) == before


def test_a_journal_that_was_played_or_committed_is_no_unfinished_change(trace: Path) -> None:
    for content in (b"", bytes(512)):
        (trace.parent / "a.ctrace-journal").write_bytes(content)
        open_reader(trace).close()


def test_a_log_of_nonsense_beside_the_file_changes_nothing(
    trace: Path, bytes_of: Callable[[Path], dict[str, str]]
) -> None:
    (trace.parent / "a.ctrace-wal").write_bytes(b"nonsense" * 100)
    before = bytes_of(trace.parent)
    reader = open_reader(trace)
    assert len(reader.load(SESSION).calls) == 3
    reader.close()
    assert bytes_of(trace.parent) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_child_that_ends_leaves_its_parents_copy(trace: Path, tmp_path: Path) -> None:
    (trace.parent / "a.ctrace-wal").write_bytes(b"nonsense" * 100)
    program = f"""
import os, sys
from ctxdiff_capture.store.open import open_reader
reader = open_reader({str(trace)!r})
(copy,) = os.listdir({str(tmp_path / "temp")!r})
child = os.fork()
if child:
    os.waitpid(child, 0)
    assert os.listdir({str(tmp_path / "temp")!r}) == [copy]
    assert len(reader.sessions()) == 1
"""
    (tmp_path / "temp").mkdir()
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path / "temp"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env=environment)
    assert list((tmp_path / "temp").iterdir()) == []


def test_a_reader_of_a_file_that_was_changed_since_asks_to_be_opened_again(
    trace: Path, begin: Begin, make_call: MakeCall
) -> None:
    reader = open_reader(trace)
    writer = begin(trace)
    writer.write(make_call(1, "later", id="later"))
    assert [session.calls for session in reader.sessions()] == [3]
    writer.close()
    with pytest.raises(StoreBusy, match="open it again"):
        reader.sessions()
    reader.close()
    reader = open_reader(trace)
    assert [session.calls for session in reader.sessions()] == [3, 1]
    reader.close()


def test_a_reader_of_a_file_that_was_replaced_goes_on(trace: Path, tmp_path: Path) -> None:
    reader = open_reader(trace)
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "other").replace(trace)
    assert len(reader.load(SESSION).calls) == 3
    reader.close()


def test_a_closed_reader_says_so(trace: Path) -> None:
    reader = open_reader(trace)
    reader.close()
    with pytest.raises(StoreError, match="was closed"):
        reader.sessions()


def test_what_is_not_there_is_told(trace: Path) -> None:
    reader = open_reader(trace)
    for ask in (reader.detail, reader.inputs, reader.outputs, reader.request, reader.load):
        for unknown in ("no", "\ud800"):
            with pytest.raises(TraceNotFound):
                ask(unknown)
    assert reader.texts(["no", "\ud800"]) == {}
    reader.close()


@pytest.mark.parametrize(
    ("statement", "note"),
    [
        ("update call set usage = '[1]' where seq = 2", "a call's usage is no JSON object"),
        ("update call set usage = x'ff' where seq = 2", "a call's usage is no JSON object"),
        ("update call set params = '{' where seq = 2", "a call's params is no JSON object"),
        ("update call set latency_ms = 'soon' where seq = 2", "a latency is no usable number"),
        ("update call set latency_ms = -5 where seq = 2", "a latency is no usable number"),
        ("update ctx_call set error_status = 'x'", "an error status is no usable number"),
        ("update block set token_count = -1 where text = 'a'", "a token count is no usable"),
        ("update block set token_count = 'x' where text = 'a'", "a token count is no usable"),
        ("update block set token_count = 1e300 where text = 'a'", "a token count is no usable"),
    ],
)
def test_a_bad_value_costs_its_field_and_is_noted(trace: Path, statement: str, note: str) -> None:
    change(trace, statement)
    reader = open_reader(trace)
    recording = reader.load(SESSION)
    reader.close()
    (line,) = recording.notes
    assert line.startswith(note)
    assert [call.seq for call in recording.calls] == [1, 2, 3]
    assert recording.calls[1].usage is None
    assert recording.calls[1].latency_ms is None
    assert [len(inputs) for inputs in recording.inputs] == [3, 2, 3]


def test_json_that_nests_without_end_costs_its_field(trace: Path) -> None:
    change(trace, f"update call set params = '{'[' * 200_000}' where seq = 2")
    reader = open_reader(trace)
    recording = reader.load(SESSION)
    reader.close()
    assert recording.calls[1].params == {}
    assert recording.notes == ("a call's params is no JSON object and was left out (1x)",)


def test_a_call_without_a_number_is_left_out_and_noted(trace: Path) -> None:
    change(trace, "update call set seq = 'two' where seq = 2")
    reader = open_reader(trace)
    recording = reader.load(SESSION)
    reader.close()
    assert [call.seq for call in recording.calls] == [1, 3]
    assert recording.notes == ("a call's number is no number and the call was left out (1x)",)


def test_a_block_that_is_not_stored_is_left_out_and_noted(trace: Path, make_call: MakeCall) -> None:
    change(trace, "delete from block where text in ('a', 'Hello.')")
    reader = open_reader(trace)
    recording = reader.load(SESSION)
    kept = [p.block.text for p in reader.inputs(make_call(3).id)]
    reader.close()
    assert [list(positions) for positions in recording.positions] == [[0, 1, 2], [1], [1, 2]]
    assert [len(outputs) for outputs in recording.outputs] == [1, 0, 0]
    assert kept == ["b", "c"]
    assert recording.notes == ("a block that a call names is not stored and was left out (3x)",)


@pytest.mark.parametrize(
    "statement",
    [
        "update call_block set position = position + 10 where call_id like '%3'",
        "update call_block set position = -1 where call_id like '%3' and position = 0",
        "update call_block set rowid = 100 - position where call_id like '%3'",
        "update call_block set rowid = rowid * 100",
        "update call_block set label = 'x,y' where call_id like '%3'",
        "update call_block set label = x'61ff' where call_id like '%3'",
        "update call_block set label_source = '' where call_id like '%3'",
    ],
)
def test_rows_in_any_arrangement_give_the_same_order(trace: Path, statement: str) -> None:
    change(trace, statement)
    reader = open_reader(trace)
    recording = reader.load(SESSION)
    texts = reader.texts(head.content_hash for head in recording.blocks)
    contexts = [[texts[recording.blocks[i].content_hash] for i in row] for row in recording.inputs]
    reader.close()
    assert contexts[1:] == [["a", "b"], ["a", "b", "c"]]
    assert recording.notes == ()


def test_text_that_is_not_utf8_is_read(trace: Path) -> None:
    change(
        trace,
        "update block set text = cast(x'61ff62' as text) where text = 'a'",
        "update block set text = x'63fe' where text = 'c'",
        "update run set project = cast(x'ff' as text)",
    )
    reader = open_reader(trace)
    assert reader.sessions()[0].project == "\udcff"
    recording = reader.load(SESSION)
    texts = set(reader.texts(head.content_hash for head in recording.blocks).values())
    reader.close()
    assert {"a\udcffb", "c\udcfe"} < texts


def test_an_older_session_with_bad_models_hides_nothing(trace: Path) -> None:
    change(
        trace,
        "update run set models = '{'",
        "insert into run values ('new', 'p', '', 'openai', '[\"m\", 1]', '0.5.1', 2)",
    )
    reader = open_reader(trace)
    assert [session.models for session in reader.sessions()] == [(), ("m",)]
    reader.close()


@pytest.mark.parametrize("missing", ["ctx_call", "ctx_placement", "ctx_output", "ctx_request"])
def test_a_file_without_one_of_our_tables_still_reads(
    trace: Path, missing: str, make_full_call: MakeCall
) -> None:
    change(trace, f"drop table {missing}")
    call = make_full_call(1)
    reader = open_reader(trace)
    assert len(reader.load(SESSION).calls) == 3
    texts = [p.block.text for p in reader.inputs(call.id)]
    assert texts == [p.block.text for p in call.inputs]
    reader.detail(call.id)
    reader.outputs(call.id)
    body = b"".join(call.request_pieces or ())
    expected = {"ctx_call": None, "ctx_request": None}.get(missing, body)
    assert reader.request(call.id) == expected
    reader.close()


@pytest.mark.parametrize(
    "statement",
    [
        "update ctx_piece set body = x'00' where id = 1",
        "update ctx_piece set body = 'text', codec = 'zlib' where id = 1",
        "update ctx_piece set size = 1e18 where id = 1",
        "delete from ctx_piece where id = 1",
        "update ctx_request set pieces = x'00'",
        "update ctx_request set pieces = 7",
        "update ctx_call set request_digest = 'other'",
    ],
)
def test_a_damaged_request_is_not_passed_off_as_the_sent_one(
    trace: Path, statement: str, make_full_call: MakeCall
) -> None:
    change(trace, statement)
    reader = open_reader(trace)
    with pytest.raises(NotATrace):
        reader.request(make_full_call(1).id)
    assert len(reader.load(SESSION).calls) == 3
    reader.close()


@pytest.mark.parametrize("column", ["attempts", "tags", "markers", "metadata"])
@pytest.mark.parametrize(
    "value", ["'['", "'[7]'", "7", "x'ff'", "'\"a\"'", "'[[1,2]]'", '\'[["a", "b", 3]]\'']
)
def test_a_damaged_detail_is_empty(
    trace: Path, column: str, value: str, make_full_call: MakeCall
) -> None:
    change(trace, f"update ctx_call set {column} = {value}")
    reader = open_reader(trace)
    detail = reader.detail(make_full_call(1).id)
    reader.close()
    assert getattr(detail, column) in ((), {})
    assert detail.request_id == "req_1"


def test_texts_are_found_literally_in_order_of_appearance(
    trace: Path, begin: Begin, make_call: MakeCall
) -> None:
    writer = begin(trace)
    writer.write(make_call(1, "100% b_x", "B_", "nul\0b_", id="other"))
    writer.write(make_call(2, "b_ first", "100% b_x", id="later"))
    writer.close()
    reader = open_reader(trace)
    found = reader.find_text(writer.session_id, "b_")
    texts = reader.texts(found)
    assert [texts[content_hash] for content_hash in found] == ["100% b_x", "nul\0b_", "b_ first"]
    answers = reader.texts(reader.find_text(SESSION, "Hello"))
    assert list(answers.values()) == ["Hello."]
    assert reader.find_text(SESSION, "b_") == []
    assert reader.find_text(SESSION, "\ud800") == []
    reader.close()


def test_a_question_that_takes_too_long_is_given_up(
    tmp_path: Path, begin: Begin, make_call: MakeCall
) -> None:
    writer = begin(tmp_path / "a.ctrace")
    texts = [f"text {number}" for number in range(2_000)]
    writer.write_many([make_call(seq, *texts) for seq in range(1, 4)])
    writer.close()
    reader = open_reader(tmp_path / "a.ctrace", seconds_per_question=0.0)
    with pytest.raises(StoreError, match="took longer than 0 s"):
        reader.load(writer.session_id)
    reader.close()


def test_a_cut_off_file_is_damaged_and_not_a_crash(trace: Path, tmp_path: Path) -> None:
    whole = trace.read_bytes()
    for size in range(512, len(whole), 4096):
        cut = tmp_path / f"{size}.ctrace"
        cut.write_bytes(whole[:size])
        try:
            reader = open_reader(cut)
            for session in reader.sessions():
                for call in reader.load(session.id).calls:
                    reader.inputs(call.id)
            reader.close()
        except StoreError as error:
            assert error.remedy  # noqa: PT017 - either way of ending is fine, but only these two
    shutil.rmtree(trace.parent)


@pytest.mark.parametrize("bad", ["cast(x'ff61' as text)", "x'6162'", "7", "printf('%.9000c', 'x')"])
def test_a_call_whose_id_cannot_be_asked_for_is_left_out_and_noted(trace: Path, bad: str) -> None:
    change(trace, f"update call set id = {bad} where seq = 2")
    reader = open_reader(trace)
    recording = reader.load(SESSION)
    reader.close()
    assert [call.seq for call in recording.calls] == ([1, 2, 3] if bad == "7" else [1, 3])


@pytest.mark.parametrize("column", ["agent", "step", "error", "provider"])
def test_a_name_without_end_costs_its_field_and_is_noted(trace: Path, column: str) -> None:
    change(trace, f"update call set {column} = printf('%.90000c', 'x') where seq = 2")
    reader = open_reader(trace)
    recording = reader.load(SESSION)
    reader.close()
    assert getattr(recording.calls[1], column) is None
    assert recording.notes == ("a call's field is longer than is read and was left out (1x)",)


def test_a_text_without_end_costs_its_block_and_is_noted(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(trace, "update block set text = printf('%.70000000c', 'x') where text = 'a'")
    reader = open_reader(trace)
    recording = reader.load(SESSION)
    texts = reader.texts(head.content_hash for head in recording.blocks)
    reader.close()
    assert [list(positions) for positions in recording.positions] == [[0, 1, 2], [1], [1, 2]]
    assert {"b", "c"} < set(texts.values())
    assert recording.notes == ("a block that a call names is not stored and was left out (2x)",)


def test_texts_that_are_too_long_together_come_in_parts(trace: Path) -> None:
    change(
        trace,
        "update block set text = printf('%.40000000c', 'x') where text = 'a'",
        "update block set text = printf('%.40000000c', 'y') where text = 'b'",
    )
    reader = open_reader(trace)
    hashes = [head.content_hash for head in reader.load(SESSION).blocks]
    left, parts = hashes, []
    while left:
        part = reader.texts(left)
        parts.append(len(part))
        left = [content_hash for content_hash in left if content_hash not in part]
    reader.close()
    assert sum(parts) == len(hashes)
    assert len(parts) > 1


@pytest.mark.parametrize("depth", [99, 101, 900, 5_000])
def test_json_may_nest_to_a_depth_that_programs_can_walk(trace: Path, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    change(trace, f"""update call set params = '{{"a": {nested}}}' where seq = 2""")
    reader = open_reader(trace)
    recording = reader.load(SESSION)
    reader.close()
    assert bool(recording.calls[1].params) is (depth < 100)
