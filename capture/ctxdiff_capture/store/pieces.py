"""Request bodies, kept as distinct pieces and, per call, a list of their numbers.

A conversation that grows by one message per turn repeats all earlier pieces; each is stored once,
so that space grows with what is new.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import accumulate
from operator import sub

import orjson

from ctxdiff_capture.errors import NotATrace

WORTH_PACKING_BYTES = 256
MAX_BODY_BYTES = 80 * 2**20
"""A larger body is not stored, and one that claims to be larger is not read.

A prompt of 64 MB is smaller, with what JSON spells in two characters: ends of lines, quotes.
"""

_LONG_BYTES = 4_096
_ENTRY_BYTES = 150
"""What Python needs to remember one piece beside its bytes."""
_REMEMBERED_BYTES = 12 * 2**20
_CHUNK = 500
_MAX_NUMBERS_BYTES = 4 * 2**20


class PieceWriter:
    """Stores request bodies through one connection, inside the caller's transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # By the piece itself or, of a long one, by its digest. The pieces of a conversation are the
        # same objects in each call, so most look-ups compare no bytes.
        self._ids: dict[bytes, int] = {}
        self._remembered_bytes = 0

    def write(self, call_id: str, pieces: Sequence[bytes]) -> None:
        """Store the body of a call which has none yet, unless it is too large to be read."""
        if sum(map(len, pieces)) > MAX_BODY_BYTES:
            return
        known = map(self._ids.get, pieces)  # most are, and looking is all that they cost
        numbers = [n or self._id_of(piece) for n, piece in zip(known, pieces, strict=True)]
        packed = packed_numbers(numbers)
        self._connection.execute("insert into ctx_request values (?, ?)", (call_id, packed))

    def forget(self) -> None:
        """The transaction was undone: what was remembered of it may not exist."""
        self._ids.clear()
        self._remembered_bytes = 0

    def _id_of(self, piece: bytes) -> int:
        """The number of a piece, which is stored if it is new."""
        key = piece if len(piece) < _LONG_BYTES else sha256(piece).digest()
        known = self._ids.get(key)
        if known is None:
            digest = sha256(piece).digest() if key is piece else key
            known = self._stored_id(digest) or self._insert(digest, piece)
            if self._remembered_bytes >= _REMEMBERED_BYTES:
                self.forget()
            self._ids[key] = known
            self._remembered_bytes += len(key) + _ENTRY_BYTES
        return known

    def _stored_id(self, digest: bytes) -> int | None:
        query = "select id from ctx_piece where digest = ?"
        row = self._connection.execute(query, (digest,)).fetchone()
        return None if row is None else int(row[0])

    def _insert(self, digest: bytes, piece: bytes) -> int:
        codec, body = "raw", piece
        if len(piece) >= WORTH_PACKING_BYTES:
            packed = zlib.compress(piece)
            if len(packed) < len(piece):
                codec, body = "zlib", packed
        cursor = self._connection.execute(
            "insert into ctx_piece (digest, size, codec, body) values (?, ?, ?, ?)",
            (digest, len(piece), codec, body),
        )
        return int(cursor.lastrowid or 0)


def read_request(connection: sqlite3.Connection, call_id: str) -> bytes | None:
    """The body of a call, or None when it was not kept.

    Raises:
        NotATrace: pieces are missing or damaged.
    """
    row = connection.execute(
        "select pieces from ctx_request where call_id = ?", (call_id,)
    ).fetchone()
    if row is None:
        return None
    numbers = unpacked_numbers(row[0])
    bodies = _bodies(connection, set(numbers))
    if any(number not in bodies for number in numbers):
        raise _damaged()
    if sum(len(bodies[number]) for number in numbers) > MAX_BODY_BYTES:
        raise _damaged()
    return b"".join(bodies[number] for number in numbers)


def _bodies(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, bytes]:
    """The pieces of these numbers, unpacked; missing ones are absent."""
    wanted = sorted(numbers)
    bodies: dict[int, bytes] = {}
    left = MAX_BODY_BYTES
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        marks = ", ".join("?" * len(chunk))
        query = f"select id, size, codec, body from ctx_piece where id in ({marks})"  # noqa: S608 - only question marks
        for number, size, codec, body in connection.execute(query, chunk):
            bodies[number] = _unpacked(body, codec, size)
            left -= len(bodies[number])
            if left < 0:
                raise _damaged()
    return bodies


def _unpacked(body: object, codec: object, size: object) -> bytes:
    """One stored piece as it was."""
    if not isinstance(body, bytes) or not isinstance(size, int) or not 0 <= size <= MAX_BODY_BYTES:
        raise _damaged()
    piece = inflated(body, size) if codec == "zlib" else body
    if piece is None or len(piece) != size:
        raise _damaged()
    return piece


def inflated(packed: bytes, limit: int) -> bytes | None:
    """What zlib packed, or None when it is damaged or longer than `limit` bytes."""
    machine = zlib.decompressobj()
    try:
        # One byte more than allowed tells "exactly the limit" from "beyond it".
        plain = machine.decompress(packed, limit + 1)
    except zlib.error:
        return None
    return plain if machine.eof and len(plain) <= limit else None


def packed_numbers(numbers: Sequence[int]) -> bytes:
    """Numbers as zlib of the JSON of the first and the differences.

    A conversation's numbers rise in an even pattern, which packs to some tens of bytes.
    """
    differences = list(map(sub, numbers, [0, *numbers[:-1]]))
    return zlib.compress(orjson.dumps(differences), 1)


def unpacked_numbers(packed: object) -> list[int]:
    """The inverse of `packed_numbers`.

    Raises:
        NotATrace: `packed` was not made by it.
    """
    plain = inflated(packed, _MAX_NUMBERS_BYTES) if isinstance(packed, bytes) else None
    if plain is None:
        raise _damaged()
    try:
        differences = json.loads(plain)
    except (ValueError, RecursionError):
        raise _damaged() from None
    if not isinstance(differences, list) or not all(type(n) is int for n in differences):
        raise _damaged()
    return list(accumulate(differences))


def _damaged() -> NotATrace:
    return NotATrace(
        "the stored request of this call is damaged", remedy="its blocks can still be read"
    )
