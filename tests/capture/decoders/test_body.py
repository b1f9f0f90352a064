"""A request body is read once, and its pieces joined are the body."""

import json

import pytest
from ctxdiff_capture.decoders.body import members, read_body
from ctxdiff_capture.decoders.seen import Element, SeenLists
from hypothesis import given
from hypothesis import strategies as st

KEYS = frozenset(("messages", "tools"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)
NAMES = st.sampled_from(["messages", "tools", "model", "é", "stream"])


def test_a_body_is_cut_in_front_of_each_element():
    body = read_body(b'{"model":"m", "messages": [ {"a":1}, {"b":[]} ] ,"n":1}', KEYS)
    assert body.pieces == (
        b'{"model":"m", "messages": [',
        b' {"a":1}',
        b', {"b":[]}',
        b' ] ,"n":1}',
    )
    assert body.fields == {"model": "m", "n": 1}
    assert body.lists == {
        "messages": (Element('{"a":1}', {"a": 1}), Element('{"b":[]}', {"b": []}))
    }


def test_a_conversation_that_grew_shares_its_pieces():
    turns = [{"role": "user", "content": f"turn {n} é"} for n in range(50)]
    shorter = read_body(json.dumps({"messages": turns[:-1], "model": "m"}).encode(), KEYS)
    longer = read_body(json.dumps({"messages": turns, "model": "m"}).encode(), KEYS)
    assert len(set(longer.pieces) - set(shorter.pieces)) == 1


@given(
    st.dictionaries(NAMES, st.lists(JSON, max_size=4) | JSON),
    st.sampled_from([None, 1, "\t"]),
    st.booleans(),
)
def test_any_object_is_read_as_json_reads_it(value, indent, ascii_only):
    data = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode(
        "utf-8", "surrogatepass"
    )
    body = read_body(data, KEYS)
    assert b"".join(body.pieces) == data
    if body.problem is None:
        lists = {key: [e.value for e in elements] for key, elements in body.lists.items()}
        assert {**body.fields, **lists} == json.loads(data)
    else:
        assert not ascii_only


TURNS = st.lists(st.sampled_from([{"a": 1}, {"a": 2}, {"b": "}"}, 1, 12, "x", []]), max_size=6)


@given(st.lists(st.tuples(TURNS, st.sampled_from([None, 1])), min_size=2, max_size=8))
def test_what_earlier_bodies_held_changes_nothing(bodies):
    seen = SeenLists()
    for turns, indent in bodies:
        data = json.dumps({"n": len(turns), "messages": turns}, indent=indent).encode()
        assert read_body(data, KEYS, seen) == read_body(data, KEYS)


@given(
    st.binary(max_size=60) | st.text(alphabet='{}[]",: \n\\ab1é\ufeff', max_size=40).map(str.encode)
)
def test_any_bytes_come_back_whole(data):
    body = read_body(data, KEYS)
    assert b"".join(body.pieces) == data


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the request body is not a JSON object"),
        (b"[]", "the request body is not a JSON object"),
        (b'{"messages": [', "the request body is not a JSON object"),
        (b'{"a": 1} {"b": 2}', "the request body is not a JSON object"),
        (b'{"a": "\xff"}', "the request body is not UTF-8"),
        (b'{"a": ' + b"[" * 200_000, "the request body is nested too deeply"),
    ],
    ids=["empty", "list", "torn", "two", "latin", "deep"],
)
def test_what_is_no_object_is_one_piece_with_its_problem(data, problem):
    body = read_body(data, KEYS)
    assert (b"".join(body.pieces), body.fields, body.lists) == (data, {}, {})
    assert body.problem == problem


def test_odd_but_valid_bodies_are_read():
    assert read_body(b'\xef\xbb\xbf{"a": NaN, "b": 1e400}', KEYS).fields["b"] == float("inf")
    twice = read_body(b'{"messages": [1], "messages": [2], "a": 1, "a": 2}', KEYS)
    assert (twice.fields, [e.value for e in twice.lists["messages"]]) == ({"a": 2}, [2])


def test_the_members_of_an_object_keep_their_spelling():
    assert members(' {"a": {"x":  1} , "b":null} ') == {
        "a": Element('{"x":  1}', {"x": 1}),
        "b": Element("null", None),
    }


def test_what_is_remembered_of_lists_is_bounded_and_changes_nothing(monkeypatch):
    monkeypatch.setattr("ctxdiff_capture.decoders.seen._MOST_CHARACTERS", 500)
    seen = SeenLists()
    for agent in [*range(40), *range(40)]:
        turns = [{"agent": agent}, {"n": agent}, *({"turn": n} for n in range(agent))]
        data = json.dumps({"messages": turns}).encode()
        assert read_body(data, KEYS, seen) == read_body(data, KEYS)
        assert sum(len(read.text) for read in seen._by_start.values()) == seen._characters <= 500
