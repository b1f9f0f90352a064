"""What is told of a block without reading its text."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from ctxdiff_capture.store.rows import block_heads
from ctxdiff_capture.store.values import Notes
from hypothesis import example, given
from hypothesis import strategies as st

STORED = st.one_of(
    st.text(st.sampled_from("{[|\\]}Z z\u017b\u4e00\U0001f389"), max_size=3),
    st.binary(max_size=2),
    st.integers(-3, 10**9),
)


@given(STORED)
@example("{")
@example("[")
@example("{\U0010ffff")
@example("[\U0010ffff")
@example(b"{")
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_a_text_opens_json_that_begins_with_a_brace_or_a_bracket(encoding: str, body: Any) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"pragma encoding = '{encoding}'")
    connection.execute(
        "create table block (content_hash text, role text, kind text, text text,"
        " token_count integer, token_method text)"
    )
    row = ("h", "user", "message", body, 1, "estimate")
    connection.execute("insert into block values (?, ?, ?, ?, ?, ?)", row)
    head = block_heads(connection, ["h"], Notes())["h"]
    connection.close()
    said = str(body) if isinstance(body, int) else body
    assert head.opens_json is (isinstance(said, str) and said.startswith(("{", "[")))
    assert head.is_empty is (said == "")
