"""Hostile traces whose schema is not what it seems."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.trust.files.hostile import CASES, COUNT_FOREVER, Build, Case, case, changed, trace


def _view(table: str, columns: str, body: str = "") -> Build:
    def make(folder: Path) -> None:
        trace(folder / "x.ctrace", f"create view {table} as {body} {columns}", without=table)

    return make


RUN = (
    "select {} as id, 'demo' as project, '2026-01-01' as started_at, 'o' as provider,"
    " '[]' as models, '' as ctxdiff_version, 2 as schema_version, 1 as rowid"
)
_VIEWS = {
    "view_run_endless": ("run", f"{RUN.format('i')} from n", COUNT_FOREVER),
    "view_run_of_master": ("run", f"{RUN.format('sql')} from sqlite_master", ""),
    "view_run_of_path": ("run", f"{RUN.format('file')} from pragma_database_list", ""),
    "view_call_endless": ("call", "select i as id, 's' as run_id, i as seq from n", COUNT_FOREVER),
    "view_block_one_huge_step": (
        "block",
        (
            "select 'h' as content_hash, 'user' as role, 'message' as kind, 1 as token_count,"
            " 'estimate' as token_method, instr(printf('%.9000000c', 'a'),"
            " printf('%.900000c', 'a') || 'b') as text"
        ),
        "",
    ),
    "view_members_product": (
        "call_block",
        (
            "select a.id as call_id, 'h' as block_id, b.seq as position, '' as label,"
            " '' as label_source from call a, call b, call c, call d, n"
        ),
        COUNT_FOREVER,
    ),
    "view_side_table_endless": ("ctx_call", "select i as call_id from n", COUNT_FOREVER),
    "view_output_endless": (
        "ctx_output",
        "select i as call_id, i as position, i as block_id, '' as label, '' as label_source from n",
        COUNT_FOREVER,
    ),
}
for _name, (_table, _columns, _with) in _VIEWS.items():
    CASES[_name] = Case(_name, _view(_table, _columns, _with))

_STATEMENTS: dict[str, list[str]] = {
    "view_beside_the_tables": [f"create view other as {COUNT_FOREVER} select * from n"],
    "triggers": [
        f"create trigger t_{table}_{event} after {event} on {table} begin delete from call; end"
        for table in ("run", "call", "block", "call_block")
        for event in ("insert", "update", "delete")
    ],
    "trigger_instead_of": [
        "create view v as select 1 as x",
        "create trigger t instead of insert on v begin delete from run; end",
    ],
    "virtual_fts_beside": ["create virtual table words using fts5(word)"],
    "virtual_rtree_beside": ["create virtual table boxes using rtree(id, a, b)"],
    "virtual_of_our_name": ["drop table ctx_loss", "create virtual table ctx_loss using fts5(run_id, reason, count)"],
    "generated_column_in_call": [
        "alter table call add column big as (printf('%.90000000c', 'x')) virtual"
    ],
    "expression_index": ["create index i on block (upper(text))"],
    "partial_index": ["create index i on block (kind) where upper(text) not like '%a%b%c%'"],
    "strange_table": ["create table passwd (line)"],
    "wrong_columns": ["drop table block", "create table block (content_hash, words)"],
    "no_labels": ["alter table call_block drop column label"],
    "a_thousand_columns": [
        "drop table ctx_loss",
        "create table ctx_loss (run_id, reason, count, " + ", ".join(f"c{n}" for n in range(1_900)) + ")",
    ],
    "renamed_tables": ["alter table run rename to RUN2", "create table run2x (x)"],
    "unknown_collation": [
        "drop table block",
        "pragma writable_schema = on",
        ("insert into sqlite_master values ('table', 'block', 'block', 2, 'create table block"
        " (content_hash text collate evil, role, kind, text, token_count, token_method)')"),
    ],
    "nocase_keys": [
        "drop table block",
        ("create table block (content_hash text primary key collate nocase, role text, kind text,"
        " text text, token_count integer, token_method text)"),
        "insert into block select 'AA', 'user', 'message', 'x', 1, 'estimate'",
    ],
    "root_page_of_another": [
        "pragma writable_schema = on",
        ("update sqlite_master set rootpage = (select rootpage from sqlite_master where"
        " name = 'call') where name = 'block'"),
    ],
    "root_page_beyond": [
        "pragma writable_schema = on",
        "update sqlite_master set rootpage = 2147483647 where name = 'block'",
    ],
    "view_named_as_statistics": [
        "pragma writable_schema = on",
        (f"insert into sqlite_master values ('view', 'sqlite_stat1', 'sqlite_stat1', 0,"
        f" 'create view sqlite_stat1 as {COUNT_FOREVER} select i as tbl, i as idx, i as stat from n')"),
    ],
    "virtual_called_table": [
        "pragma writable_schema = on",
        ("update sqlite_master set sql = 'CREATE VIRTUAL TABLE ctx_loss USING fts5(run_id)'"
        " where name = 'ctx_loss'"),
    ],
    "schema_of_nonsense": [
        "pragma writable_schema = on",
        "update sqlite_master set sql = 'create table run (((' where name = 'run'",
    ],
}  # fmt: skip

for _name, _list in _STATEMENTS.items():
    CASES[_name] = Case(_name, changed(_list))


@case()
def generated_text(folder: Path) -> None:
    trace(
        folder / "x.ctrace",
        "create table block (content_hash text primary key, role text, kind text, seed text,"
        " token_count integer, token_method text,"
        " text text generated always as (printf('%.90000000c', seed)) virtual)",
        "insert into block (content_hash, role, kind, seed, token_count, token_method) select"
        " distinct block_id, 'user', 'message', 'A', 1, 'estimate' from call_block",
        without="block",
    )


@case()
def many_views(folder: Path) -> None:
    path = trace(folder / "x.ctrace")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma writable_schema = on")
        connection.executemany(
            "insert into sqlite_master values ('view', ?1, ?1, 0, 'create view ' || ?1 || ' as select 1')",
            ((f"v{n}",) for n in range(30_000)),
        )
        connection.commit()
