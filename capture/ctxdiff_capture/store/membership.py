"""Which block stands where in which call: written and read here and nowhere else.

In version 2 that is one row per block and call. A delta-coded version may follow behind the same
functions.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ctxdiff_capture.model import Placement
from ctxdiff_capture.store.values import Notes, storable, text

_SEPARATOR = "\x1f"

# A writer stores the rows of a call one after another, so they stand together in the table and a
# range of rowids finds them without the index. The conditions make sure: the range counts only
# when each row is this call's and stands where its position says.
_RANGE = """
select count(*), group_concat(block_id, char(31)), group_concat(label, char(31)),
       group_concat(label_source, char(31))
from call_block
where rowid between ?1 and ?1 + ?2 and call_id = ?3 and position = rowid - ?1
"""
_ENDS = """
select rowid, (select min(position) from call_block where call_id = ?1),
       (select max(position) from call_block where call_id = ?1)
from call_block where call_id = ?1 and position = 0
"""
_ROWS = """
select block_id, position, label, label_source from call_block where call_id = ? order by position
"""


@dataclass(frozen=True, slots=True)
class Members:
    """The input blocks of one call; all fields have one entry per block, in order."""

    blocks: array[int]
    """Numbers that `Numbering` gave to content hashes."""
    labels: array[int]
    """Numbers that `Numbering` gave to (label, label source)."""
    positions: Sequence[int]


class Numbering:
    """Small integers for content hashes and labels, in order of first appearance."""

    def __init__(self) -> None:
        self.blocks: dict[str, int] = _Numbers()
        self.labels: dict[tuple[str, str], int] = _Numbers()
        self.columns: dict[tuple[str, str], array[int]] = {}
        """Whole label columns seen before: most calls repeat one."""


class _Numbers(dict[Any, int]):
    """Gives the next number to a key it has not seen; a hit costs one C call."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def write_inputs(connection: sqlite3.Connection, call_id: str, inputs: Sequence[Placement]) -> None:
    """Store which blocks a call has; the blocks themselves are stored before."""
    connection.executemany(
        "insert into call_block (call_id, block_id, position, label, label_source)"
        " values (?, ?, ?, ?, ?)",
        (
            (call_id, p.block.content_hash, position, storable(p.label), p.label_source)
            for position, p in enumerate(inputs)
        ),
    )


def delete_inputs(connection: sqlite3.Connection, call_id: str) -> None:
    """Forget which blocks a call has."""
    connection.execute("delete from call_block where call_id = ?", (call_id,))


def read_inputs(
    connection: sqlite3.Connection, call_ids: Sequence[str], numbering: Numbering, notes: Notes
) -> Iterator[Members]:
    """The members of each call, in the order of `call_ids`."""
    for call_id in call_ids:
        yield _from_range(connection, call_id, numbering) or _from_rows(
            connection, call_id, numbering, notes
        )


def _from_range(
    connection: sqlite3.Connection, call_id: str, numbering: Numbering
) -> Members | None:
    """A call whose rows stand together, or None when this way does not serve."""
    ends = connection.execute(_ENDS, (call_id,)).fetchone()
    if ends is None or ends[1] != 0 or type(ends[2]) is not int:
        return None
    first, _, last = ends
    count, *columns = connection.execute(_RANGE, (first, last, call_id)).fetchone()
    hashes, labels, sources = (column.split(_SEPARATOR) for column in columns)
    # Unequal lengths: a value is missing, or holds the separator itself.
    if not last + 1 == count == len(hashes) == len(labels) == len(sources):
        return None
    label_numbers = numbering.columns.get((columns[1], columns[2]))
    if label_numbers is None:
        pairs = zip(labels, sources, strict=True)
        label_numbers = array("i", map(numbering.labels.__getitem__, pairs))
        numbering.columns[columns[1], columns[2]] = label_numbers
    return Members(
        blocks=array("i", map(numbering.blocks.__getitem__, hashes)),
        labels=label_numbers,
        positions=range(count),
    )


def _from_rows(
    connection: sqlite3.Connection, call_id: str, numbering: Numbering, notes: Notes
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
    dense = positions == list(range(len(positions)))
    return Members(blocks, labels, range(len(positions)) if dense else tuple(positions))
