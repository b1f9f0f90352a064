"""Numbers of the credentials that a trace shows as tags.

What is kept of a credential is a digest under a key that is not in the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from ctxdiff_capture.errors import StoreBusy, StoreError, StoreFull
from ctxdiff_capture.store.troubles import is_lock, is_of_the_disk

T = TypeVar("T")


class SecretNumbers:
    """Gives numbers to the credentials of one trace, whose session has begun.

    Holds no connection: a new credential is rare, and a fork must not inherit one.
    """

    def __init__(self, path: Path, *, busy_seconds: float = 5.0) -> None:
        # Absolute, because the host may change its folder.
        self._path = path.absolute()
        self._busy_seconds = busy_seconds

    def salt(self) -> str:
        """What tells this file from others: the id of its first session.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._asked(_salt)

    def number(self, kind: str, digest: str) -> int:
        """The number of a credential in this file: its own, or the next one of its kind.

        Raises:
            StoreBusy: another program holds the lock; StoreFull: the disk has no room.
            StoreError: the file cannot be written.
        """
        return self._asked(lambda connection: _number(connection, kind, digest))

    def _asked(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        try:
            # An address, because a file that was removed must not be made anew.
            address = f"file:{quote(str(self._path))}?mode=rw"
            with closing(
                sqlite3.connect(address, uri=True, timeout=self._busy_seconds, isolation_level=None)
            ) as connection:
                return ask(connection)
        except sqlite3.Error as error:
            raise _kind_of(error)(
                f"the credentials of {self._path} cannot be numbered ({error})",
                remedy="check the disk and the file",
            ) from error


def _kind_of(error: sqlite3.Error) -> type[StoreError]:
    if is_lock(error):
        return StoreBusy
    return StoreFull if is_of_the_disk(error) else StoreError


def _salt(connection: sqlite3.Connection) -> str:
    row = connection.execute("select id from run order by rowid limit 1").fetchone()
    if row is None:
        raise sqlite3.DatabaseError("no session")
    return str(row[0])


def _number(connection: sqlite3.Connection, kind: str, digest: str) -> int:
    # Two programs may write one trace: nobody else counts in between.
    connection.execute("begin immediate")
    query = "select number from ctx_secret where kind = ? and digest = ?"
    row = connection.execute(query, (kind, digest)).fetchone()
    if row is None:
        query = "select coalesce(max(number), 0) + 1 from ctx_secret where kind = ?"
        row = connection.execute(query, (kind,)).fetchone()
        connection.execute("insert into ctx_secret values (?, ?, ?)", (kind, row[0], digest))
    connection.execute("commit")
    return int(row[0])
