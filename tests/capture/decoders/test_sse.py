"""Server-sent events from whole and from torn streams."""

import json

from ctxdiff_capture.decoders.sse import Event, events, json_events
from hypothesis import given
from hypothesis import strategies as st

LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)


def test_events_have_their_name_and_joined_data():
    stream = b": hello\nevent: ping\ndata: one\ndata:two\nid: 7\n\ndata\n\n\nevent: unsent\n\ndata: {}\r\n\r\n"
    assert list(events(stream)) == [
        Event("ping", "one\ntwo"),
        Event("message", ""),
        Event("message", "{}"),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_line():
    assert list(events(b"\xef\xbb\xbfdata: x\n\n")) == [Event("message", "x")]


def test_a_torn_tail_is_left_out_and_a_whole_one_kept():
    assert list(json_events(b'data: {"a": 1}\n\ndata: {"b": 2}')) == [{"a": 1}, {"b": 2}]
    assert list(json_events(b'data: {"a": 1}\n\ndata: {"b": \xe4\xb8')) == [{"a": 1}]
    assert list(json_events(b"data: [DONE]\n\ndata: [1]\n\n")) == []


@given(st.lists(st.tuples(LINES.filter(bool), LINES)), st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_is_written_is_read_whatever_ends_the_lines(pairs, end):
    written = "".join(f"event: {n}{end}data: {d}{end}{end}" for n, d in pairs)
    assert list(events(written.encode())) == [Event(n, d) for n, d in pairs]


@given(st.lists(st.dictionaries(st.text(max_size=3), st.integers()), min_size=1), st.data())
def test_a_stream_cut_anywhere_gives_its_first_events(values, data):
    stream = b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)
    cut = data.draw(st.integers(0, len(stream)))
    read = list(json_events(stream[:cut]))
    assert read == values[: len(read)]
    assert len(read) >= stream[:cut].count(b"\n\n")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(stream):
    assert all(isinstance(event, Event) for event in events(stream))
