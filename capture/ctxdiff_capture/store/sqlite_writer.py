"""Appends one session to a `.ctrace` file."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from ctxdiff_capture._version import __version__
from ctxdiff_capture.errors import StoreBusy, StoreError, StoreFull, TraceNotFound
from ctxdiff_capture.model import Block, Call
from ctxdiff_capture.store import schema
from ctxdiff_capture.store.appending import (
    check_appendable_version,
    create_for_owner_only,
    identity_of,
    refuse_what_is_no_trace,
)
from ctxdiff_capture.store.extras import Places, delete_extras, write_extras
from ctxdiff_capture.store.membership import MemberWriter, delete_inputs
from ctxdiff_capture.store.pieces import PieceWriter
from ctxdiff_capture.store.said import staged, write_said
from ctxdiff_capture.store.troubles import ATTEMPTS, is_lock, is_of_the_disk, pauses
from ctxdiff_capture.store.values import json_text, storable, storable_or_none

WRITER = f"ctxdiff-capture {__version__}"

_KNOWN_BLOCKS = 100_000


class SQLiteWriter:
    """A session being written to a file. Meets `base.SessionWriter`."""

    def __init__(
        self,
        path: Path,
        *,
        project: str,
        provider: str,
        started_at: str,
        session_id: str | None = None,
        busy_seconds: float = 5.0,
        attempts: int = ATTEMPTS,
    ) -> None:
        """Begin a session; see `open.create_session`.

        One attempt waits `busy_seconds` for another program's lock.
        """
        self._path = path
        self._busy_seconds = busy_seconds
        self._attempts = attempts
        self._session_id = session_id or uuid4().hex
        self._models: list[str] = []
        self._known_blocks: set[str] = set()
        refuse_what_is_no_trace(path)
        # Absolute, because the host may change its folder.
        self._file = path.absolute()
        self._identity = create_for_owner_only(self._file)
        self._is_released = False
        self._connect()
        self._places = Places()
        row = (
            self._session_id,
            storable(project),
            storable(started_at),
            storable(provider),
            "[]",
            WRITER,
            schema.SCHEMA_VERSION,
        )
        try:
            self._when_free(self._set_up)
            self._transact(lambda: self._begin(row))
        except BaseException:
            self._connection.close()
            raise

    @property
    def session_id(self) -> str:
        """The id of the session's row."""
        return self._session_id

    def write(self, call: Call) -> None:
        """Store a call whole or not at all."""
        self.write_many([call])

    def write_many(self, calls: Sequence[Call]) -> None:
        """Store all of `calls` in one transaction, or none of them."""

        def work() -> None:
            for call in calls:
                self._insert(call)
            self._roll_up_models(calls)

        self._transact(work)

    def amend(self, call: Call) -> None:
        """Replace what was stored under `call.id`."""

        def work() -> None:
            query = "select 1 from call where id = ? and run_id = ?"
            if self._connection.execute(query, (call.id, self._session_id)).fetchone() is None:
                raise TraceNotFound(f"no call {call.id!r} is stored", remedy="write it first")
            delete_extras(self._connection, call.id)
            if not self._members.keeps(call.id, call.inputs):
                delete_inputs(self._connection, call.id)
                self._members.forget(call.id)
            self._connection.execute("delete from call where id = ?", (call.id,))
            self._insert(call)
            self._roll_up_models([call])

        self._transact(work)

    def note_loss(self, reason: str, count: int = 1) -> None:
        """Add `count` calls that could not be recorded."""
        self._transact(
            lambda: self._connection.execute(
                "insert into ctx_loss values (?, ?, ?)"
                " on conflict (run_id, reason) do update set count = count + excluded.count",
                (self._session_id, storable(reason), count),
            )
        )

    def settle(self) -> None:
        """Move the log into the file, as far as nobody reads it."""
        with suppress(sqlite3.Error):  # what is not moved stays in the log
            self._connection.execute("pragma wal_checkpoint(passive)")

    def release(self) -> None:
        """Close the connection until the next write.

        SQLite counts in the process what it has locked. A forked child would take over the count
        without the locks, which are the parent's, and others would remove a log that it writes.
        Source: https://www.sqlite.org/howtocorrupt.html, section 2.6.
        """
        self.close()
        self._is_released = True

    def close(self) -> None:
        """Move the log into the file and close; with the last connection the sidecars go."""
        try:
            self._connection.execute("pragma wal_checkpoint(truncate)")
        except sqlite3.Error:
            pass  # closed before, or another program reads: SQLite recovers the log on next use
        finally:
            self._connection.close()

    def _connect(self) -> None:
        # An address, because a file that was removed must not be made anew.
        self._connection = sqlite3.connect(
            f"file:{quote(os.fsencode(self._file))}?mode=rw",
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        self._members = MemberWriter(self._connection)
        self._pieces = PieceWriter(self._connection)

    def _connect_again(self) -> None:
        """Undo `release`."""
        self._connection.close()  # of an attempt before
        self._connect()
        self._set_up()
        self._is_released = False

    def _set_up(self) -> None:
        """Settings of the connection; WAL is also a property of the file."""
        self._connection.execute("pragma journal_mode = wal")
        # In WAL mode a killed process loses nothing at NORMAL; only a power cut may cost the end.
        self._connection.execute("pragma synchronous = normal")
        self._connection.execute("pragma temp_store = memory")
        # Blocks are stored before the rows that name them. Checking that again for each row takes a
        # fifth of the time of writing.
        self._connection.execute("pragma foreign_keys = off")

    def _begin(self, row: tuple[object, ...]) -> None:
        """Create or widen the tables, check the versions, add the session."""
        for statement in (schema.CORE + schema.SIDE).split(";\n"):
            self._connection.execute(statement)
        check_appendable_version(self._connection, self._path)
        present = {name for _, name, *_ in self._connection.execute("pragma table_info(call)")}
        for column in schema.ADDED_BY_VERSION_2:
            if column not in present:
                self._connection.execute(f"alter table call add column {column} text")
        self._connection.execute("insert into run values (?, ?, ?, ?, ?, ?, ?)", row)

    def _insert(self, call: Call) -> None:
        """All rows of a call that has none."""
        self._connection.execute(
            "insert into call (id, run_id, seq, params, usage, latency_ms, error, agent, step,"
            " provider) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                call.id,
                self._session_id,
                call.seq,
                json_text(dict(call.params)),
                None if call.usage is None else json_text(dict(call.usage)),
                call.latency_ms,
                storable(call.error.type) if call.error else None,
                storable_or_none(call.agent),
                storable_or_none(call.step),
                storable(call.provider),
            ),
        )
        start = self._members.alike(call.inputs)
        new_inputs = call.inputs[start.count :]
        self._insert_blocks([p.block for p in (*new_inputs, *call.outputs, *staged(call))])
        self._members.write(call.id, call.inputs, start)
        write_extras(self._connection, call, self._places)
        write_said(self._connection, call)
        if call.request_pieces is not None:
            self._pieces.write(call.id, call.request_pieces)

    def _insert_blocks(self, blocks: Sequence[Block]) -> None:
        """Store the blocks that the file does not have; whoever wrote a hash first wins."""
        new = {b.content_hash: b for b in blocks if b.content_hash not in self._known_blocks}
        self._connection.executemany(
            "insert or ignore into block values (?, ?, ?, ?, ?, ?)",
            (
                (
                    b.content_hash,
                    storable(b.role),
                    storable(b.kind),
                    storable(b.text),
                    b.token_count,
                    b.token_method,
                )
                for b in reversed(new.values())
            ),
        )
        if len(self._known_blocks) + len(new) > _KNOWN_BLOCKS:
            self._known_blocks.clear()
        self._known_blocks |= new.keys()

    def _roll_up_models(self, calls: Sequence[Call]) -> None:
        """Add models that the session had not used to its row."""
        models = list(dict.fromkeys([*self._models, *filter(None, map(_model_of, calls))]))
        if models == self._models:
            return
        self._connection.execute(
            "update run set models = ? where id = ?", (json_text(models), self._session_id)
        )
        self._models = models

    def _transact(self, work: Callable[[], object]) -> None:
        """Run `work` in one transaction; it is undone whole when it raises.

        Raises:
            StoreError: the file cannot be written, or was removed: SQLite itself would write on
                to a file that has no name any more.
        """
        if identity_of(self._file) != self._identity:
            raise StoreError(
                f"{self._path} was removed or replaced while it was written",
                remedy="leave it in its place until the program ends",
            )

        def attempt() -> None:
            if self._is_released:
                self._connect_again()
            self._connection.execute("begin immediate")
            models = self._models
            try:
                work()
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                self._models = models
                self._known_blocks.clear()
                self._members.forget()
                self._pieces.forget()
                raise

        self._when_free(attempt)

    def _when_free(self, attempt: Callable[[], None]) -> None:
        """Repeat `attempt` while another program holds the lock, within bounds."""
        for pause in pauses(self._attempts):
            try:
                return attempt()
            except sqlite3.Error as error:
                if not is_lock(error):
                    kind = StoreFull if is_of_the_disk(error) else StoreError
                    raise kind(
                        f"{self._path} cannot be written ({error})",
                        remedy="check the disk and the file",
                    ) from error
                if pause is None:
                    raise StoreBusy(
                        f"{self._path} stayed locked by another program",
                        remedy="end the program that holds it",
                    ) from error
            time.sleep(pause)
        return None


def _model_of(call: Call) -> str | None:
    """The model that was asked for, when the request names one."""
    model = call.params.get("model") or call.params.get("modelId")
    return model if isinstance(model, str) else None
