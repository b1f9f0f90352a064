"""Hostile traces with journals and logs beside them."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from tests.trust.files.hostile import COUNT_FOREVER, case, trace
from tests.trust.files.hostile_schema import RUN


def _journal(super_name: str = "", pages: int = 0) -> bytes:
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", pages, 7, 10, 512, 4_096)
    name = super_name.encode()
    tail = struct.pack(">I", 2**30 // 4_096 + 1) + name
    tail += struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    return head.ljust(512, b"\x00") + (tail if name else b"")


@case()
def journal(folder: Path) -> None:
    trace(folder / "x.ctrace")
    (folder / "x.ctrace-journal").write_bytes(_journal())


@case()
def journal_with_super_journal(folder: Path) -> None:
    trace(folder / "x.ctrace")
    victim = folder / "victim.txt"
    victim.write_text("keep me")
    (folder / "x.ctrace-journal").write_bytes(_journal(str(victim)))
    trace(folder / "y.ctrace")
    (folder / "y.ctrace-journal").write_bytes(_journal("victim.txt"))


@case()
def journal_is_a_link_or_a_pipe(folder: Path) -> None:
    for name in ("x", "y", "z"):
        trace(folder / f"{name}.ctrace")
    (folder / "x.ctrace-journal").symlink_to("good.ctrace")
    os.mkfifo(folder / "y.ctrace-journal")
    (folder / "z.ctrace-journal").mkdir()


def logged(folder: Path) -> Path:
    """`x.ctrace` with a log that holds a renamed project, as a killed writer leaves it."""
    path = trace(folder / "x.ctrace", pragma="journal_mode = wal")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("update run set project = 'renamed in the log'")
        log = Path(f"{path}-wal").read_bytes()
        content = path.read_bytes()
    path.write_bytes(content)
    Path(f"{path}-wal").write_bytes(log)
    return path


@case()
def log_left_behind(folder: Path) -> None:
    logged(folder)


@case()
def log_of_noise(folder: Path) -> None:
    path = trace(folder / "x.ctrace", pragma="journal_mode = wal")
    Path(f"{path}-wal").write_bytes(random.Random(3).randbytes(9_000))
    Path(f"{path}-shm").write_bytes(random.Random(4).randbytes(40_000))


@case()
def log_of_a_file_that_has_none(folder: Path) -> None:
    log = Path(f"{logged(folder)}-wal")
    trace(folder / "y.ctrace")
    shutil.copy(log, folder / "y.ctrace-wal")


@case()
def log_is_a_link_or_a_pipe(folder: Path) -> None:
    for name in ("x", "y", "z", "u"):
        trace(folder / f"{name}.ctrace", pragma="journal_mode = wal")
    (folder / "x.ctrace-wal").symlink_to("/dev/zero")
    os.mkfifo(folder / "y.ctrace-wal")
    (folder / "z.ctrace-wal").mkdir()
    (folder / "u.ctrace-wal").symlink_to("good.ctrace")


@case()
def log_of_a_terabyte(folder: Path) -> None:
    os.truncate(f"{logged(folder)}-wal", 2**40)


@case()
def log_cut_and_bent(folder: Path) -> None:
    log = Path(f"{logged(folder)}-wal")
    whole = bytearray(log.read_bytes())
    for name, start, end in (("a", 24, 28), ("b", 8, 12), ("c", 32, 36), ("d", 4_200, 4_300)):
        shutil.copy(folder / "x.ctrace", folder / f"{name}.ctrace")
        bent = whole[:start] + b"\xff" * (end - start) + whole[end:]
        (folder / f"{name}.ctrace-wal").write_bytes(bent)
    (folder / "e.ctrace-wal").write_bytes(whole[:20])
    shutil.copy(folder / "x.ctrace", folder / "e.ctrace")


@case()
def log_with_views(folder: Path) -> None:
    path = trace(folder / "x.ctrace", pragma="journal_mode = wal")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("drop table run")
        connection.execute(f"create view run as {COUNT_FOREVER} {RUN.format('i')} from n")
        log, content = Path(f"{path}-wal").read_bytes(), path.read_bytes()
    path.write_bytes(content)
    Path(f"{path}-wal").write_bytes(log)
