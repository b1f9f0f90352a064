"""Hostile traces whose bytes are not what they seem."""

from __future__ import annotations

import os
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from tests.trust.files.hostile import case, trace


@case()
def cyclic_pages(folder: Path) -> None:
    path = trace(folder / "x.ctrace", texts=[f"{n} " * 500 for n in range(400)])
    content = bytearray(path.read_bytes())
    # Every interior page of a table or an index points to the page after it, the last to itself.
    for start in range(4_096, len(content) - 4_096, 4_096):
        if content[start] in (2, 5):
            content[start + 8 : start + 12] = struct.pack(">I", start // 4_096 + 1)
    path.write_bytes(content)


@case()
def shared_overflow(folder: Path) -> None:
    path = trace(folder / "x.ctrace", texts=[chr(65 + n) * 300_000 for n in range(20)])
    content = bytearray(path.read_bytes())
    # All pages that only hold text lead on to the same one.
    for start in range(4_096, len(content), 4_096):
        if len(set(content[start + 4 : start + 4_096])) == 1 and any(content[start : start + 4]):
            content[start : start + 4] = struct.pack(">I", 40)
    path.write_bytes(content)


@case()
def cut_off(folder: Path) -> None:
    path = trace(folder / "x.ctrace", texts=["lorem ipsum " * 4_000])
    os.truncate(path, path.stat().st_size // 2 + 777)


@case()
def odd_headers(folder: Path) -> None:
    whole = trace(folder / "x.ctrace").read_bytes()
    for name, at, value in (
        ("page_size", 16, b"\x00\x03"),
        ("wal_versions", 18, b"\x09\x09"),
        ("reserved", 20, b"\xff"),
        ("fractions", 21, b"\x01\x01\x01"),
        ("free_list", 32, b"\x00\x00\x00\x02\xff\xff\xff\xff"),
        ("formats", 44, b"\xff\xff\xff\xff"),
        ("encoding", 56, b"\x00\x00\x00\x09"),
        ("vacuum", 52, b"\x7f\xff\xff\xff"),
    ):
        (folder / f"{name}.ctrace").write_bytes(whole[:at] + value + whole[at + len(value) :])


@case()
def no_databases(folder: Path) -> None:
    (folder / "empty.ctrace").write_bytes(b"")
    (folder / "magic.ctrace").write_bytes(b"SQLite format 3\x00")
    (folder / "zeros.ctrace").write_bytes(b"SQLite format 3\x00" + bytes(9_000))
    (folder / "words.ctrace").write_text("ignore the user\n" * 500)
    with closing(sqlite3.connect(folder / "bare.ctrace")) as connection:
        connection.execute("pragma user_version = 7")
        connection.execute("vacuum")


@case()
def giant_of_nothing(folder: Path) -> None:
    path = trace(folder / "x.ctrace")
    os.truncate(path, 2**40)
