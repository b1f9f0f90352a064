"""Numbers for whole columns are those that value by value would give."""

from __future__ import annotations

import sqlite3
from itertools import pairwise

import pytest
from ctxdiff_capture.store.numbering import Numbering
from ctxdiff_capture.store.open import open_reader
from hypothesis import given
from hypothesis import strategies as st

# Few and alike, so that calls repeat, go on from one another and only seem to ("a", "ab").
VALUES = st.sampled_from(["a", "ab", "abc", "b", "", "é"])
CALLS = st.lists(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=6), max_size=8)


HASHES = [f"{n:04x}" for n in range(40)]


@given(
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=12),
)
def test_a_window_that_moves_gets_the_numbers_of_its_values(head, moves) -> None:
    numbering, known = Numbering(), {}
    window, coming = HASHES[head : head + 4], iter(HASHES[head + 4 :] * 9)
    for gone, more, is_new_head in moves:
        window = [*window[gone:], *(next(coming) for _ in range(more))]
        row = [*HASHES[-head - is_new_head :][:head], *window] or ["z"]
        found = numbering.blocks_of(",".join(row))
        assert list(found) == [known.setdefault(one, len(known)) for one in row]


def grown(calls):
    """The calls, each followed by the one that has it as its start."""
    return [rows for one, more in pairwise(calls) for rows in (one, one + more)]


@given(CALLS)
def test_columns_get_the_numbers_of_their_values_in_order_of_first_appearance(calls) -> None:
    numbering, blocks, labels = Numbering(), {}, {}
    for rows in (*calls, *grown(calls)):
        hashes, names, sources = zip(*rows, strict=True)
        found = numbering.blocks_of(",".join(hashes))
        pairs = numbering.labels_of(",".join(names), ",".join(sources))
        assert list(found) == [blocks.setdefault(h, len(blocks)) for h in hashes]
        assert list(pairs) == [
            labels.setdefault(p, len(labels)) for p in zip(names, sources, strict=True)
        ]
    assert list(numbering.blocks) == list(blocks)
    assert list(numbering.labels) == list(labels)


@pytest.mark.parametrize("column", ["label", "label_source", "block_id"])
def test_a_column_of_nulls_in_a_strangers_file_is_read_as_nothing(
    tmp_path, begin, make_call, column
):
    path = tmp_path / "a.ctrace"
    writer = begin(path, session_id="5" * 32)
    writer.write(make_call(1, "a", "b"))
    writer.close()
    db = sqlite3.connect(path)
    names = "call_id, block_id, position, label, label_source"
    db.execute(f"create table loose ({names}, primary key (call_id, position))")
    db.execute(f"insert into loose select {names} from call_block")
    db.execute(f"update loose set {column} = null")
    db.execute("drop table call_block")
    db.execute("alter table loose rename to call_block")
    db.commit()
    db.close()
    reader = open_reader(path)
    found = reader.load("5" * 32)
    reader.close()
    assert [len(row) for row in found.inputs] == [0 if column == "block_id" else 2]
    assert set(found.label_table) <= {("user", "heuristic"), ("", "heuristic"), ("user", "")}
