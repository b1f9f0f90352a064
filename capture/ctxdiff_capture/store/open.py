"""The two ways into a store: begin a session, read a trace."""

from __future__ import annotations

import os
from pathlib import Path

from ctxdiff_capture.errors import StoreError
from ctxdiff_capture.store.base import SessionWriter, TraceReader
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.sqlite_writer import SQLiteWriter


def create_session(
    destination: Destination,
    *,
    project: str,
    provider: str,
    started_at: str,
    session_id: str | None = None,
    busy_seconds: float = 5.0,
    attempts: int = 6,
) -> SessionWriter:
    """Append a session to the store, which is created when it does not exist.

    `provider` is the attribution label of the session's first client, `started_at` is ISO 8601 in
    UTC with microseconds and offset, `session_id` 32 hex digits; None makes a fresh UUID4,
    `busy_seconds` how long each of the `attempts` waits for another program's lock.

    Raises:
        NotATrace: the file is something else; nothing was written to it.
        UnsupportedVersion: it holds a session of a newer program.
        StoreBusy: another program held the lock for too long.
        StoreFull: no room is left.
        StoreError: it cannot be written.
    """
    return SQLiteWriter(
        _sqlite_path(destination),
        project=project,
        provider=provider,
        started_at=started_at,
        session_id=session_id,
        busy_seconds=busy_seconds,
        attempts=attempts,
    )


def open_reader(
    source: str | os.PathLike[str] | Destination,
    *,
    seconds_per_question: float = 4.0,
    follow_links: bool = False,
) -> TraceReader:
    """Open a trace for reading. No byte on disk changes and no file appears beside it.

    Args:
        source: a path, taken as it is, or a destination.
        seconds_per_question: how long SQLite may work on one question, in processor time.
        follow_links: whether `source` may be a link, as a person names one; what was found in a
            folder may not.

    Raises:
        TraceNotFound: no such file.
        NotATrace: it is something else, or damaged; `UnsafeTrace` when it has views or triggers.
        TooLarge: it is larger than is read.
        UnsupportedVersion: its newest session was written by a newer program.
        EmptyTrace: it holds no session.
        StoreBusy: it changes faster than it can be copied, or an unfinished change lies beside it.
    """
    # Who records loads nothing that reads.
    from ctxdiff_capture.store.sqlite_reader import SQLiteReader  # noqa: PLC0415

    path = _sqlite_path(source) if isinstance(source, Destination) else Path(source)
    if follow_links:
        path = Path(os.path.realpath(path))
    return SQLiteReader(path, seconds_per_question=seconds_per_question)


def _sqlite_path(destination: Destination) -> Path:
    """The file of a destination; networked databases are refused."""
    if destination.path is None:
        raise StoreError(
            f"{destination} cannot be used: PostgreSQL and MySQL are not supported yet",
            remedy="use a file for now: a path, or sqlite:///path",
        )
    return destination.path
