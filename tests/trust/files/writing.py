"""A program: writes traces as fast as it can until its input ends, and says each commit.

`python writing.py FOLDER recorder|bare`; prints `FILE CALL` after each commit, at last a JSON object
with what went wrong. Call n of a file has the blocks `text 0` to `text n % 20`.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timezone
from itertools import count
from pathlib import Path

from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Call, Placement
from ctxdiff_capture.store import schema
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session

CALLS_PER_FILE = 400
DISTINCT = 20

Commit = Callable[[int], None]


def inputs_of(number: int) -> tuple[Placement, ...]:
    """What call `number` has."""
    return tuple(
        Placement(
            Block(digest_of("user", "message", text), "user", "message", text, 3, "estimate"),
            "user",
        )
        for text in (f"text {n}" for n in range(number % DISTINCT + 1))
    )


def recorder(path: Path, started: str) -> Iterator[Commit]:
    """Commits through our own store."""
    writer = create_session(
        Destination(path=path), project="p", provider="openai", started_at=started, busy_seconds=0.0,
        attempts=1,
    )  # fmt: skip

    def commit(number: int) -> None:
        writer.write(
            Call(
                id=f"{number:032x}",
                seq=number,
                provider="openai",
                surface="openai.chat",
                inputs=inputs_of(number),
                outputs=(),
                params={"model": "m"},
                started_at=started,
            )
        )

    yield commit
    writer.close()


def bare(path: Path, started: str) -> Iterator[Commit]:
    """Commits through SQLite alone, with a checkpoint of the hardest kind every few commits."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma wal_autocheckpoint = 7")
        connection.execute("begin")
        for statement in schema.CORE.split(";\n"):
            connection.execute(statement)
        connection.execute("insert into run values ('r', 'p', ?, 'o', '[]', '', 2)", (started,))
        connection.execute("commit")

        def commit(number: int) -> None:
            connection.execute("begin immediate")
            connection.execute(
                "insert into call (id, run_id, seq, params) values (?, 'r', ?, '{}')",
                (f"c{number}", number),
            )
            for position, placed in enumerate(inputs_of(number)):
                block = placed.block
                connection.execute(
                    "insert or ignore into block values (?, ?, ?, ?, 3, 'estimate')",
                    (block.content_hash, block.role, block.kind, block.text),
                )
                connection.execute(
                    "insert into call_block values (?, ?, ?, 'user', 'heuristic')",
                    (f"c{number}", block.content_hash, position),
                )
            connection.execute("commit")
            if number % 20 == 0:
                row = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
                if row[0]:
                    raise sqlite3.OperationalError("a reader held the log")

        yield commit


def main() -> None:
    folder, kind = Path(sys.argv[1]), {"recorder": recorder, "bare": bare}[sys.argv[2]]
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    errors: list[str] = []
    commits = 0
    for file in count(1):
        writing = kind(folder / f"{file}.ctrace", datetime.now(timezone.utc).isoformat())
        commit = next(writing)
        for number in range(1, CALLS_PER_FILE + 1):
            try:
                commit(number)
            except Exception as error:  # noqa: BLE001  whatever it is, it is counted
                errors.append(repr(error))
            commits += 1
            print(file, number, flush=True)
            if ended.is_set():
                break
        next(writing, None)
        if ended.is_set():
            break
    print(json.dumps({"commits": commits, "errors": errors}), flush=True)


if __name__ == "__main__":
    main()
