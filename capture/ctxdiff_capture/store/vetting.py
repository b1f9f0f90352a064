"""Tells whether a SQLite file is a trace, and one that we can read."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass

from ctxdiff_capture.errors import EmptyTrace, NotATrace, UnsupportedVersion
from ctxdiff_capture.store.schema import (
    ADDED_BY_VERSION_2,
    CORE_COLUMNS,
    SCHEMA_VERSION,
    SIDE_COLUMNS,
)

_VIRTUAL = re.compile(r"\s*create\s+virtual", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which tables a trace has."""

    has_labels: bool
    """`call` has the columns that version 2 added."""
    side_tables: frozenset[str]
    """Those of our own tables that are there."""


def layout_of(connection: sqlite3.Connection) -> Layout:
    """The layout of a trace.

    Raises:
        NotATrace: a table is missing, or is not what its name says.
    """
    kinds = _named_objects(connection)
    for table, needed in CORE_COLUMNS.items():
        _check_table(connection, kinds, table, needed)
    side = frozenset(SIDE_COLUMNS) & kinds.keys()
    for table in side:
        _check_table(connection, kinds, table, SIDE_COLUMNS[table])
    return Layout(
        has_labels=set(ADDED_BY_VERSION_2) <= _columns(connection, "call"), side_tables=side
    )


def has_objects(connection: sqlite3.Connection) -> bool:
    """Whether anything at all was created in the database."""
    return connection.execute("select 1 from sqlite_master limit 1").fetchone() is not None


def check_readable_version(connection: sqlite3.Connection) -> None:
    """The newest session decides; older ones are not looked at.

    Raises:
        EmptyTrace: there is no session.
        UnsupportedVersion: it was written by a newer program.
        NotATrace: its version is no version.
    """
    row = connection.execute("select schema_version from run order by rowid desc").fetchone()
    if row is None:
        raise EmptyTrace("the trace holds no session", remedy="record one first")
    check_version(row[0])


def check_version(version: object) -> None:
    """Raise as `check_readable_version` does."""
    if type(version) is not int or version < 1:
        raise NotATrace("the trace's version is not one we know", remedy="record it again")
    if version > SCHEMA_VERSION:
        raise UnsupportedVersion(
            f"the trace has format version {version}, this program reads up to {SCHEMA_VERSION}",
            remedy="upgrade ctxdiff-mcp and ctxdiff-capture",
        )


def _named_objects(connection: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Name to kind and definition of the objects that bear a name of ours."""
    known = (*CORE_COLUMNS, *SIDE_COLUMNS)
    marks = ", ".join("?" * len(known))
    query = f"select lower(name), type, sql from sqlite_master where lower(name) in ({marks})"  # noqa: S608 - only question marks
    return {name: (kind, sql or "") for name, kind, sql in connection.execute(query, known)}


def _check_table(
    connection: sqlite3.Connection,
    kinds: dict[str, tuple[str, str]],
    table: str,
    needed: frozenset[str],
) -> None:
    """A real table with the columns it must have, or `NotATrace`."""
    kind, sql = kinds.get(table, ("", ""))
    if not kind:
        raise NotATrace(
            f"the file is a SQLite database without the table {table!r}, no trace",
            remedy="name a .ctrace file",
        )
    # A view or a virtual table under that name would run code of whoever made the file.
    if kind != "table" or _VIRTUAL.match(sql) or not needed <= _columns(connection, table):
        raise NotATrace(
            f"{table!r} in the file is not the table of a trace", remedy="name a .ctrace file"
        )


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """Names of a table's ordinary columns; generated and hidden ones are not among them."""
    rows = connection.execute(f"pragma table_xinfo({table})")
    return {str(name).lower() for _, name, _, _, _, _, hidden in rows if hidden == 0}
