"""Files that cannot be written: for now, or at all."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from ctxdiff_capture.errors import StoreError

pytestmark = pytest.mark.slow

FORTY = [f"{i} " + "word " * 2000 for i in range(40)]
ASK_FORTY = 'for i in range(40): ask(f"{i} " + "word " * 2000)'


def as_owner_without_privileges() -> tuple[str, ...]:
    """What to put before a command so that the modes of files count, also for root."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("root may write anywhere, and there is no setpriv")
    drop = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    if subprocess.run([*drop, "true"], check=False, capture_output=True).returncode:
        pytest.skip("setpriv is not allowed here")
    return drop


@pytest.mark.fault("full disk, freed")
def test_calls_of_the_time_when_a_disk_was_full_are_stored_once_it_has_room(
    runner: Any, asked: Any
) -> None:
    program = f"""
        watch_for_trouble()
        import resource
        ask("first")
        tracer.flush()
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, unlimited[1]))
        {ASK_FORTY}
        if IS_RECORDED: wait_for_trouble()
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        ask("last")
        tracer.flush()
    """
    ended = runner.run(program)

    assert asked(runner.file) == [["first", *FORTY, "last"]]
    (warning,) = ended.said
    assert warning.startswith(f"ctxdiff cannot write {runner.file} now: ")


@pytest.mark.fault("full disk, freed")
def test_a_trace_that_found_no_room_to_begin_is_begun_later(runner: Any, asked: Any) -> None:
    program = """
        watch_for_trouble()
        import resource
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, unlimited[1]))
        # The common lines have begun a trace before there was the limit.
        tracer = trace.init("fresh", path=os.path.dirname(PATH) + "/fresh.ctrace")
        mine = recorded(plain)
        ask("first", mine)
        if IS_RECORDED: wait_for_trouble()
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        ask("last", mine)
    """
    ended = runner.run(program)

    assert asked(runner.file.with_name("fresh.ctrace")) == [["first", "last"]]
    assert len([line for line in ended.said if "fresh.ctrace" in line]) == 1


@pytest.mark.fault("full disk")
def test_a_disk_that_stays_full_costs_the_rest_which_is_counted(runner: Any, asked: Any) -> None:
    program = f"""
        watch_for_trouble()
        import resource
        ask("first")
        tracer.flush()
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        {ASK_FORTY}
    """
    ended = runner.run(program)

    ((first, *kept),) = asked(runner.file)
    assert (first, kept) == ("first", FORTY[: len(kept)])
    assert len(kept) < 40
    warning, total = ended.said
    assert warning.startswith(f"ctxdiff cannot write {runner.file} now: ")
    assert total == f"ctxdiff: {40 - len(kept)} calls are not in {runner.file}"


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of its own of 2 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.fault("full disk, freed")
def test_a_file_system_that_has_no_room_for_a_while_costs_nothing(
    runner: Any, asked: Any, small_disk: Path
) -> None:
    runner.file = small_disk / "t.ctrace"
    program = """
        watch_for_trouble()
        ballast = os.path.join(os.path.dirname(PATH), "ballast")
        ask("first")
        tracer.flush()
        if IS_RECORDED:
            with open(ballast, "wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)): pass
                except OSError: pass
        for i in range(5): ask(f"{i} " + str(list(range(i, i + 9000))))
        if IS_RECORDED:
            wait_for_trouble()
            os.remove(ballast)
    """
    ended = runner.run(program)

    (texts,) = asked(runner.file)
    assert [text.split()[0] for text in texts] == ["first", *"01234"]
    assert len(ended.said) == 1


@pytest.mark.fault("locked file, freed")
def test_calls_of_the_time_when_another_program_held_the_file_are_stored_afterwards(
    runner: Any, asked: Any, stored: Any
) -> None:
    program = """
        for i in range(20): ask(str(i))
        say("asked")
        sys.stdin.readline()
    """
    with closing(sqlite3.connect(runner.file, isolation_level=None)) as holder:
        holder.execute("begin exclusive")
        running = runner.start(program)
        running.said("asked")
        holder.execute("rollback")
    stored(runner.file, 20)
    running.tell("end")
    ended = running.end()

    assert (ended.status, asked(runner.file)) == (0, [[str(i) for i in range(20)]])
    assert not [line for line in ended.said if "are not in" in line]


@pytest.mark.fault("locked file")
def test_a_file_that_stays_locked_costs_the_trace_and_not_the_program(runner: Any) -> None:
    program = """
        for i in range(20): ask(str(i))
        say("asked")
    """
    with closing(sqlite3.connect(runner.file, isolation_level=None)) as holder:
        holder.execute("begin exclusive")
        ended = runner.run(program)
        holder.execute("rollback")
        tables = holder.execute("select name from sqlite_master").fetchall()

    trouble, given_up = ended.said
    assert "stayed locked by another program" in trouble
    assert given_up.startswith(f"ctxdiff gave up waiting for {runner.file}; about 20 calls")
    assert tables == []


