"""What hostile traces are made of. Each case is a folder, with a good trace beside the bad."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.store import schema

Build = Callable[[Path], None]
"""Puts `x.ctrace`, or several files, into an empty folder."""

BLOCKS = [("system", "You help."), ("user", "hello there"), ("assistant", "done")]
DEEP_OBJECT = '{"a":' * 50_000
MANY_MODELS = "[" + '"m",' * 800_000 + '"m"]'
COUNT_FOREVER = "with recursive n(i) as (select 1 union all select i + 1 from n)"


@dataclass(frozen=True)
class Case:
    """One way to be hostile."""

    name: str
    build: Build
    canaries: tuple[str, ...] = ()
    """Texts that may stand inside frames alone."""
    secrets: tuple[str, ...] = ()
    """Texts that no answer may hold."""


CASES: dict[str, Case] = {}


def case(
    *, canaries: tuple[str, ...] = (), secrets: tuple[str, ...] = ()
) -> Callable[[Build], Build]:
    """Registers a builder under its own name."""

    def add(build: Build) -> Build:
        CASES[build.__name__] = Case(build.__name__, build, canaries, secrets)
        return build

    return add


def build(case: Case, folder: Path) -> None:
    """The case's files and `good.ctrace` in a new folder."""
    folder.mkdir(parents=True)
    trace(folder / "good.ctrace", session="g" * 32)
    case.build(folder)


def trace(
    path: Path,
    *statements: str,
    session: str = "5" * 32,
    without: str = "",
    pragma: str = "",
    texts: list[str] | None = None,
) -> Path:
    """A trace of two calls, made by hand, then changed by `statements`.

    Args:
        path: of a file that is not there.
        statements: SQL of the attack.
        session: the id of its session.
        without: a table that the attack makes itself.
        pragma: run before anything else.
        texts: further blocks of the second call.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if pragma:
            connection.execute(f"pragma {pragma}")
        connection.execute("begin")
        for statement in (schema.CORE + schema.SIDE).split(";\n"):
            if not without or f"exists {without} (" not in statement:
                connection.execute(statement)
        _fill(connection, session, without, texts or [])
        connection.execute("commit")
        for statement in statements:
            connection.execute(statement)
        if pragma.startswith("journal_mode"):
            connection.execute("pragma wal_checkpoint(truncate)")
    return path


def _fill(connection: sqlite3.Connection, session: str, without: str, texts: list[str]) -> None:
    def insert(table: str, *values: object) -> None:
        if table != without:
            marks = ", ".join("?" * len(values))
            connection.execute(f"insert or ignore into {table} values ({marks})", values)

    started = "2026-01-01T00:00:00.000000+00:00"
    insert("run", session, "demo", started, "openai", '["m"]', "0.5.1", 2)
    more = [*BLOCKS, *(("user", text) for text in texts)]
    for seq, blocks in ((1, BLOCKS[:2]), (2, more)):
        call = f"{session[:-2]}{seq:02}"
        usage = '{"prompt_tokens": 10, "completion_tokens": 2}'
        insert("call", call, session, seq, '{"model": "m"}', usage, 5, None, "a", None, "openai")
        insert(
            "ctx_call", call, "openai.chat", "https://api", started, 1, "stop", "id", "m", None,
            None, None, 1, None, None, None, None, None,
        )  # fmt: skip
        for position, (role, text) in enumerate(blocks):
            digest = digest_of(role, "message", text)
            insert("block", digest, role, "message", text, len(text) // 4, "estimate")
            insert("call_block", call, digest, position, role, "heuristic")


def changed(statements: list[str]) -> Build:
    """Makes `x.ctrace` and runs the statements on it."""

    def make(folder: Path) -> None:
        trace(folder / "x.ctrace", *statements)

    return make
