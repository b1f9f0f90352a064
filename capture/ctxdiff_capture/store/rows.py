"""Stored rows to values: sessions, call heads, blocks."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any

from ctxdiff_capture.errors import TooLarge
from ctxdiff_capture.model import Block, BlockHead, CallHead, Session
from ctxdiff_capture.store.values import (
    MAX_COUNT,
    MAX_JSON_BYTES,
    MAX_TEXT_BYTES,
    TOO_LONG,
    JsonColumns,
    Notes,
    bounded,
    count_or_none,
    strings,
    text,
    text_or_none,
    token_count,
)
from ctxdiff_capture.store.vetting import Layout

_CHUNK = 500
"""Parameters of one query; the oldest SQLite in use allows 999."""
MAX_SESSIONS = 50_000
MAX_CALLS = 100_000
"""Of one session."""
MAX_AGENTS = 100_000
"""Of all sessions together."""
_MAX_ID_BYTES = 200
_MAX_READ_CHARS = 100_000_000
"""Of all columns of all calls of a session."""


_CALL_COLUMNS = (
    bounded("c.id", _MAX_ID_BYTES),
    "c.seq",
    bounded("c.params", MAX_JSON_BYTES),
    bounded("c.usage", MAX_JSON_BYTES),
    "c.latency_ms",
    bounded("c.error"),
)
_CALL_LABELS = (bounded("c.agent"), bounded("c.step"), bounded("c.provider"))
_SIDE_COLUMNS = (
    bounded("x.surface"),
    bounded("x.started_at"),
    "x.first_byte_ms",
    bounded("x.finish_reason"),
    bounded("x.response_id"),
    bounded("x.response_model"),
    bounded("x.error_message"),
    "x.error_status",
    "x.attempt_count",
    bounded("x.request_digest"),
    bounded("x.metadata", MAX_JSON_BYTES),
)


_TEXT, _NUMBER = frozenset((str, type(None))), frozenset((int, type(None)))
_CALL_TYPES = (
    *(frozenset((str,)), frozenset((int,)), _TEXT, _TEXT, _NUMBER, *[_TEXT] * 4),
    *(_TEXT, _TEXT, _NUMBER, *[_TEXT] * 4, _NUMBER, _NUMBER, _TEXT, _TEXT),
)
"""Per column of a call's row, the types of values that writers store."""


