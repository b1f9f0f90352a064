"""Private copies of live traces, and files that change into others while they are opened."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from ctxdiff_capture.errors import NotATrace, StoreError, TooLarge
from ctxdiff_capture.store import copies
from ctxdiff_capture.store.open import open_reader

from tests.trust.files.hostile import trace
from tests.trust.files.hostile_logs import logged

resource = pytest.importorskip("resource", reason="other rules of open files")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="other rules of open files")


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files, used from now on."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(copies.COPIES, "_room", None)
    return folder


def copied(temp: Path) -> list[str]:
    """Names of the copies that are there now."""
    return sorted(path.parent.name for path in temp.glob("ctxdiff-*/*/trace"))


def settle(path: Path) -> None:
    """Let the last change be long ago, as far as the file system tells."""
    for one in (path, Path(f"{path}-wal")):
        os.utime(one, ns=(0, 0))


def test_a_copy_serves_all_questions_until_the_trace_changes(
    temp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = logged(tmp_path)
    monkeypatch.setattr("ctxdiff_capture.store.careful._SETTLED_NS", 0)
    first, second = open_reader(path), open_reader(path)
    assert first.sessions() == second.sessions()
    assert first.sessions()[0].project == "renamed in the log"
    assert len(copied(temp)) == 1
    settle(path)
    third = open_reader(path)
    assert third.sessions() == first.sessions()
    for reader in (first, second, third):
        reader.close()
    del first, second, third, reader
    assert len(copied(temp)) == 1


def test_a_trace_that_changed_a_moment_ago_is_copied_anew(temp: Path, tmp_path: Path) -> None:
    path = logged(tmp_path)
    first, second = open_reader(path), open_reader(path)
    assert len(copied(temp)) == 2
    for reader in (first, second):
        reader.close()
    del first, second, reader
    assert copied(temp) == []


def test_copies_are_gone_after_the_end_and_after_a_kill(tmp_path: Path) -> None:
    path = logged(tmp_path)
    (tmp_path / "temp").mkdir()
    program = (
        "import sys, time; from ctxdiff_capture.store.open import open_reader\n"
        f"reader = open_reader({str(path)!r}); print('open', flush=True); sys.stdin.read()"
    )
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path / "temp"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }

    def running() -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        return process

    killed = running()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    left = list((tmp_path / "temp").iterdir())
    assert len(left) == 1
    other, last = running(), running()
    assert not left[0].exists()
    assert len(list((tmp_path / "temp").iterdir())) == 2
    for process in (other, last):
        process.communicate(b"")
    assert list((tmp_path / "temp").iterdir()) == []


def test_a_log_that_is_no_file_or_a_giant_is_refused(tmp_path: Path) -> None:
    path = logged(tmp_path)
    log = Path(f"{path}-wal")
    os.truncate(log, 2**40)
    with pytest.raises(TooLarge):
        open_reader(path)
    log.unlink()
    log.symlink_to("/dev/zero")
    with pytest.raises(NotATrace):
        open_reader(path)
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(NotATrace):
        open_reader(path)


def test_a_link_is_followed_only_for_a_person(tmp_path: Path) -> None:
    path = trace(tmp_path / "a.ctrace")
    (tmp_path / "link.ctrace").symlink_to(path)
    with pytest.raises(NotATrace):
        open_reader(tmp_path / "link.ctrace")
    reader = open_reader(tmp_path / "link.ctrace", follow_links=True)
    assert len(reader.sessions()) == 1
    reader.close()


@pytest.mark.timeout(120)
def test_a_file_that_is_swapped_while_it_is_opened_never_shows_another(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    path = trace(folder / "x.ctrace")
    secret = trace(tmp_path / "secret", "update run set project = 'secret'")
    (tmp_path / "link").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe")
    os.link(path, tmp_path / "kept")
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            for name in ("link", "pipe", "kept"):
                other = tmp_path / f"{name}-now"
                os.link(tmp_path / name, other, follow_symlinks=False)
                other.replace(path)
                # Of two names of one file, renaming keeps both.
                other.unlink(missing_ok=True)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    try:
        for _ in range(300):
            try:
                reader = open_reader(path)
                seen.add(reader.sessions()[0].project)
                reader.close()
            except StoreError:  # noqa: PERF203  most are refused
                seen.add("refused")
    finally:
        ended.set()
        swapping.join()
    assert "secret" not in seen


def test_where_a_copy_has_no_room_the_trace_is_not_called_damaged(
    temp: Path, tmp_path: Path
) -> None:
    path = trace(tmp_path / "x.ctrace", pragma="journal_mode = wal")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("update run set project = ?", ("long" * 50_000,))
        # The largest file that may be written, from nothing to enough for the joined copy.
        for room in range(0, 500_001, 20_000):
            with largest_file(room):
                try:
                    open_reader(path).close()
                    break
                except StoreError as refused:
                    problem, remedy = refused.problem, refused.remedy
            assert problem.startswith(f"{path} is being written and cannot be copied (")
            assert remedy.startswith("make room in the folder for temporary files")
            assert copied(temp) == []
    assert 200_000 < room < 500_000


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the descriptor in /proc")
def test_a_disk_that_fails_tells_nothing_of_the_trace(tmp_path: Path) -> None:
    path = trace(tmp_path / "x.ctrace")
    reader = open_reader(path)
    numbers = [int(one.name) for one in Path("/proc/self/fd").iterdir() if is_of(one, path)]
    with (tmp_path / "other").open("wb") as unreadable:
        for number in numbers:
            os.dup2(unreadable.fileno(), number)
        with pytest.raises(StoreError, match="cannot be read") as refused:
            reader.request("none")
    assert type(refused.value) is StoreError
    reader.close()


def is_of(descriptor: Path, path: Path) -> bool:
    """Whether an entry of `/proc/self/fd` leads to that file."""
    try:
        return descriptor.readlink() == path
    except OSError:
        return False


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let this process write no file larger than that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_without_a_folder_for_temporary_files_no_other_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = logged(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(copies.COPIES, "_room", None)
    monkeypatch.setattr("ctxdiff_capture.store.temporary._usual", lambda: [str(tmp_path / "none")])
    os.utime(tmp_path, (0, 0))
    with pytest.raises(StoreError, match=r"cannot be copied \(there is no folder for temporary"):
        open_reader(path)
    assert tmp_path.stat().st_mtime == 0
