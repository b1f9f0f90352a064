"""Credentials are found in a body wherever they stand, though what was searched is not again."""

from __future__ import annotations

from ctxdiff_capture.secrets.spelled import bytes_without
from ctxdiff_capture.wire.secrets import BodySearch
from hypothesis import given
from hypothesis import strategies as st

KEYS = ("sk-abcdefgh12345678", "Zg9ä-ABCDEFGH-0000", "sk-abcdefgh")
PIECES = st.sampled_from([b"x" * 200, b"y" * 70, b"sk-abcd", b"efgh", b"12345678", "Zg9ä".encode()])
WHOLE = st.sampled_from([key.encode() for key in KEYS])
BODIES = st.lists(
    st.tuples(
        st.integers(0, 2_000), st.lists(PIECES | PIECES | PIECES | WHOLE, max_size=6).map(b"".join)
    ),
    min_size=1,
    max_size=12,
)


@given(BODIES, st.lists(st.sampled_from([KEYS, KEYS[:1], ()]), min_size=12, max_size=12))
def test_bodies_that_go_on_from_others_are_left_as_a_whole_search_leaves_them(steps, credentials):
    search = BodySearch()
    body = b""
    for (kept, added), sought in zip(steps, credentials, strict=False):
        body = body[:kept] + added
        found = search.without(body, sought)
        assert found == bytes_without(body, sought)
        assert (found is body) == (bytes_without(body, sought) is body)
