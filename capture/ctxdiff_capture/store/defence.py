"""SQLite's defences against a file whose maker is unknown.

Sources: https://www.sqlite.org/security.html, section 1.2; https://www.sqlite.org/c3ref/limit.html.
"""

from __future__ import annotations

import sqlite3
import sys

from ctxdiff_capture.store.schema import (
    ADDED_BY_VERSION_2,
    CORE_COLUMNS,
    SIDE_COLUMNS,
)

MAX_VALUE_BYTES = 128 * 2**20
"""A longer value cannot be read at all."""
MAX_SQLITE_BYTES = 192 * 2**20
"""What SQLite may hold in memory, for `limit_memory`."""

_PRAGMAS = (
    "trusted_schema = off",
    "cell_size_check = on",
    "mmap_size = 0",
    "query_only = on",
    "temp_store = memory",  # sorting would make files otherwise
)

# By their numbers: Python has the names since 3.12.
_OFF = (1003, 1005, 1011, 1013, 1014, 1015, 1017)
"""Triggers, extensions, writable schema, quoted strings in statements and schema, views, trust."""
_ON = (1010,)
"""Defensive mode."""

# By their numbers: Python has the names since 3.11.
_LIMITS = {
    0: MAX_VALUE_BYTES,  # length of a value
    1: 100_000,  # length of a statement
    2: 100,  # columns
    3: 60,  # depth of an expression
    4: 8,  # parts of a compound select
    5: 50_000,  # steps of a statement
    6: 16,  # arguments of a function
    7: 0,  # attached databases
    8: 100,  # length of a pattern
    9: 2_000,  # parameters
    10: 1,  # depth of triggers
    11: 0,  # threads
}

_FUNCTIONS = frozenset(
    {
        "coalesce",
        "count",
        "group_concat",
        "instr",
        "length",
        "lower",
        "max",
        "min",
        "substr",
        "sum",
        "typeof",
    }
)
_SCHEMA_TABLES = frozenset({"sqlite_master", "sqlite_schema"})
_ABOUT_TABLES = frozenset({"table_xinfo", "table_info", "index_list", "index_xinfo"})
_COLUMNS: dict[str, frozenset[str]] = {
    name: columns | {"rowid", ""} for name, columns in {**CORE_COLUMNS, **SIDE_COLUMNS}.items()
}
_COLUMNS["call"] |= set(ADDED_BY_VERSION_2)


def defend(connection: sqlite3.Connection) -> None:
    """Let a connection trust nothing that its file says; call it before anything else."""
    if sys.version_info >= (3, 11):
        for number, most in _LIMITS.items():
            connection.setlimit(number, most)
    if sys.version_info >= (3, 12):
        for numbers, state in ((_OFF, False), (_ON, True)):
            for number in numbers:
                connection.setconfig(number, state)
    for pragma in _PRAGMAS:
        connection.execute(f"pragma {pragma}")


def allow_questions_only(connection: sqlite3.Connection) -> None:
    """Let a connection read known columns of known tables with a handful of functions."""
    connection.set_authorizer(_judge)


def limit_memory() -> None:
    """Bound what SQLite holds in this whole process; for programs that are ours alone."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"pragma hard_heap_limit = {MAX_SQLITE_BYTES}")
    finally:
        connection.close()


def _judge(action: int, one: str | None, two: str | None, _: str | None, source: str | None) -> int:
    """Whether SQLite may compile a part of a statement."""
    # What a view or a trigger wants has its name as `source`.
    if source is not None:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ:
        table, column = (one or "").lower(), (two or "").lower()
        is_known = table in _SCHEMA_TABLES or column in _COLUMNS.get(table, ())
    elif action == sqlite3.SQLITE_FUNCTION:
        is_known = (two or "").lower() in _FUNCTIONS
    elif action == sqlite3.SQLITE_PRAGMA:
        is_known = one in _ABOUT_TABLES
    else:
        is_known = False
    return sqlite3.SQLITE_OK if is_known else sqlite3.SQLITE_DENY