def chunks(content_hashes: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Distinct hashes in parts, each with its question marks; unspeakable ones are dropped."""
    hashes = [h for h in dict.fromkeys(content_hashes) if _is_bindable(h)]
    for start in range(0, len(hashes), _CHUNK):
        part = hashes[start : start + _CHUNK]
        yield ", ".join("?" * len(part)), part


def read_sessions(
    connection: sqlite3.Connection, layout: Layout, session_id: str | None = None
) -> list[Session]:
    """All sessions in stored order, or the one of that id."""
    if session_id is not None and not _is_bindable(session_id):
        return []
    values = () if session_id is None else (session_id,)
    where, which = ("where run_id = ?", "where id = ?") if values else ("", "")
    counts = _counts(connection, where, values)
    agents = _agents(connection, where, values) if layout.has_labels else {}
    columns = ", ".join(
        (
            *map(bounded, ("id", "project", "started_at", "provider")),
            bounded("models"),
            bounded("ctxdiff_version"),
            "schema_version",
        )
    )
    rows = connection.execute(
        f"select {columns} from run {which} order by rowid limit {MAX_SESSIONS + 1}",  # noqa: S608 - as above
        values,
    ).fetchall()
    if len(rows) > MAX_SESSIONS:
        raise _too_many("sessions")
    return [
        Session(
            id=text(row[0]),
            project=text(row[1]),
            started_at=text(row[2]),
            provider=text(row[3]),
            models=strings(row[4]),
            writer=text(row[5]),
            schema_version=row[6] if type(row[6]) is int else 0,
            calls=counts.get(row[0], 0),
            agents=tuple(agents.get(row[0], ())),
        )
        for row in rows
    ]


def _counts(
    connection: sqlite3.Connection, where: str, values: tuple[str, ...]
) -> dict[object, int]:
    """Session to its number of calls."""
    query = (
        f"select {bounded('run_id')}, count(*) from call {where} group by run_id"  # noqa: S608 - fixed text of ours
        f" limit {MAX_SESSIONS + 1}"
    )
    return dict(connection.execute(query, values))


def _agents(
    connection: sqlite3.Connection, where: str, values: tuple[str, ...]
) -> dict[object, dict[str, None]]:
    """Session to its named agents in order of first appearance."""
    found: dict[object, dict[str, None]] = defaultdict(dict)
    query = (
        f"select {bounded('run_id')}, {bounded('agent')}, min(seq) as first from call {where}"  # noqa: S608 - fixed text of ours
        " group by run_id, agent having agent is not null order by first"
        f" limit {MAX_AGENTS}"
    )
    for run_id, agent, _ in connection.execute(query, values):
        if agent != TOO_LONG:
            found[run_id][text(agent)] = None
    return found


def call_heads(
    connection: sqlite3.Connection,
    layout: Layout,
    session_id: str,
    seqs: Sequence[int] | None,
    notes: Notes,
) -> list[CallHead]:
    """The calls of a session by ascending `seq`; those without a usable number are left out."""
    columns = JsonColumns(notes)
    heads: list[CallHead] = []
    left = _MAX_READ_CHARS
    for row in _call_rows(connection, layout, session_id, seqs):
        types = tuple(map(type, row))
        left -= sum(map(len, compress(row, _are_texts(types))))
        if len(heads) >= MAX_CALLS or left < 0:
            raise _too_many("calls, or too long ones,")
        known = row if _is_usual(types) and row[0].isascii() else _made_usual(row, notes)
        if known is not None:
            heads.append(_call_head(known, columns, notes))
    return heads


@lru_cache(256)
def _are_texts(types: tuple[type, ...]) -> tuple[bool, ...]:
    return tuple(one is str for one in types)


@lru_cache(256)
def _is_usual(types: tuple[type, ...]) -> bool:
    """Whether each column of a call's row has a value of a type that writers store there."""
    return all(map(frozenset.__contains__, _CALL_TYPES, types))


def _made_usual(row: Sequence[Any], notes: Notes) -> Sequence[Any] | None:
    """A call's row with a text in each column for texts; None when the call cannot be used."""
    if TOO_LONG in row:
        notes.add("a call's field is longer than is read and was left out")
        if row[0] == TOO_LONG:
            return None
        row = [None if value == TOO_LONG else value for value in row]
    if not isinstance(row[0], str) or not _is_bindable(row[0]):
        notes.add("a call's id is no text and the call was left out")
        return None
    if type(row[1]) is not int:
        notes.add("a call's number is no number and the call was left out")
        return None
    pairs = zip(row, _CALL_TYPES, strict=True)
    return [text_or_none(value) if str in types else value for value, types in pairs]


def _call_rows(
    connection: sqlite3.Connection, layout: Layout, session_id: str, seqs: Sequence[int] | None
) -> Iterator[Sequence[Any]]:
    """Rows of 20 columns; those the file does not have are NULL."""
    columns, join = [*_CALL_COLUMNS, *(_CALL_LABELS if layout.has_labels else ["null"] * 3)], ""
    if "ctx_call" in layout.side_tables:
        columns += _SIDE_COLUMNS
        join = " left join ctx_call x on x.call_id = c.id"
    else:
        columns += ["null"] * len(_SIDE_COLUMNS)
    query = f"select {', '.join(columns)} from call c{join} where c.run_id = ?"  # noqa: S608 - fixed text of ours
    if seqs is None:
        yield from connection.execute(f"{query} order by c.seq", (session_id,))
        return
    for seq in sorted(set(seqs)):
        if -(2**63) <= seq < 2**63:
            yield from connection.execute(f"{query} and c.seq = ?", (session_id, seq))


def _call_head(row: Sequence[Any], columns: JsonColumns, notes: Notes) -> CallHead:
    """A call from a row that is, or was made, usual."""
    call_id, seq, params, usage, latency, error, agent, step, provider, *side = row
    surface, started_at, first_byte, finish, response_id, model, message, status, *rest = side
    attempts, digest, metadata = rest
    return CallHead(
        id=call_id,
        seq=seq,
        provider=provider,
        agent=agent,
        step=step,
        params=columns.mapping(params, "a call's params") or {},
        usage=columns.mapping(usage, "a call's usage"),
        latency_ms=count_or_none(latency, "a latency", notes),
        error=error,
        surface=surface,
        started_at=started_at,
        first_byte_ms=count_or_none(first_byte, "a time to first byte", notes),
        finish_reason=finish,
        response_id=response_id,
        response_model=model,
        error_message=message,
        error_status=count_or_none(status, "an error status", notes),
        attempts=count_or_none(attempts, "a number of attempts", notes) or None,
        request_digest=digest,
        refusal=_refusal(metadata, columns),
    )


def _refusal(metadata: Any, columns: JsonColumns) -> str | None:
    # Decoding what has no refusal would cost a question about many turns for nothing.
    if metadata is None or '"refusal"' not in metadata:
        return None
    return text_or_none((columns.mapping(metadata, "a call's metadata") or {}).get("refusal"))


def block_heads(
    connection: sqlite3.Connection, content_hashes: Collection[str], notes: Notes
) -> dict[str, BlockHead]:
    """Blocks without their texts by hash; unknown ones are absent."""
    query = (
        f"select {bounded('content_hash')}, {bounded('role')}, {bounded('kind')}, token_count,"  # noqa: S608 - fixed text of ours
        f" {bounded('token_method')}, text = '',"
        # Comparing tells at less cost of most texts that they begin with neither.
        " (text >= '{' and text < '|' or text >= '[' and text < '\\')"
        " and substr(text, 1, 1) in ('{', '[') from block"
        f" where length(cast(text as blob)) <= {MAX_TEXT_BYTES}"
    )
    (stored,) = connection.execute("select count(*) from block").fetchone()
    if len(content_hashes) > _CHUNK and 2 * len(content_hashes) > stored:
        # Most of the table is wanted: one pass over it beats a look-up for each block.
        rows = (row for row in connection.execute(query) if row[0] in content_hashes)
        return {row[0]: _block_head(row, notes) for row in rows}
    heads = {}
    for marks, chunk in chunks(content_hashes):
        for row in connection.execute(f"{query} and content_hash in ({marks})", chunk):
            heads[row[0]] = _block_head(row, notes)
    return heads


def _block_head(row: Sequence[Any], notes: Notes) -> BlockHead:
    content_hash, role, kind, count, method, is_empty, opens_json = row
    are_texts = type(role) is type(kind) is type(method) is str
    if are_texts and type(count) is int and 0 <= count <= MAX_COUNT:
        # As every writer stores them: a session has thousands, and each call costs.
        return BlockHead(content_hash, role, kind, count, method, is_empty == 1, opens_json == 1)
    return BlockHead(
        content_hash,
        text(role),
        text(kind),
        token_count(count, notes),
        text(method),
        bool(is_empty),
        bool(opens_json),
    )


def block_of(row: Sequence[Any], notes: Notes) -> Block:
    """A block from hash, role, kind, token count, token method, text."""
    content_hash, role, kind, count, method, body = row
    return Block(
        content_hash=text(content_hash),
        role=text(role),
        kind=text(kind),
        text=text(body),
        token_count=token_count(count, notes),
        token_method=text(method),
    )


def _too_many(what: str) -> TooLarge:
    return TooLarge(
        f"the trace has more {what} than are read", remedy="record into a new file for each run"
    )


def _is_bindable(value: str) -> bool:
    """Whether SQLite takes it as a parameter: lone surrogates have no UTF-8."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
