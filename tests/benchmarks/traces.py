"""Traces for the benchmarks: version 2 files without side tables, so that both programs read them."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

TABLES = """
CREATE TABLE run (id TEXT PRIMARY KEY, project TEXT NOT NULL, started_at TEXT NOT NULL,
  provider TEXT NOT NULL, models TEXT NOT NULL, ctxdiff_version TEXT NOT NULL,
  schema_version INTEGER NOT NULL);
CREATE TABLE call (id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES run(id),
  seq INTEGER NOT NULL, params TEXT NOT NULL, usage TEXT, latency_ms INTEGER, error TEXT,
  agent TEXT, step TEXT, provider TEXT, UNIQUE (run_id, seq));
CREATE TABLE block (content_hash TEXT PRIMARY KEY, role TEXT NOT NULL, kind TEXT NOT NULL,
  text TEXT NOT NULL, token_count INTEGER NOT NULL, token_method TEXT NOT NULL);
CREATE TABLE call_block (call_id TEXT NOT NULL REFERENCES call(id),
  block_id TEXT NOT NULL REFERENCES block(content_hash), position INTEGER NOT NULL,
  label TEXT NOT NULL, label_source TEXT NOT NULL, PRIMARY KEY (call_id, position));
"""
WORDS = [
    "parcel",
    "route",
    "depot",
    "driver",
    "invoice",
    "customer",
    "window",
    "rain",
    "morning",
    "bridge",
    "signal",
    "harbour",
]


@dataclass(frozen=True)
class Row:
    """A block of a benchmark trace."""

    role: str
    text: str
    kind: str = "message"

    @property
    def digest(self) -> str:
        """The block's content hash, after the format's rule."""
        return sha256(f"{self.role}\x00{self.kind}\x00{self.text}".encode()).hexdigest()


def prose(rng: random.Random, size: int) -> str:
    """`size` characters of words."""
    return " ".join(rng.choices(WORDS, k=size // 5 + 1))[:size]


TOOL = Row(
    "system", json.dumps({"name": "find_route", "input_schema": {"type": "object"}}), "tool_schema"
)
SYSTEM = Row("system", "You plan the tours of a courier firm.")


def growing(turns: int, *, per_turn: int = 3, size: int = 400) -> Iterator[list[Row]]:
    """Each turn appends: the window is never full."""
    rng = random.Random(7)
    rows = [TOOL, SYSTEM]
    for _ in range(turns):
        rows += [Row(("user", "assistant")[i % 2], prose(rng, size)) for i in range(per_turn)]
        yield list(rows)


def windowed(turns: int, *, window: int = 48, size: int = 400) -> Iterator[list[Row]]:
    """Each turn appends two blocks and drops the oldest beyond `window`."""
    rng = random.Random(11)
    history: list[Row] = []
    for _ in range(turns):
        history += [Row("user", prose(rng, size)), Row("assistant", prose(rng, size))]
        history = history[-window:]
        yield [TOOL, SYSTEM, *history]


def clocked(turns: int, *, size: int = 40_000) -> Iterator[list[Row]]:
    """A clock stands in a long system prompt, so that it differs on every turn."""
    rng = random.Random(13)
    head, rows = prose(rng, size), []
    for turn in range(turns):
        rows = [*rows, Row("user", prose(rng, 200)), Row("assistant", prose(rng, 200))]
        clock = f"It is 09:{turn // 60 % 60:02}:{turn % 60:02}."
        yield [TOOL, Row("system", f"{head[: size // 2]} {clock} {head[size // 2 :]}"), *rows]


def rewritten(turns: int, *, size: int = 1_000_000) -> Iterator[list[Row]]:
    """One large block is written anew before the last turn, every word of it."""
    rng = random.Random(17)
    first, last = prose(rng, size), prose(rng, size)
    rows: list[Row] = []
    for turn in range(turns):
        rows = [*rows, Row("user", prose(rng, 200)), Row("assistant", prose(rng, 200))]
        yield [TOOL, SYSTEM, Row("user", last if turn == turns - 1 else first), *rows]


def write(path: Path, turns: Iterable[list[Row]]) -> Path:
    """A trace of one session with those turns."""
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    session = "5e" * 16
    db.execute(
        "INSERT INTO run VALUES (?,?,?,?,?,?,?)",
        (
            session,
            path.stem,
            "2026-11-30T08:00:00+00:00",
            "anthropic",
            '["claude-sonnet-4-5"]',
            "0.5.1",
            2,
        ),
    )
    for seq, rows in enumerate(turns, start=1):
        call = f"{seq:032x}"
        prompt = sum(max(1, len(row.text) // 4) for row in rows)
        usage = json.dumps({"input_tokens": prompt, "output_tokens": 100})
        params = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 1024})
        db.execute(
            "INSERT INTO call VALUES (?,?,?,?,?,?,?,?,?,?)",
            (call, session, seq, params, usage, 900, None, None, None, "anthropic"),
        )
        for position, row in enumerate(rows):
            label = {"tool_schema": "tool_schema"}.get(
                row.kind, {"assistant": "history"}.get(row.role, row.role)
            )
            db.execute(
                "INSERT OR IGNORE INTO block VALUES (?,?,?,?,?,?)",
                (row.digest, row.role, row.kind, row.text, -(-len(row.text) // 4), "estimate"),
            )
            db.execute(
                "INSERT INTO call_block VALUES (?,?,?,?,?)",
                (call, row.digest, position, label, "heuristic"),
            )
    db.commit()
    db.close()
    return path
