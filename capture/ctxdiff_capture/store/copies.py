"""Private copies of traces that are being written: file and write-ahead log made one plain file.

A copy is shared by all who ask while the original stays as it was. Copies stand in one folder per
process, see `temporary.Room`.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
import threading
import weakref
from collections import OrderedDict
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ctxdiff_capture.errors import NotATrace, StoreError
from ctxdiff_capture.store.careful import CarefulFile, FileState
from ctxdiff_capture.store.defence import defend
from ctxdiff_capture.store.temporary import Room, remove_own
from ctxdiff_capture.store.troubles import is_of_the_disk

MAX_COPIED_BYTES = 2**30
"""A file with a log beside it is copied up to this size."""
MAX_LOG_BYTES = 2**28
"""A larger log is not copied."""

_KEPT = 4
"""Copies that stay for the next question, at most."""
_KEPT_BYTES = 2**30
_WAL_HEADER_BYTES = 32


class PrivateCopy:
    """A folder with one copy, removed when nobody holds it any more."""

    def __init__(self, room: Path) -> None:
        folder = Path(tempfile.mkdtemp(dir=room))
        self.path = folder / "trace"
        # A forked child that ends must not remove its parent's.
        self.remove = weakref.finalize(self, remove_own, folder, os.getpid())


class Copies:
    """The copies of this process. Safe to ask from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], _Kept] = OrderedDict()
        self._room: Room | None = None

    def of(self, file: CarefulFile, log: CarefulFile) -> PrivateCopy | None:
        """A consistent copy of a file and its log; None when they changed meanwhile.

        Raises:
            TooLarge: the file or the log is.
            StoreError: there is no room for a copy, or the log is damaged.
        """
        states = file.state, log.state
        with self._lock:
            kept = self._kept.get(file.state.which)
            if kept is not None and kept.states == states:
                self._kept.move_to_end(file.state.which)
                return kept.copy
            self._kept.pop(file.state.which, None)
            # Asked before copying: what changes from now on must show.
            will_show = file.state.has_settled() and log.state.has_settled()
            try:
                copy = PrivateCopy(self._folder())
                is_whole = (
                    _is_copied(file, log, copy.path)
                    if log.state.size
                    else will_show and _is_copied_alone(file, log, copy.path)
                )
            except OSError as error:
                raise StoreError(
                    f"{file.path} is being written and cannot be copied ({error.strerror})",
                    remedy="make room in the folder for temporary files, or end its writer",
                ) from None
            if not is_whole:
                copy.remove()
                return None
            if will_show:
                self._keep(_Kept(states, copy))
            return copy

    def _keep(self, kept: _Kept) -> None:
        self._kept[kept.states[0].which] = kept
        while len(self._kept) > _KEPT or (
            len(self._kept) > 1 and sum(one.size for one in self._kept.values()) > _KEPT_BYTES
        ):
            self._kept.popitem(last=False)

    def _folder(self) -> Path:
        """The room of this process; a forked child takes its own."""
        if self._room is None or self._room.owner != os.getpid() or not self._room.path.is_dir():
            self._kept.clear()
            self._room = Room()
        return self._room.path


@dataclass(frozen=True, slots=True)
class _Kept:
    states: tuple[FileState, FileState]
    copy: PrivateCopy

    @property
    def size(self) -> int:
        """Bytes of file and log."""
        return sum(state.size for state in self.states)


def _is_copied(file: CarefulFile, log: CarefulFile, target: Path) -> bool:
    """Copy file and log and join them; False when the copy may not be consistent.

    The file is copied before the log. What a checkpoint writes into the file meanwhile stands in
    the log too, as long as the log was not begun anew: its header, which holds fresh random
    numbers each time, tells. A commit that is half copied is ignored by its checksum.
    Source: https://www.sqlite.org/walformat.html, section 2.
    """
    copied = target.with_name(target.name + "-wal")
    before = log.start(_WAL_HEADER_BYTES)
    file.copy_to(target, MAX_COPIED_BYTES)
    log.copy_to(copied, MAX_LOG_BYTES)
    with copied.open("rb") as copy:
        in_copy = copy.read(_WAL_HEADER_BYTES)
    # One that was deleted or replaced tells nothing of the other.
    if not os.fstat(log.descriptor).st_nlink or not os.fstat(file.descriptor).st_nlink:
        return False
    if not before or not before == log.start(_WAL_HEADER_BYTES) == in_copy:
        return False
    _join(target)
    return True


def _is_copied_alone(file: CarefulFile, log: CarefulFile, target: Path) -> bool:
    """Copy a file whose log is empty; False when it, or the log, changed meanwhile.

    It has settled: a change shows.
    """
    file.copy_to(target, MAX_COPIED_BYTES)
    now = FileState.of(os.fstat(file.descriptor)), FileState.of(os.fstat(log.descriptor))
    return now == (file.state, log.state)


def _join(path: Path) -> None:
    """Move the log of a private copy into it, so that any number of readers can share it.

    Raises:
        OSError: the disk has no room for it, or fails.
        NotATrace: the file or the log is damaged.
    """
    address = f"file:{quote(os.fsencode(path))}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
            # Without this, reading a log makes an index of it as a file; the copy need not last.
            connection.execute("pragma locking_mode = exclusive")
            connection.execute("pragma synchronous = off")
            defend(connection)
            connection.execute("pragma wal_checkpoint(truncate)")
    except sqlite3.Error as error:
        if is_of_the_disk(error):
            raise OSError(errno.EIO, str(error)) from None
        raise NotATrace(
            "a trace or the log beside it is damaged", remedy="open it once with its writer"
        ) from None


COPIES = Copies()
"""One per process."""
