"""Which block stands where in which call: written and read here and nowhere else.

In version 2 that is one row per block and call. A delta-coded version may follow behind the same
functions.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING

from ctxdiff_capture.errors import TooLarge
from ctxdiff_capture.light import light
from ctxdiff_capture.model import Placement
from ctxdiff_capture.store.values import Notes, storable, text

if TYPE_CHECKING:
    from ctxdiff_capture.store.numbering import Numbering

_CHUNK = 500
"""Parameters of one query; the oldest SQLite in use allows 999."""
MAX_PLACES = 5_000_000
"""Places of all calls of a session together that are read; eight bytes each are kept."""
_MAX_RANGE = 100_000
"""Places of a call whose hashes are read as one text."""
_REMEMBERED = 32
_REMEMBERED_PLACES = 20_000
"""Calls that a later one may begin like, and their blocks; more agents than this take turns."""

# A writer stores the rows of a call one after another, so they stand together in the table and a
# range of rowids finds them without the index (hence the `+`), in a third of the time. A range
# counts only when each of its rows is this call's and stands where its position says.
_RANGE = """
select count(*), group_concat(block_id), group_concat(label), group_concat(label_source)
from call_block
where rowid between ?1 and ?1 + ?2 and +call_id = ?3 and position = rowid - ?1
"""
_ENDS = """
select b.call_id, b.rowid, (select max(position) from call_block where call_id = b.call_id)
from call_block b where b.call_id in ({marks}) and b.position = 0
"""
# Copying within one table makes SQLite collect the rows first; from another one it does not.
_NEWEST = """
create temp table ctx_newest (                -- the rows of calls that a later one may go on from
    key             integer primary key,      -- a range for each call, in which positions follow
    block_id        text not null,
    label           text not null,
    label_source    text not null
)
"""
_FETCH = """
insert into temp.ctx_newest (key, block_id, label, label_source)
select ?1 + position, block_id, label, label_source from call_block
where call_id = ?2 and position < ?3 order by position
"""
_COPY = """
insert into call_block (call_id, block_id, position, label, label_source)
select ?1, block_id, key - ?2, label, label_source from temp.ctx_newest
where key >= ?2 and key < ?3 order by key
"""
_RANGE_KEYS = 2**32
_ROWS = """
select block_id, position, label, label_source from call_block where call_id = ? order by position
"""


@light(frozen=True, slots=True)
class Members:
    """The input blocks of one call; all fields have one entry per block, in order."""

    blocks: array[int]
    """Numbers that `Numbering` gave to content hashes."""
    labels: array[int]
    """Numbers that `Numbering` gave to (label, label source)."""
    positions: Sequence[int]


@dataclass(frozen=True, slots=True)
class Alike:
    """A start that two calls share."""

    call_id: str
    """The call that was written before."""
    count: int
    """Blocks from the first that are the same; 0 is none."""


class MemberWriter:
    """Stores which blocks calls have, through one connection, inside the caller's transactions.

    A call that begins as an earlier one does is stored by copying that one's rows, which takes
    half the time and no Python. Placements are compared by identity: decoders give the same
    objects to what a conversation had before.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._written: dict[str, Sequence[Placement]] = {}
        self._places = 0
        # The range of keys that has exactly the rows of a call.
        self._ranges: dict[str, int] = {}
        self._has_table = False

    def alike(self, inputs: Sequence[Placement]) -> Alike:
        """The call, among those written last, that `inputs` share the longest start with."""
        best = Alike("", 0)
        for call_id, written in reversed(self._written.items()):
            count = _common(inputs, written)
            if count > best.count:
                best = Alike(call_id, count)
            if count == len(written):  # it goes on from that one
                break
        return best

    def write(self, call_id: str, inputs: Sequence[Placement], start: Alike) -> None:
        """Store a call that has no rows, or those that `keeps` has told of.

        The blocks are stored, and `start` is `alike(inputs)`.
        """
        if self.keeps(call_id, inputs):
            return
        # What has little in common with the call before is not worth a detour.
        if 2 * start.count < len(inputs) or not self._is_copied(call_id, inputs, start):
            self._connection.executemany(
                "insert into call_block (call_id, block_id, position, label, label_source)"
                " values (?, ?, ?, ?, ?)",
                (
                    (call_id, p.block.content_hash, position, storable(p.label), p.label_source)
                    for position, p in enumerate(inputs)
                ),
            )
        self._written[call_id] = inputs
        self._places += len(inputs)
        while len(self._written) > _REMEMBERED or self._places > _REMEMBERED_PLACES:
            self._drop(next(iter(self._written)))

    def keeps(self, call_id: str, inputs: Sequence[Placement]) -> bool:
        """Whether the rows of a call are known to say `inputs`: it need not be written again."""
        written = self._written.get(call_id)
        return written is not None and len(written) == len(inputs) == _common(written, inputs)

    def forget(self, call_id: str | None = None) -> None:
        """What was written, of one call or of all, may not be there."""
        if call_id is None:
            self._written.clear()
            self._places = 0
            self._ranges.clear()
            self._has_table = False
        else:
            self._drop(call_id)

    def _is_copied(self, call_id: str, inputs: Sequence[Placement], start: Alike) -> bool:
        """Whether the call could be stored with the rows of `start`; if not, no row is."""
        first = self._taken_over(start)
        if first is None:
            return False
        self._connection.executemany(
            "insert into temp.ctx_newest values (?, ?, ?, ?)",
            (
                (key, p.block.content_hash, storable(p.label), p.label_source)
                for key, p in enumerate(islice(inputs, start.count, None), first + start.count)
            ),
        )
        self._ranges[call_id] = first
        self._connection.execute(_COPY, (call_id, first, first + _RANGE_KEYS))
        return True

    def _taken_over(self, start: Alike) -> int | None:
        """A range with the rows of `start`, which that call's own becomes; None without rows."""
        first = self._ranges.pop(start.call_id, None)
        if first is not None:
            self._clear(first + start.count, first + _RANGE_KEYS)
            return first
        if not self._has_table:
            self._connection.execute("drop table if exists temp.ctx_newest")
            self._connection.execute(_NEWEST)
            self._has_table = True
        taken = self._ranges.values()
        first = next(n for n in range(0, 2**63, _RANGE_KEYS) if n not in taken)
        self._clear(first, first + _RANGE_KEYS)
        fetched = self._connection.execute(_FETCH, (first, start.call_id, start.count)).rowcount
        return first if fetched == start.count else None

    def _drop(self, call_id: str) -> None:
        """A call is remembered no more."""
        self._places -= len(self._written.pop(call_id, ()))
        first = self._ranges.pop(call_id, None)
        if first is not None:
            self._clear(first, first + _RANGE_KEYS)

    def _clear(self, first: int, end: int) -> None:
        self._connection.execute(
            "delete from temp.ctx_newest where key >= ? and key < ?", (first, end)
        )