@pytest.mark.fault("read-only folder")
def test_a_folder_that_may_not_be_written_costs_the_trace(runner: Any) -> None:
    prefix = as_owner_without_privileges()
    runner.file.parent.chmod(0o500)
    try:
        ended = runner.run("for i in range(5): ask(str(i))", prefix=prefix)
        found = list(runner.file.parent.iterdir())
    finally:
        runner.file.parent.chmod(0o700)

    assert found == []
    problem, total = ended.said
    assert "cannot be written (Permission denied)" in problem
    assert total == f"ctxdiff: 5 calls are not in {runner.file}"


@pytest.mark.fault("missing folder")
def test_a_folder_that_is_missing_costs_the_trace(runner: Any) -> None:
    runner.file = runner.folder / "missing" / "t.ctrace"

    ended = runner.run("for i in range(5): ask(str(i))")

    assert not runner.file.parent.exists()
    problem, total = ended.said
    assert "cannot be written (No such file or directory)" in problem
    assert total == f"ctxdiff: 5 calls are not in {runner.file}"


def a_picture(path: Path) -> None:
    path.write_bytes(b"\x89PNG this is no database" * 100)


def another_programs_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table customer (name text)")
        database.execute("insert into customer values ('Ann')")
        database.commit()


def a_trace_of_a_newer_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(NEWER)


NEWER = """
create table run (id text primary key, project text, started_at text, provider text, models text,
    ctxdiff_version text, schema_version integer);
create table call (id text primary key, run_id text, seq integer, params text, usage text,
    latency_ms integer, error text, agent text, step text, provider text);
create table block (content_hash text primary key, role text, kind text, text text,
    token_count integer, token_method text);
create table call_block (call_id text, block_id text, position integer, label text,
    label_source text);
insert into run values ('r', 'p', '2030', 'openai', '[]', '99', 99);
"""


@pytest.mark.fault("foreign file")
@pytest.mark.parametrize("make", [a_picture, another_programs_database, a_trace_of_a_newer_program])
def test_a_file_that_is_not_ours_stays_as_it_is(runner: Any, make: Any) -> None:
    make(runner.file)
    before = runner.file.read_bytes()

    ended = runner.run("for i in range(5): ask(str(i))")

    assert [p.name for p in runner.file.parent.iterdir()] == ["t.ctrace"]
    assert runner.file.read_bytes() == before
    problem, total = ended.said
    assert problem.startswith(f"ctxdiff records nothing in {runner.file}: ")
    assert total == f"ctxdiff: 5 calls are not in {runner.file}"


@pytest.mark.fault("deleted file")
def test_a_file_that_is_deleted_takes_the_later_calls_with_it_which_are_counted(
    runner: Any,
) -> None:
    program = """
        ask("first")
        tracer.flush()
        if IS_RECORDED: os.remove(PATH)
        for i in range(5): ask(str(i))
    """
    ended = runner.run(program)

    problem, total = ended.said
    assert problem.startswith(f"ctxdiff could not record a call in {runner.file}")
    assert total == f"ctxdiff: 5 calls are not in {runner.file}"


@pytest.mark.fault("copy of the file")
def test_a_copy_of_the_file_alone_has_the_calls_once_the_program_is_idle(
    runner: Any, asked: Any
) -> None:
    """Without the log beside it, which holds what was written last."""
    program = """
        for i in range(20): ask(str(i))
        say("asked")
        sys.stdin.readline()
    """
    running = runner.start(program)
    running.said("asked")
    copy = runner.folder / "copy.ctrace"

    texts: list[list[str]] = []
    until = monotonic() + 60
    while [len(t) for t in texts] != [20] and monotonic() < until:
        sleep(0.05)
        with suppress(StoreError, OSError):
            shutil.copy(runner.file, copy)
            texts = asked(copy)
    running.process.kill()
    running.end()

    assert texts == [[str(i) for i in range(20)]]


@pytest.mark.fault("read-only folder, reading")
def test_a_trace_that_was_cut_off_is_read_in_a_folder_that_may_not_be_written(
    runner: Any, asked: Any, stored: Any
) -> None:
    program = """
        for i in range(5): ask(str(i))
        say("asked")
        threading.Event().wait()
    """
    running = runner.start(program)
    running.said("asked")
    stored(runner.file, 5)
    running.process.kill()
    running.end()
    before = {p.name: p.read_bytes() for p in runner.file.parent.iterdir()}
    runner.file.parent.chmod(0o500)
    try:
        texts = asked(runner.file)
        code = f"from ctxdiff_capture import read; read({str(runner.file)!r}).close()"
        prefix = as_owner_without_privileges()
        subprocess.run([*prefix, sys.executable, "-c", code], env=runner.environment, check=True)
    finally:
        runner.file.parent.chmod(0o700)

    assert texts == [list("01234")]
    assert {p.name: p.read_bytes() for p in runner.file.parent.iterdir()} == before
