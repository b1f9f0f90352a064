"""Good traces of several shapes, and their bytes changed at random."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from ctxdiff_capture.importers.base import import_log
from ctxdiff_capture.model import Call, Placement
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session

from tests.trust.files.hostile import trace

PAGE = 4_096
DEMO = Path(__file__).parents[3] / "ctxdiff_mcp/cli/data/demo.jsonl"


def shapes(folder: Path) -> list[Path]:
    """Good traces, one with a log beside it; made anew in `folder`."""
    folder.mkdir()
    demo = folder / "demo.ctrace"
    import_log(DEMO, demo)
    by_hand = trace(folder / "hand.ctrace", texts=["long " * 3_000, "short"])
    return [demo, by_hand, _grown(folder / "grown.ctrace"), _live(folder, demo)]


def _grown(path: Path) -> Path:
    """A conversation of many turns, written by our recorder."""
    from ctxdiff_capture.hashing import digest_of
    from ctxdiff_capture.model import Block

    def placed(role: str, text: str) -> Placement:
        block = Block(
            digest_of(role, "message", text), role, "message", text, len(text), "estimate"
        )
        return Placement(block, role, path="/messages/0")

    said = [placed("user" if n % 2 else "system", f"message {n} " * 9) for n in range(60)]
    writer = create_session(
        Destination(path=path),
        project="p",
        provider="openai",
        started_at="2026-01-01T00:00:00+00:00",
    )
    writer.write_many(
        [
            Call(
                id=f"{n:032x}",
                seq=n,
                provider="openai",
                surface="openai.chat",
                inputs=tuple(said[:n]),
                outputs=(said[n],),
                params={"model": "m"},
                usage={"prompt_tokens": n},
                agent="a",
                started_at="2026-01-01T00:00:00+00:00",
                request_pieces=(b"[", b"piece %d" % n, b"]"),
            )
            for n in range(1, 60)
        ]
    )
    writer.close()
    return path


def _live(folder: Path, demo: Path) -> Path:
    """The demo as a killed writer leaves it: a part of it stands in the log alone."""
    path = folder / "live.ctrace"
    shutil.copy(demo, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("update run set project = 'renamed in the log'")
        connection.execute("update call set step = 'step in the log'")
        log, content = Path(f"{path}-wal").read_bytes(), path.read_bytes()
    path.write_bytes(content)
    Path(f"{path}-wal").write_bytes(log)
    return path


def flip(source: Path, target: Path, chance: random.Random) -> str:
    """A copy of a trace, damaged once; returns what was done, in words."""
    shutil.copy(source, target)
    log = Path(f"{source}-wal")
    if log.exists():
        shutil.copy(log, f"{target}-wal")
        if chance.random() < 0.5:
            target = Path(f"{target}-wal")
    content = bytearray(target.read_bytes())
    where = chance.choice(["anywhere", "header", "schema", "page starts", "swap", "cut", "repeat"])
    pages = max(1, len(content) // PAGE)
    if where == "swap":
        one, two = (PAGE * chance.randrange(pages) for _ in range(2))
        content[one : one + PAGE], content[two : two + PAGE] = (
            content[two : two + PAGE],
            content[one : one + PAGE],
        )
    elif where == "repeat":
        one, two = (PAGE * chance.randrange(pages) for _ in range(2))
        content[one : one + PAGE] = content[two : two + PAGE]
    elif where == "cut":
        del content[chance.randrange(len(content)) :]
    else:
        bits = chance.choice([1, 1, 2, 4, 8, 16, 32, 64])
        for _ in range(bits):
            if where == "header":
                at = chance.randrange(min(100, len(content)))
            elif where == "schema":
                at = chance.randrange(min(PAGE, len(content)))
            elif where == "page starts":
                at = min(PAGE * chance.randrange(pages) + chance.randrange(40), len(content) - 1)
            else:
                at = chance.randrange(len(content))
            content[at] ^= 1 << chance.randrange(8)
        where = f"{bits} bits, {where}"
    target.write_bytes(content)
    return f"{where} of {target.name}"
