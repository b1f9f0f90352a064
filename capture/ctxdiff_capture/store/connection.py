"""Opening a trace for reading without touching a byte of it or of its folder.

An ordinary SQLite connection would roll a journal back, create `-shm`, or checkpoint a `-wal`.
So a file alone is opened as immutable, and one with a write-ahead log is read from a private copy.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ctxdiff_capture.errors import NotATrace, StoreBusy, StoreError, TraceNotFound

MAGIC = b"SQLite format 3\x00"
"""Source: https://www.sqlite.org/fileformat.html, section 1.3."""

_DEFENCES = ("trusted_schema = off", "cell_size_check = on", "mmap_size = 0", "query_only = on")
"""Source: https://www.sqlite.org/security.html, section 1.2."""

_ATTEMPTS = 20
_PAUSE_SECONDS = 0.02
_WAL_HEADER_BYTES = 32


class PrivateFolder:
    """A temporary folder, removed by `cleanup`, or else when it is collected or the program ends.

    Unlike `tempfile.TemporaryDirectory`, a forked child that ends does not remove its parent's.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ctxdiff-"))
        self.cleanup = weakref.finalize(self, _remove_own, self.path, os.getpid())


def _remove_own(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Opened:
    """A read-only connection and the folder that holds its private copy, if it has one."""

    path: Path
    connection: sqlite3.Connection
    copy: PrivateFolder | None
    identity: tuple[int, int, int]
    """Inode, size and time of change when it was opened."""

    def is_stale(self) -> bool:
        """Whether pages may come from two states: the file was changed where it stands.

        A private copy never is, nor is a file that was deleted or replaced by another.
        """
        if self.copy is not None:
            return False
        now = _identity(self.path)
        return now is not None and now != self.identity and now[0] == self.identity[0]

    def close(self) -> None:
        """Close the connection, remove the copy."""
        self.connection.close()
        if self.copy is not None:
            self.copy.cleanup()


def open_untouched(path: Path) -> Opened:
    """Open a SQLite file for reading. Nothing on disk changes, whoever else uses it.

    Raises:
        TraceNotFound: there is no such file.
        NotATrace: it is not a SQLite file.
        StoreBusy: an unfinished change lies beside it, or it changes faster than it can be copied.
        StoreError: it may not be read.
    """
    try:
        for _ in range(_ATTEMPTS):
            _check_is_sqlite(path)
            _refuse_journal(path)
            opened = _opened_alone(path) or _opened_as_copy(path)
            if opened is not None:
                return opened
            time.sleep(_PAUSE_SECONDS)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read ({error.strerror})", remedy="check its permissions"
        ) from None
    raise StoreBusy(
        f"{path} changed each time it was copied", remedy="ask again when its writer is quieter"
    )


def _opened_alone(path: Path) -> Opened | None:
    """The file where it stands, or None when a log belongs to it."""
    identity = _identity(path)
    if identity is None or _size_of(_beside(path, "-wal")):
        return None
    return Opened(path, _connected(path, immutable=True), None, identity)


def _opened_as_copy(path: Path) -> Opened | None:
    """A private copy of file and log, or None when they changed meanwhile."""
    copy = PrivateFolder()
    try:
        if _is_copied(path, copy.path / "trace"):
            connection = _connected(copy.path / "trace", immutable=False)
            return Opened(path, connection, copy, (0, 0, 0))
    except FileNotFoundError:
        pass  # the log vanished while we looked: its writer ended
    except BaseException:
        copy.cleanup()
        raise
    copy.cleanup()
    return None


def _is_copied(path: Path, target: Path) -> bool:
    """Copy file and log; False when the copy may not be consistent.

    The file is copied before the log. What a checkpoint writes into the file meanwhile stands in
    the log too, as long as the log was not begun anew: its header, which holds fresh random
    numbers each time, tells. A commit that is half copied is ignored by its checksum.
    Source: https://www.sqlite.org/walformat.html, section 2.
    """
    wal, copied = _beside(path, "-wal"), _beside(target, "-wal")
    before = _wal_header(wal)
    shutil.copyfile(path, target)
    shutil.copyfile(wal, copied)
    return before != b"" and before == _wal_header(wal) == _wal_header(copied)


def _check_is_sqlite(path: Path) -> None:
    """Existence, kind of file and its first bytes; a device or a pipe is never opened."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise NotATrace(f"{path} is not a regular file", remedy="name a .ctrace file")
    except (FileNotFoundError, NotADirectoryError):
        raise TraceNotFound(f"there is no file {path}", remedy="check the path") from None
    with path.open("rb") as file:
        start = file.read(len(MAGIC))
    if not start:
        raise NotATrace(f"{path} is empty", remedy="record a session into it, or delete it")
    if start != MAGIC:
        raise NotATrace(f"{path} is not a SQLite file", remedy="name a .ctrace file")


def _refuse_journal(path: Path) -> None:
    """A journal describes a change that was not finished; playing it would write."""
    if _size_of(_beside(path, "-journal")):
        raise StoreBusy(
            f"an unfinished change lies beside {path}",
            remedy="let the program that writes it end, or open it once with that program",
        )


def _wal_header(wal: Path) -> bytes:
    """The log's header; empty when there is no log."""
    try:
        with wal.open("rb") as file:
            return file.read(_WAL_HEADER_BYTES)
    except FileNotFoundError:
        return b""


def _connected(path: Path, *, immutable: bool) -> sqlite3.Connection:
    """A connection that cannot write and trusts nothing the file says."""
    # A private copy is opened for writing, as reading a log needs its index beside it.
    mode = "mode=ro&immutable=1" if immutable else "mode=rw"
    try:
        connection = sqlite3.connect(
            f"file:{quote(os.fspath(path))}?{mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
    except sqlite3.Error:
        # The file was read a moment ago; SQLite takes no path of more than some 500 bytes.
        raise StoreError(
            f"SQLite cannot open {path}", remedy="move it to a folder with a shorter path"
        ) from None
    for setting in _DEFENCES:
        connection.execute(f"pragma {setting}")
    return connection


def _identity(path: Path) -> tuple[int, int, int] | None:
    """Inode, size and time of change of a file; None when it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _beside(path: Path, ending: str) -> Path:
    """The sidecar of a database, by SQLite's rule."""
    return path.with_name(path.name + ending)


def _size_of(path: Path) -> int:
    """Size in bytes; 0 when there is no such file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
