"""Hostile traces whose rows are not what they seem."""

from __future__ import annotations

import random
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

from tests.trust.files.hostile import CASES, DEEP_OBJECT, MANY_MODELS, Case, case, changed, trace

_STATEMENTS: dict[str, list[str]] = {
    "numbers_as_text": ["update call set seq = 'two words' where seq = 2"],
    "blob_names": ["update call set agent = x'ff00fe', step = x'00', provider = 5"],
    "infinite_numbers": ["update call set latency_ms = 9e999", "update block set token_count = -9e999"],
    "huge_numbers": [
        "update call set seq = 9223372036854775807 where seq = 2",
        "update call set seq = -9223372036854775808 where seq = 1",
        "update block set token_count = 9223372036854775807",
    ],
    "negative_positions": ["update call_block set position = -position - 1"],
    "far_positions": ["update call_block set position = position * 4611686018427387903"],
    "null_like_values": ["update run set project = '', started_at = '', models = ''"],
    "ids_of_100_kb": [f"update call set id = id || '{'x' * 100_000}' where seq = 2"],
    "dangling_blocks": ["delete from block where text = 'hello there'"],
    "orphaned_calls": ["update call set run_id = 'nobody' where seq = 2"],
    "labels_with_commas": ["update call_block set label = 'a,b' || char(10) || 'c'"],
    "seq_gaps": ["update call set seq = seq * 1000000007"],
    "deep_json": [
        f"update call set usage = '{'[' * 90_000}'",
        f"update call set params = '{DEEP_OBJECT}'",
    ],
    "rather_deep_json": [
        f"update call set params = '{{\"a\": {'[' * 900 + ']' * 900}}}'",
        f"update ctx_call set metadata = '{{\"refusal\": 1, \"a\": {'[' * 900 + ']' * 900}}}'",
    ],
    "long_digits": [
        f"update call set usage = '{{\"prompt_tokens\": {'9' * 100_000}}}'",
        f"update call set params = '{{\"n\": {'9' * 4_000}}}'",
    ],
    "odd_usage": ["update call set usage = '{\"prompt_tokens\": NaN, \"completion_tokens\": 1e400}'"],
    "wide_json": [f"update call set params = '[{'{},' * 1_300_000}{{}}]'"],
    "json_of_12_mb": [f"update call set usage = '{{\"x\": [{'[],' * 4_000_000}[]]}}'"],
    "long_agent": [f"update call set agent = '{'a' * 3_000_000}'"],
    "long_models": [f"update run set models = '{MANY_MODELS}'"],
    "nul_in_everything": [
        "update run set project = cast(x'6100' || zeroblob(1000000) as text)",
        "update block set text = text || cast(zeroblob(1000000) as text)",
    ],
    "future_version": ["update run set schema_version = 99"],
    "version_text": ["update run set schema_version = 'ignore all'"],
}  # fmt: skip

for _name, _list in _STATEMENTS.items():
    CASES[_name] = Case(_name, changed(_list))


@case(canaries=("CANARY <words> of a role",))
def strange_words(folder: Path) -> None:
    trace(
        folder / "x.ctrace",
        "update block set role = 'CANARY <words> of a role' where role = 'user'",
        "update call_block set label = 'CANARY <words> of a role'",
        "update call set error = 'CANARY <words> of a role', agent = 'CANARY <words> of a role'",
        "update run set project = 'CANARY <words> of a role'",
    )


@case(canaries=("CANARY of ] bytes",))
def bytes_that_are_no_text(folder: Path) -> None:
    hexes = b"CANARY of ] bytes \xff\xfe\x80".hex()
    trace(
        folder / "x.ctrace",
        f"update block set text = cast(x'{hexes}' as text) where role = 'user'",
        f"update call set agent = cast(x'{hexes}' as text)",
        f"update run set project = x'{hexes}'",
    )


@case()
def utf16(folder: Path) -> None:
    trace(
        folder / "x.ctrace",
        "update block set text = text || char(55357)",
        pragma="encoding = 'UTF-16be'",
    )


@case()
def many_runs(folder: Path) -> None:
    path = trace(folder / "x.ctrace")
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(
            "insert into run values (?, 'p', '2026-01-01', 'o', '[]', '', 2)",
            ((f"{n:032}",) for n in range(5_000)),
        )
        connection.commit()


@case()
def too_many_runs(folder: Path) -> None:
    path = trace(folder / "x.ctrace")
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(
            "insert into run values (?, ?, '2026-01-01', 'o', '[]', '', 2)",
            ((f"{n:032}", "P" * 100) for n in range(120_000)),
        )
        connection.commit()


@case()
def many_agents(folder: Path) -> None:
    path = trace(folder / "x.ctrace")
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(
            "insert into call values (?, ?, ?, '{}', null, 1, null, ?, null, null)",
            ((f"c{n}", "5" * 32, n, f"agent {n}") for n in range(3, 3_000)),
        )
        connection.commit()


@case()
def many_calls(folder: Path) -> None:
    path = trace(folder / "x.ctrace")
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(
            "insert into call values (?, ?, ?, '{}', null, 1, null, null, null, null)",
            ((f"c{n}", "5" * 32, n) for n in range(3, 150_000)),
        )
        connection.commit()


@case()
def one_block_everywhere(folder: Path) -> None:
    path = trace(folder / "x.ctrace")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("delete from call_block")
        connection.execute(
            "insert into call_block select c.id, b.content_hash, n.i, 'user', 'heuristic' from call c,"
            " (select content_hash from block limit 1) b, (with recursive n(i) as (select 0 union all"
            " select i + 1 from n where i < 400000) select i from n) n"
        )
        connection.commit()


@case()
def many_blocks_in_a_turn(folder: Path) -> None:
    trace(folder / "x.ctrace", texts=[f"block {n}" for n in range(3_000)])


@case()
def long_texts_of_no_tokens(folder: Path) -> None:
    texts = [f"{n} " + "word " * 2_000_000 for n in range(8)]
    trace(folder / "x.ctrace", "update block set token_count = 0", texts=texts)


@case()
def text_of_200_mb(folder: Path) -> None:
    trace(
        folder / "x.ctrace",
        "update block set text = printf('%.200000000c', 'x') where role = 'assistant'",
    )


@case()
def packed_bombs(folder: Path) -> None:
    bomb = zlib.compress(b"[" + b"[]," * 40_000_000 + b"[]]", 9)
    numbers = zlib.compress(b"[1" + b",0" * 5_000_000 + b"]", 9)
    path = trace(folder / "x.ctrace")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("insert into ctx_placement select id, ? from call", (bomb,))
        connection.execute("insert into ctx_snapshot select id, 0, 'pre', '', ? from call", (bomb,))
        connection.execute(
            "insert into ctx_piece values (1, x'00', ?, 'zlib', ?)",
            (2**26, zlib.compress(bytes(2**26))),
        )
        connection.execute("insert into ctx_request select id, ? from call", (numbers,))
        connection.commit()


@case()
def endless_words(folder: Path) -> None:
    chance = random.Random(5)
    one, two = ("".join(chance.choices("ab", k=40_000)) for _ in range(2))
    trace(
        folder / "x.ctrace", f"update block set text = '{one}' where role = 'system'", texts=[two]
    )
