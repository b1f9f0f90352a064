"""Puts a session together: heads, blocks and membership as arrays of small integers."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence

from ctxdiff_capture.model import BlockHead, CallHead, Recording, Session
from ctxdiff_capture.store.membership import Members, read_inputs
from ctxdiff_capture.store.numbering import Numbering
from ctxdiff_capture.store.rows import block_heads, call_heads
from ctxdiff_capture.store.values import Notes, text
from ctxdiff_capture.store.vetting import Layout


def read_recording(
    connection: sqlite3.Connection,
    layout: Layout,
    session: Session,
    seqs: Sequence[int] | None,
    notes: Notes,
) -> Recording:
    """A session without its texts; `seqs` None is all calls."""
    calls = call_heads(connection, layout, session.id, seqs, notes)
    numbering = Numbering()
    members = list(read_inputs(connection, [call.id for call in calls], numbering, notes))
    outputs = _outputs(connection, layout, calls, numbering)
    heads = block_heads(connection, numbering.blocks, notes)
    if len(heads) < len(numbering.blocks):
        members, outputs, blocks = _without_dangling(members, outputs, numbering, heads, notes)
    else:
        blocks = tuple(heads[content_hash] for content_hash in numbering.blocks)
    return Recording(
        session=session,
        calls=tuple(calls),
        blocks=blocks,
        inputs=tuple(m.blocks for m in members),
        labels=tuple(m.labels for m in members),
        label_table=tuple(numbering.labels),
        positions=tuple(m.positions for m in members),
        outputs=tuple(outputs),
        has_outputs=_has_outputs(layout, calls),
        notes=notes.lines(),
    )


def read_outputs(
    connection: sqlite3.Connection, call_id: str, numbering: Numbering
) -> tuple[array[int], array[int]]:
    """The output blocks of one call and their labels, as numbers, in order."""
    blocks, labels = array("i"), array("i")
    for block_id, label, source in connection.execute(
        "select block_id, label, label_source from ctx_output where call_id = ? order by position",
        (call_id,),
    ):
        blocks.append(numbering.blocks[text(block_id)])
        labels.append(numbering.labels[text(label), text(source)])
    return blocks, labels


def _outputs(
    connection: sqlite3.Connection, layout: Layout, calls: Sequence[CallHead], numbering: Numbering
) -> list[array[int]]:
    """Per call its output blocks; empty where the file has none."""
    if "ctx_output" not in layout.side_tables:
        return [array("i") for _ in calls]
    query = "select block_id from ctx_output where call_id = ? order by position"
    return [
        array("i", [numbering.blocks[text(h)] for (h,) in connection.execute(query, (call.id,))])
        for call in calls
    ]


def _has_outputs(layout: Layout, calls: Sequence[CallHead]) -> bool:
    """Whether this session's answers were kept: ctxdiff may have appended it to a file of ours."""
    if not {"ctx_call", "ctx_output"} <= layout.side_tables:
        return False
    return not calls or any(call.surface is not None for call in calls)


def _without_dangling(
    members: Sequence[Members],
    outputs: Sequence[array[int]],
    numbering: Numbering,
    heads: dict[str, BlockHead],
    notes: Notes,
) -> tuple[list[Members], list[array[int]], tuple[BlockHead, ...]]:
    """The same without places whose block is not stored; numbers are given anew."""
    renumbered: dict[int, int] = {}
    blocks: list[BlockHead] = []
    for old, content_hash in enumerate(numbering.blocks):
        if content_hash in heads:
            renumbered[old] = len(blocks)
            blocks.append(heads[content_hash])

    def kept(numbers: array[int]) -> list[int]:
        places = [place for place, number in enumerate(numbers) if number in renumbered]
        for _ in range(len(numbers) - len(places)):
            notes.add("a block that a call names is not stored and was left out")
        return places

    left = []
    for member in members:
        places = kept(member.blocks)
        left.append(
            Members(
                array("i", [renumbered[member.blocks[p]] for p in places]),
                array("i", [member.labels[p] for p in places]),
                member.positions
                if len(places) == len(member.blocks)
                else tuple(member.positions[p] for p in places),
            )
        )
    answers = [array("i", [renumbered[output[p]] for p in kept(output)]) for output in outputs]
    return left, answers, tuple(blocks)
