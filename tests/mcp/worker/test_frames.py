"""Messages arrive as they were sent, or not at all."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.worker.frames import PipeChannel

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
"""With lone surrogates, numbers of any size, infinities."""


def sent(*messages: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    for message in messages:
        PipeChannel(io.BytesIO(), stream).send(message)
    return stream.getvalue()


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=4))
def test_messages_arrive_whole_and_in_order(messages: list[dict[str, Any]]) -> None:
    channel = PipeChannel(io.BytesIO(sent(*messages)), io.BytesIO())
    assert [channel.receive() for _ in messages] == messages
    assert channel.receive() is None


@given(st.binary(max_size=40))
def test_noise_is_no_message_and_no_fault(noise: bytes) -> None:
    received = PipeChannel(io.BytesIO(noise), io.BytesIO()).receive()
    assert received is None or isinstance(received, dict)


@pytest.mark.parametrize("cut", range(1, 12))
def test_half_a_message_is_the_end(cut: int) -> None:
    assert PipeChannel(io.BytesIO(sent({"a": 1})[:-cut]), io.BytesIO()).receive() is None
