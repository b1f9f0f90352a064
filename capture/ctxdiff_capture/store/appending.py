"""Whether a session may be appended to a file, and which file that is."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from pathlib import Path

from ctxdiff_capture.errors import (
    NotATrace,
    StoreBusy,
    StoreError,
    StoreFull,
    UnsupportedVersion,
)
from ctxdiff_capture.store import schema
from ctxdiff_capture.store.troubles import pauses

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def refuse_what_is_no_trace(path: Path) -> None:
    """Raise `NotATrace` for a file that holds something else, without touching it."""
    for pause in pauses():
        try:
            return _look_inside(path)
        except (NotATrace, StoreBusy) as error:
            # Another writer may be creating the tables, or moving its log, at this moment.
            final = isinstance(error, NotATrace) and not _is_in_use(path)
            if final or pause is None:
                raise
        time.sleep(pause)
    return None


def _look_inside(path: Path) -> None:
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return
    # A new file, which most are, needs none of this.
    from ctxdiff_capture.store.connection import open_untouched  # noqa: PLC0415
    from ctxdiff_capture.store.vetting import has_objects, layout_of  # noqa: PLC0415

    opened = open_untouched(Path(os.path.realpath(path)))
    try:
        if has_objects(opened.connection):
            layout_of(opened.connection)
            check_appendable_version(opened.connection, path)
    except sqlite3.DatabaseError:
        if opened.is_stale():
            raise StoreBusy(f"{path} changes", remedy="try again") from None
        raise NotATrace(f"{path} is damaged", remedy="record into another file") from None
    finally:
        opened.close()


def check_appendable_version(connection: sqlite3.Connection, path: Path) -> None:
    """Every session's version must be one we know, or we might break what a newer one set."""
    (version,) = connection.execute("select max(schema_version) from run").fetchone()
    if version is not None and (type(version) is not int or version > schema.SCHEMA_VERSION):
        raise UnsupportedVersion(
            f"{path} holds a session of format version {version}",
            remedy="upgrade ctxdiff-capture, or record into another file",
        )


def _is_in_use(path: Path) -> bool:
    """Whether a sidecar shows that another program has the file open, or was stopped in it."""
    return any(path.with_name(path.name + end).exists() for end in ("-wal", "-shm", "-journal"))


def create_for_owner_only(path: Path) -> tuple[int, int] | None:
    """Create the file as 0600 if there is none; SQLite gives its sidecars the same mode.

    Returns:
        Which file it is.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        return identity_of(path)
    except OSError as error:
        kind = StoreFull if error.errno in _NO_ROOM else StoreError
        raise kind(
            f"{path} cannot be written ({error.strerror})",
            remedy="create its folder, or check the disk and the permissions",
        ) from None


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file is there; None when there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
