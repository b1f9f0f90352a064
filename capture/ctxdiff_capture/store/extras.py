"""What our side tables hold of a call beyond the core columns."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, TypeVar

import orjson

from ctxdiff_capture.model import Attempt, Call, CallDetail, CallError, Json, Marker, Placement, Tag
from ctxdiff_capture.store.pieces import inflated
from ctxdiff_capture.store.values import (
    MAX_JSON_BYTES,
    json_text,
    parsed,
    storable,
    storable_or_none,
    text_or_none,
)

_MAX_PACKED_BYTES = MAX_JSON_BYTES
_OF_ONE_CALL = (
    "ctx_call",
    "ctx_placement",
    "ctx_output",
    "ctx_snapshot",
    "ctx_decision",
    "ctx_request",
)

T = TypeVar("T")


class Places:
    """Paths and tool call ids of calls, each of which costs what it has beyond the last one."""

    def __init__(self) -> None:
        self._inputs: Sequence[Placement] = ()
        self._paths: list[str] = []
        self._ids: dict[str, str] = {}

    def packed(self, call: Call) -> bytes | None:
        """Those of one call, packed; None when there are none."""
        inputs = call.inputs
        if len(self._inputs) > len(inputs) or not all(map(is_, self._inputs, inputs)):
            self._inputs, self._paths, self._ids = (), [], {}
        known = len(self._inputs)
        self._paths += _paths(inputs[known:])
        self._ids |= _ids(inputs[known:], known)
        self._inputs = inputs
        return _packed(self._paths, self._ids, call.outputs)


def write_extras(connection: sqlite3.Connection, call: Call, places: Places) -> None:
    """Store the side rows of a call which has none yet, its request apart."""
    error = call.error
    connection.execute(
        "insert into ctx_call values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            call.id,
            storable(call.surface),
            storable(call.endpoint),
            storable(call.started_at),
            call.first_byte_ms,
            storable_or_none(call.finish_reason),
            storable_or_none(call.response_id),
            storable_or_none(call.response_model),
            storable_or_none(call.request_id),
            storable_or_none(error.message) if error else None,
            error.status if error else None,
            len(call.attempts),
            _list_or_none([_attempt_row(attempt) for attempt in call.attempts]),
            _list_or_none([[tag.label, tag.text] for tag in call.tags]),
            _list_or_none([[m.position, m.path, m.ttl] for m in call.markers]),
            json_text(dict(call.metadata)) if call.metadata else None,
            call.request_digest,
        ),
    )
    if packed := places.packed(call):
        connection.execute("insert into ctx_placement values (?, ?)", (call.id, packed))
    connection.executemany(
        "insert into ctx_output values (?, ?, ?, ?, ?)",
        (
            (call.id, position, p.block.content_hash, storable(p.label), p.label_source)
            for position, p in enumerate(call.outputs)
        ),
    )


def delete_extras(connection: sqlite3.Connection, call_id: str) -> None:
    """Forget the side rows of a call, its request among them."""
    for table in _OF_ONE_CALL:
        connection.execute(f"delete from {table} where call_id = ?", (call_id,))  # noqa: S608 - names of ours


def read_detail(
    connection: sqlite3.Connection, call_id: str, side_tables: frozenset[str]
) -> CallDetail:
    """What the side tables say of a call; fields that cannot be read are empty."""
    row: Sequence[Any] | None = None
    if "ctx_call" in side_tables:
        query = (
            "select endpoint, request_id, attempts, tags, markers, metadata"
            " from ctx_call where call_id = ?"
        )
        row = connection.execute(query, (call_id,)).fetchone()
    endpoint, request_id, attempts, tags, markers, metadata = row or (None,) * 6
    places = _places(connection, call_id) if "ctx_placement" in side_tables else {}
    paths = places.get("paths")
    return CallDetail(
        endpoint=text_or_none(endpoint),
        request_id=text_or_none(request_id),
        attempts=_each(attempts, _attempt),
        tags=_each(tags, _tag),
        markers=_each(markers, _marker),
        paths={
            position: path
            for position, path in enumerate(paths if isinstance(paths, list) else ())
            if isinstance(path, str) and path
        },
        tool_call_ids=_by_position(places.get("ids")),
        output_tool_call_ids=_by_position(places.get("output_ids")),
        metadata=_object(metadata),
    )


def output_paths(
    connection: sqlite3.Connection, call_id: str, side_tables: frozenset[str]
) -> Sequence[str]:
    """JSON pointers of the output blocks, in order; shorter or empty when unknown."""
    places = _places(connection, call_id) if "ctx_placement" in side_tables else {}
    paths = places.get("output_paths")
    return [p if isinstance(p, str) else "" for p in paths] if isinstance(paths, list) else []


def _packed(paths: list[str], ids: Mapping[str, str], outputs: Sequence[Placement]) -> bytes | None:
    """What `_places` reads."""
    answered = _paths(outputs)
    places = {
        "paths": paths if any(paths) else [],
        "ids": ids,
        "output_paths": answered if any(answered) else [],
        "output_ids": _ids(outputs),
    }
    present = {name: value for name, value in places.items() if value}
    if not present:
        return None
    try:
        plain = orjson.dumps(present)
    except TypeError:  # a lone surrogate, which only Python's own JSON can spell
        plain = json.dumps(present, separators=(",", ":")).encode()
    return zlib.compress(plain, 1)  # a call's paths are small, and every call has some


def _paths(placements: Sequence[Placement]) -> list[str]:
    return [placement.path for placement in placements]


def _ids(placements: Sequence[Placement], first: int = 0) -> dict[str, str]:
    return {
        str(position): placement.tool_call_id
        for position, placement in enumerate(placements, first)
        if placement.tool_call_id is not None
    }


def _places(connection: sqlite3.Connection, call_id: str) -> Mapping[str, Json]:
    """The inverse of `_packed`; empty when it is missing or damaged."""
    query = "select packed from ctx_placement where call_id = ?"
    row = connection.execute(query, (call_id,)).fetchone()
    packed = row[0] if row else None
    plain = inflated(packed, _MAX_PACKED_BYTES) if isinstance(packed, bytes) else None
    return _object(plain)


def _by_position(value: Json) -> dict[int, str]:
    """JSON's string keys as positions."""
    pairs = value.items() if isinstance(value, dict) else ()
    return {int(k): v for k, v in pairs if k.isascii() and k.isdigit() and isinstance(v, str)}


