"""The tables of a `.ctrace` file, as text.

Versions of the core tables (source: the `.ctrace` format, section 2):
    1  `call` ends at `error`
    2  `call` has `agent`, `step`, `provider`

ctxdiff inserts into the core tables by position: their columns are exactly these, in this order.
Everything of ours stands in tables named `ctx_…`, which any reader may ignore.
"""

from __future__ import annotations

SCHEMA_VERSION = 2

CORE = """
create table if not exists run (              -- one session; its order is the rowid
    id              text primary key,         -- UUID4, 32 hex digits
    project         text not null,
    started_at      text not null,            -- 2026-11-30T11:39:03.079952+00:00
    provider        text not null,            -- label of the session's first client
    models          text not null,            -- JSON array of strings, first seen first
    ctxdiff_version text not null,            -- who wrote it, free text
    schema_version  integer not null
);
create table if not exists call (             -- one invocation of a model
    id              text primary key,         -- UUID4, 32 hex digits
    run_id          text not null references run(id),
    seq             integer not null,         -- 1, 2, 3, ...: order in which calls started
    params          text not null,            -- JSON object: the request without its blocks
    usage           text,                     -- JSON object: the provider's own, whole
    latency_ms      integer,
    error           text,                     -- class name; null is success
    agent           text,
    step            text,
    provider        text,                     -- label of this call's client
    unique (run_id, seq)
);
create table if not exists block (            -- each distinct text once; first writer wins
    content_hash    text primary key,         -- 64 hex digits: hashing.digest_of
    role            text not null,
    kind            text not null,
    text            text not null,
    token_count     integer not null,
    token_method    text not null             -- tiktoken | estimate
);
create table if not exists call_block (       -- which input block stands where
    call_id         text not null references call(id),
    block_id        text not null references block(content_hash),
    position        integer not null,         -- 0, 1, 2, ...
    label           text not null,
    label_source    text not null,            -- tagged | heuristic
    primary key (call_id, position)
);
"""

SIDE = """
create table if not exists ctx_call (         -- what a call has beyond the core columns
    call_id         text primary key references call(id),
    surface         text not null,            -- openai.chat, anthropic.messages, ...
    endpoint        text not null,            -- scheme, host, port and path
    started_at      text not null,
    first_byte_ms   integer,
    finish_reason   text,
    response_id     text,
    response_model  text,
    request_id      text,                     -- the provider's id of the request
    error_message   text,
    error_status    integer,                  -- HTTP status
    attempt_count   integer not null,         -- how often the request was sent; 0 is unknown
    attempts        text,                     -- JSON array of objects, as model.Attempt
    tags            text,                     -- JSON array of [label, text]
    markers         text,                     -- JSON array of [position, path, ttl]
    metadata        text,                     -- JSON object
    request_digest  text                      -- SHA-256 of the request body, 64 hex digits
);
create table if not exists ctx_placement (    -- paths and tool call ids of a call's blocks
    call_id         text primary key references call(id),
    packed          blob not null             -- zlib of JSON {"paths": [], "ids": {}, "output_…"}
);
create table if not exists ctx_output (       -- which block stands where in the answer
    call_id         text not null references call(id),
    position        integer not null,         -- 0, 1, 2, ...
    block_id        text not null references block(content_hash),
    label           text not null,
    label_source    text not null,
    primary key (call_id, position)
) without rowid;
create table if not exists ctx_snapshot (     -- what a program held at one stage before a call
    call_id         text not null references call(id),
    number          integer not null,         -- 0, 1, 2, ...: order in which it said so
    stage           text not null,            -- pre_optimization | post_optimization | ...
    taken_at        text not null,
    packed          blob not null,            -- zlib of JSON: its blocks, see store/said.py
    primary key (call_id, number)
) without rowid;
create table if not exists ctx_decision (     -- what a planner decided before a call
    call_id         text not null references call(id),
    number          integer not null,         -- 0, 1, 2, ...: order in which it said so
    candidate       text not null,
    disposition     text not null,
    reason          text,
    rank            integer,
    tokens          integer,
    primary key (call_id, number)
) without rowid;
create table if not exists ctx_piece (        -- pieces of request bodies, each distinct one once
    id              integer primary key,
    digest          blob not null unique,     -- SHA-256 of the piece, 32 bytes
    size            integer not null,         -- bytes of the piece
    codec           text not null,            -- raw | zlib
    body            blob not null
);
create table if not exists ctx_request (      -- the body of a call: its pieces in order
    call_id         text primary key references call(id),
    pieces          blob not null             -- zlib of JSON: first id, then differences
);
create table if not exists ctx_loss (         -- calls that could not be recorded
    run_id          text not null references run(id),
    reason          text not null,
    count           integer not null,
    primary key (run_id, reason)
) without rowid;
create table if not exists ctx_secret (       -- credentials shown as tags: [secret:KIND#NUMBER]
    kind            text not null,            -- aws-key, password, ...
    number          integer not null,         -- 1, 2, ...: order of first appearance in the file
    digest          text not null,            -- HMAC under a key that is not in the file
    primary key (kind, number),
    unique (kind, digest)
) without rowid;
"""

ADDED_BY_VERSION_2 = ("agent", "step", "provider")
"""Columns of `call`, in the order in which a version 1 file gets them."""

CORE_COLUMNS: dict[str, frozenset[str]] = {
    "run": frozenset(
        {"id", "project", "started_at", "provider", "models", "ctxdiff_version", "schema_version"}
    ),
    "call": frozenset({"id", "run_id", "seq", "params", "usage", "latency_ms", "error"}),
    "block": frozenset({"content_hash", "role", "kind", "text", "token_count", "token_method"}),
    "call_block": frozenset({"call_id", "block_id", "position", "label", "label_source"}),
}
"""The columns that every version has."""

SIDE_COLUMNS: dict[str, frozenset[str]] = {
    "ctx_call": frozenset(
        {
            "call_id",
            "surface",
            "endpoint",
            "started_at",
            "first_byte_ms",
            "finish_reason",
            "response_id",
            "response_model",
            "request_id",
            "error_message",
            "error_status",
            "attempt_count",
            "attempts",
            "tags",
            "markers",
            "metadata",
            "request_digest",
        }
    ),
    "ctx_placement": frozenset({"call_id", "packed"}),
    "ctx_output": frozenset({"call_id", "position", "block_id", "label", "label_source"}),
    "ctx_snapshot": frozenset({"call_id", "number", "stage", "taken_at", "packed"}),
    "ctx_decision": frozenset(
        {"call_id", "number", "candidate", "disposition", "reason", "rank", "tokens"}
    ),
    "ctx_piece": frozenset({"id", "digest", "size", "codec", "body"}),
    "ctx_request": frozenset({"call_id", "pieces"}),
    "ctx_loss": frozenset({"run_id", "reason", "count"}),
    "ctx_secret": frozenset({"kind", "number", "digest"}),
}
