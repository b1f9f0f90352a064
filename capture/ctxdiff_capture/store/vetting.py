"""Tells whether a SQLite file is a trace, and one that we can read."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass

from ctxdiff_capture.errors import EmptyTrace, NotATrace, UnsafeTrace, UnsupportedVersion
from ctxdiff_capture.store.schema import (
    ADDED_BY_VERSION_2,
    CORE_COLUMNS,
    SCHEMA_VERSION,
    SIDE_COLUMNS,
)

MAX_OBJECTS = 100
"""Tables and their automatic indexes; ours have some thirty."""

_NAMES = frozenset(CORE_COLUMNS) | frozenset(SIDE_COLUMNS)
_OF_OURS = "ctx_"
"""How a table begins that a newer version may have added; it is never looked into."""
_OF_SQLITE = frozenset({"sqlite_sequence", "sqlite_stat1", "sqlite_stat4"})
_TABLE = re.compile(r"create\s+table\b", re.IGNORECASE)


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
        UnsafeTrace: the schema has anything but tables of a trace, or one is not what its name
            says: a view, a trigger or a virtual table would run code of whoever made the file.
        NotATrace: a table is missing, or a column.
    """
    tables = _tables(connection)
    columns = {table: _columns(connection, table) for table in sorted(tables & _NAMES)}
    for table, needed in CORE_COLUMNS.items():
        if table not in columns:
            raise NotATrace(
                f"the file is a SQLite database without the table {table!r}, no trace",
                remedy="name a .ctrace file",
            )
        _check_columns(table, needed, columns[table])
    side = frozenset(columns) & frozenset(SIDE_COLUMNS)
    for table in side:
        _check_columns(table, SIDE_COLUMNS[table], columns[table])
    return Layout(has_labels=set(ADDED_BY_VERSION_2) <= columns["call"], side_tables=side)


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


def _tables(connection: sqlite3.Connection) -> frozenset[str]:
    """Names of the tables, when the schema has nothing else that counts."""
    rows = connection.execute(
        f"select type, name, rootpage, substr(sql, 1, 100) from sqlite_master"  # noqa: S608 - a number of ours
        f" limit {MAX_OBJECTS + 1}"
    ).fetchall()
    if len(rows) > MAX_OBJECTS:
        raise UnsafeTrace("the file has more tables than a trace", remedy="name a .ctrace file")
    # An automatic index has no text; any other may compute what it likes.
    return frozenset(
        _checked_table(*row) for row in rows if not (row[0] == "index" and row[3] is None)
    )


def _checked_table(kind: object, name: object, root_page: object, sql: object) -> str:
    """The name of a real table that a trace may have, or `UnsafeTrace`."""
    is_real = kind == "table" and type(root_page) is int and root_page > 0
    is_spelled = isinstance(name, str) and isinstance(sql, str) and _TABLE.match(sql) is not None
    if (
        is_real
        and is_spelled
        and (name in _NAMES or name in _OF_SQLITE or str(name).startswith(_OF_OURS))
    ):
        return str(name)
    raise UnsafeTrace(
        "the file has a table, a view, a trigger or an index that no trace has",
        remedy="drop it in a copy of the file, or name another file",
    )


def _check_columns(table: str, needed: frozenset[str], found: frozenset[str]) -> None:
    if not needed <= found:
        raise NotATrace(
            f"{table!r} in the file is not the table of a trace", remedy="name a .ctrace file"
        )


def _columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Names of a table's columns, none of them generated or hidden."""
    rows = connection.execute(f"pragma table_xinfo({table})").fetchall()
    if any(hidden != 0 for *_, hidden in rows):
        raise UnsafeTrace(
            f"{table!r} in the file computes a column", remedy="name another .ctrace file"
        )
    return frozenset(str(name).lower() for _, name, *_ in rows)