def _attempt_row(attempt: Attempt) -> Json:
    error = attempt.error
    failed = [error.type, error.message, error.status] if error else None
    return [attempt.number, attempt.started_at, attempt.latency_ms, attempt.status, failed]


def _attempt(row: Json) -> Attempt:
    number, started_at, latency_ms, status, failed = row
    error = None
    if failed is not None:
        kind, message, error_status = failed
        error = CallError(_is(kind, str), _or_none(message, str), _or_none(error_status, int))
    return Attempt(
        _is(number, int),
        _is(started_at, str),
        _or_none(latency_ms, int),
        _or_none(status, int),
        error,
    )


def _tag(row: Json) -> Tag:
    label, body = row
    return Tag(_is(label, str), _is(body, str))


def _marker(row: Json) -> Marker:
    position, path, ttl = row
    return Marker(_or_none(position, int), _is(path, str), _or_none(ttl, str))


def _is(value: Json, kind: type[T]) -> T:
    """`value`, or TypeError when it is of another kind."""
    if type(value) is not kind:
        raise TypeError(value)
    return value


def _or_none(value: Json, kind: type[T]) -> T | None:
    return None if value is None else _is(value, kind)


def _list_or_none(rows: list[Json]) -> str | None:
    return json_text(rows) if rows else None


def _each(column: object, read: Callable[[Json], T]) -> tuple[T, ...]:
    """Every entry of a JSON array, or nothing when the column was not written by us."""
    try:
        rows = parsed(column)
        return tuple(read(row) for row in rows) if isinstance(rows, list) else ()
    except (ValueError, TypeError):
        return ()


def _object(column: object) -> Mapping[str, Json]:
    try:
        value = parsed(column)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
