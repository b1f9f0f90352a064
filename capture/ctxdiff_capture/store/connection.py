"""Opening a trace for reading without touching a byte of it or of its folder.

An ordinary SQLite connection would roll a journal back, create `-shm`, or checkpoint a `-wal`.
So a file alone is opened as immutable, and one with a write-ahead log is read from a private copy.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ctxdiff_capture.errors import (
    NotATrace,
    StoreBusy,
    StoreError,
    TooLarge,
    TraceNotFound,
    UnfinishedChange,
)
from ctxdiff_capture.store.careful import MAX_FILE_BYTES, CarefulFile, FileState, state_now
from ctxdiff_capture.store.copies import COPIES, MAX_COPIED_BYTES, MAX_LOG_BYTES, PrivateCopy
from ctxdiff_capture.store.defence import allow_questions_only, defend

MAGIC = b"SQLite format 3\x00"
"""Source: https://www.sqlite.org/fileformat.html, section 1.3."""

_ATTEMPTS = 20
_PAUSE_SECONDS = 0.02
_DESCRIPTORS = Path("/proc/self/fd")
_OPENING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Opened:
    """A read-only connection and the private copy that it reads, if it does."""

    path: Path
    connection: sqlite3.Connection
    copy: PrivateCopy | None
    state: FileState
    """Of the file when it was opened."""

    def is_stale(self) -> bool:
        """Whether pages may come from two states: the file was changed where it stands.

        A private copy never is, nor is a file that was deleted or replaced by another.
        """
        if self.copy is not None:
            return False
        now = state_now(self.path)
        return now is not None and now.which == self.state.which and _changed(self.state, now)

    def close(self) -> None:
        """Close the connection. May be called twice."""
        # The handler belongs to the reader, and Python 3.10 collects no circle through here.
        with suppress(sqlite3.Error):
            self.connection.set_progress_handler(None, 0)
        self.connection.close()


def open_untouched(path: Path) -> Opened:
    """Open a SQLite file, which is no link, for reading.

    Nothing on disk changes, whoever else uses it.

    Raises:
        TraceNotFound: there is no such file.
        NotATrace: it is not a SQLite file, or the log beside it is no file.
        TooLarge: it is.
        UnfinishedChange: a journal lies beside it.
        StoreBusy: it changes faster than it can be copied.
        StoreError: it may not be read.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_SECONDS)
        with CarefulFile(path) as file:
            _check_is_sqlite(file)
            _refuse_journal(path)
            opened = _opened(file)
        if opened is not None:
            return opened
    raise StoreBusy(
        f"{path} changed each time it was opened", remedy="ask again when its writer is quieter"
    )


def _opened(file: CarefulFile) -> Opened | None:
    """A connection to the file, or to a copy where a log belongs to it; None when they changed."""
    try:
        log = CarefulFile(_beside(file.path, "-wal"), most_bytes=MAX_LOG_BYTES)
    except TraceNotFound:
        return _opened_alone(file)
    with log:
        # An empty log too belongs to a writer, who may soon change the file where it stands.
        if file.state.size > MAX_COPIED_BYTES:
            if log.state.size == 0:
                return _opened_alone(file)
            raise TooLarge(
                f"{file.path} is being written and has more than {MAX_COPIED_BYTES:,} bytes",
                remedy="ask when its writer has ended",
            )
        copy = COPIES.of(file, log)
    if copy is None:
        return None
    connection = _connected(copy.path)
    return None if connection is None else Opened(file.path, connection, copy, file.state)


def _opened_alone(file: CarefulFile) -> Opened | None:
    """A connection to the file where it stands; None when another stands there now."""
    with _OPENING:
        # A process gets the lowest number that is free, and so will SQLite.
        number = os.dup(file.descriptor)
        os.close(number)
        # By its descriptor, where the system names those: it follows a file that is moved.
        name = _DESCRIPTORS / str(file.descriptor)
        connection = _connected(name if _DESCRIPTORS.is_dir() else file.path)
        # SQLite looks such a name up and opens what it finds (seen with 3.40): we look what it is.
        is_same = connection is not None and _is_open_as(file.state, number, file.descriptor)
    if connection is not None:
        if is_same:
            return Opened(file.path, connection, None, file.state)
        connection.close()
    elif state_now(file.path) == file.state:
        # SQLite takes no path of more than some 500 bytes.
        raise StoreError(
            f"SQLite cannot open {file.path}", remedy="move it to a folder with a shorter path"
        )
    return None


def _is_open_as(state: FileState, number: int, own: int) -> bool:
    """Whether a descriptor other than `own`, most likely `number`, is of that file."""
    try:
        if FileState.of(os.fstat(number)).which == state.which:
            return True
        # Another thread took the number, or SQLite had the file open already.
        numbers = [int(entry.name) for entry in _DESCRIPTORS.iterdir()]
    except OSError:
        return os.name == "nt"  # it has no such numbers
    return any(_is_of(state, one) for one in numbers if one != own)


def _is_of(state: FileState, number: int) -> bool:
    try:
        return FileState.of(os.fstat(number)).which == state.which
    except OSError:
        return False


def _check_is_sqlite(file: CarefulFile) -> None:
    start = file.start(len(MAGIC))
    if not start:
        raise NotATrace(f"{file.path} is empty", remedy="record a session into it, or delete it")
    if start != MAGIC:
        raise NotATrace(f"{file.path} is not a SQLite file", remedy="name a .ctrace file")


def _refuse_journal(path: Path) -> None:
    """A journal describes a change that was not finished; playing it would write."""
    try:
        with CarefulFile(_beside(path, "-journal")) as journal:
            # One that was played or committed is empty, or begins with zeros.
            # Source: https://www.sqlite.org/fileformat.html, section 3.
            if journal.start(1) in (b"", b"\x00"):
                return
    except TraceNotFound:
        return
    except StoreError:
        pass  # a link, a pipe or a giant is no better
    raise UnfinishedChange(
        f"an unfinished change lies beside {path}",
        remedy="let the program that writes it end, or open it once with that program",
    )


def _connected(name: Path) -> sqlite3.Connection | None:
    """A connection that cannot write and trusts nothing the file says; None where it cannot be."""
    try:
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(name))}?mode=ro&immutable=1",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
    except sqlite3.Error:
        return None
    try:
        defend(connection)
        allow_questions_only(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _changed(before: FileState, now: FileState) -> bool:
    """Whether the content may differ; a new name or mode alone changes but `ctime_ns`."""
    return (before.size, before.mtime_ns) != (now.size, now.mtime_ns)


def _beside(path: Path, ending: str) -> Path:
    """The sidecar of a database, by SQLite's rule."""
    return path.with_name(path.name + ending)


__all__ = ["MAGIC", "MAX_FILE_BYTES", "Opened", "open_untouched"]
