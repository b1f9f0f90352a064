"""Stages and decisions: what a program said about a call before it made it."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence

from ctxdiff_capture.model import Block, Call, Decision, Json, LabelSource, Placement, Stage
from ctxdiff_capture.store.pieces import inflated
from ctxdiff_capture.store.values import (
    MAX_JSON_BYTES,
    parsed,
    storable,
    storable_or_none,
    text,
    text_or_none,
)

_MAX_PACKED_BYTES = MAX_JSON_BYTES
_MAX_INTEGER = 2**63 - 1


def staged(call: Call) -> Iterable[Placement]:
    """The input blocks of all stages."""
    return (placement for stage in call.stages for placement in stage.inputs)


def write_said(connection: sqlite3.Connection, call: Call) -> None:
    """Store the stages and decisions of a call that has none yet; its blocks are stored."""
    connection.executemany(
        "insert into ctx_snapshot values (?, ?, ?, ?, ?)",
        (
            (
                call.id,
                number,
                storable(stage.name),
                storable(stage.taken_at),
                _packed(stage.inputs, call.inputs),
            )
            for number, stage in enumerate(call.stages)
        ),
    )
    connection.executemany(
        "insert into ctx_decision values (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                call.id,
                number,
                storable(decision.candidate),
                storable(decision.disposition),
                storable_or_none(decision.reason),
                _fitting(decision.rank),
                _fitting(decision.tokens),
            )
            for number, decision in enumerate(call.decisions)
        ),
    )


def read_decisions(connection: sqlite3.Connection, call_id: str) -> tuple[Decision, ...]:
    """A call's decisions in order; numbers that are none are left out."""
    query = (
        "select candidate, disposition, reason, rank, tokens from ctx_decision"
        " where call_id = ? order by number"
    )
    return tuple(
        Decision(
            text(candidate),
            text(disposition),
            text_or_none(reason),
            rank if type(rank) is int else None,
            tokens if type(tokens) is int else None,
        )
        for candidate, disposition, reason, rank, tokens in connection.execute(query, (call_id,))
    )


def read_stages(
    connection: sqlite3.Connection,
    call_id: str,
    sent: Sequence[Placement],
    blocks_of: Callable[[Iterable[str]], Mapping[str, Block]],
) -> tuple[Stage, ...]:
    """A call's stages in order; blocks that are not stored are left out.

    Args:
        connection: a trace that has the table.
        call_id: a call that is there.
        sent: its input blocks.
        blocks_of: whole blocks by content hash.
    """
    query = "select stage, taken_at, packed from ctx_snapshot where call_id = ? order by number"
    rows = connection.execute(query, (call_id,)).fetchall()
    return tuple(
        Stage(text(name), text(taken_at), _unpacked(packed, sent, blocks_of))
        for name, taken_at, packed in rows
    )


def _packed(planned: Sequence[Placement], sent: Sequence[Placement]) -> bytes:
    """One entry per block: [which, label, source, path, tool call id].

    `which` is the position of the same block in the call, or its content hash where it was not
    sent: most are sent, and hashes do not compress.
    """
    positions = {p.block.content_hash: i for i, p in reversed(list(enumerate(sent)))}
    rows = [
        [
            positions.get(p.block.content_hash, p.block.content_hash),
            storable(p.label),  # as with the call's own blocks, whose label it may be
            p.label_source,
            p.path,
            p.tool_call_id,
        ]
        for p in planned
    ]
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode())


def _unpacked(
    packed: object,
    sent: Sequence[Placement],
    blocks_of: Callable[[Iterable[str]], Mapping[str, Block]],
) -> tuple[Placement, ...]:
    """The inverse of `_packed`; entries that it cannot have written are left out."""
    plain = inflated(packed, _MAX_PACKED_BYTES) if isinstance(packed, bytes) else None
    try:
        rows = parsed(plain)
    except ValueError:
        return ()
    rows = [row for row in rows if _is_entry(row)] if isinstance(rows, list) else []
    stored = blocks_of({row[0] for row in rows if isinstance(row[0], str)})
    placements = []
    for which, label, source, path, tool_call_id in rows:
        block = stored.get(which) if isinstance(which, str) else _sent_at(sent, which)
        if block is not None:
            from_tag: LabelSource = "tagged" if source == "tagged" else "heuristic"
            placements.append(Placement(block, label, from_tag, path, tool_call_id))
    return tuple(placements)


def _is_entry(row: Json) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 5
        and (type(row[0]) is int or isinstance(row[0], str))
        and all(isinstance(item, str) for item in row[1:4])
        and (row[4] is None or isinstance(row[4], str))
    )


def _sent_at(sent: Sequence[Placement], position: int) -> Block | None:
    return sent[position].block if 0 <= position < len(sent) else None


def _fitting(number: int | None) -> int | None:
    """A number that a column can hold."""
    return number if number is not None and abs(number) <= _MAX_INTEGER else None