def _common(left: Sequence[Placement], right: Sequence[Placement]) -> int:
    """How many objects two sequences begin with that are the same."""
    if all(map(is_, left, right)):
        return min(len(left), len(right))
    return next(i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a is not b)


def delete_inputs(connection: sqlite3.Connection, call_id: str) -> None:
    """Forget which blocks a call has."""
    connection.execute("delete from call_block where call_id = ?", (call_id,))


def read_inputs(
    connection: sqlite3.Connection, call_ids: Sequence[str], numbering: Numbering, notes: Notes
) -> Iterator[Members]:
    """The members of each call, in the order of `call_ids`.

    Raises:
        TooLarge: they have more than `MAX_PLACES` together.
    """
    left = MAX_PLACES
    for start in range(0, len(call_ids), _CHUNK):
        chunk = call_ids[start : start + _CHUNK]
        query = _ENDS.format(marks=", ".join("?" * len(chunk)))
        ends = {row[0]: row for row in connection.execute(query, chunk)}
        for call_id in chunk:
            members = _from_range(connection, call_id, ends.get(call_id), numbering) or _from_rows(
                connection, call_id, numbering, notes, left
            )
            left -= len(members.blocks)
            if left < 0:
                raise _too_many()
            yield members


def _from_range(
    connection: sqlite3.Connection,
    call_id: str,
    ends: tuple[str, int, object] | None,
    numbering: Numbering,
) -> Members | None:
    """A call whose rows stand together, or None when this way does not serve."""
    if ends is None:
        return None
    _, start, last = ends
    if type(last) is not int or last >= _MAX_RANGE:
        return None
    found = connection.execute(_RANGE, (start, last, call_id)).fetchone()
    count, hash_column, label_column, source_column = found
    if count != last + 1 or None in found:
        return None
    # Unequal numbers: a value is NULL or has a comma in it.
    if not count == label_column.count(",") + 1 == source_column.count(",") + 1:
        return None
    if count != hash_column.count(",") + 1:
        return None
    labels = numbering.labels_of(label_column, source_column)
    blocks = numbering.blocks_of(hash_column)
    return Members(blocks, labels, range(count))


def _from_rows(
    connection: sqlite3.Connection, call_id: str, numbering: Numbering, notes: Notes, most: int
) -> Members:
    """A call's rows through the index, each value checked."""
    blocks, labels, positions = array("i"), array("i"), []
    for block_id, position, label, source in connection.execute(_ROWS, (call_id,)):
        if type(position) is not int:
            notes.add("a block's position is no number and the block was left out")
            continue
        blocks.append(numbering.blocks[text(block_id)])
        labels.append(numbering.labels[text(label), text(source)])
        positions.append(position)
        if len(positions) > most:
            raise _too_many()
    dense = positions == list(range(len(positions)))
    return Members(blocks, labels, range(len(positions)) if dense else tuple(positions))


def _too_many() -> TooLarge:
    return TooLarge(
        "the session has more blocks in its calls than are read", remedy="ask about another run"
    )
