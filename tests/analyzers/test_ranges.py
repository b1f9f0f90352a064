from __future__ import annotations

import json
from typing import Any

import pytest
from ctxdiff_analyzers.ranges import overlap, same_target
from hypothesis import given
from hypothesis import strategies as st


def key(name: str = "read", **arguments: Any) -> str:
    return f"{name} {json.dumps(arguments)}"


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        (key(path="a", start=1, end=100), key(path="a", start=51, end=150), 0.5),
        (key(path="a", offset=0, limit=100), key(path="a", offset=50, limit=50), 1.0),
        (key(path="a"), key(path="a", offset=50, limit=50), 1.0),
        (key(path="a", lineStart=1, lineEnd=10), key(path="a", lineStart=11, lineEnd=20), 0.0),
        (key(path="a", range=[1, 10]), key(path="a", range=[6, 15]), 0.5),
        (key(path="a", lines="1-10"), key(path="a", lines="6-15"), 0.5),
        (key(path="a", start=1, end=9), key(path="b", start=1, end=9), 0.0),
        (key(path="a", start=1, end=9), key("tail", path="a", start=1, end=8), 0.0),
        (key(path="a"), key(path="a"), 0.0),
        (key(order=7), key(order=8), 0.0),
        (key(limit=10), key(limit=20), 0.0),
        (key(query="saw", year=2023), key(query="saw", year=2024), 0.0),
        ("read not json", "read other", 0.0),
    ],
)
def test_calls_overlap_as_far_as_they_ask_for_the_same_piece(
    one: str, other: str, share: float
) -> None:
    assert overlap(one, other) == share
    assert overlap(other, one) == share


def test_pieces_of_one_file_have_one_target() -> None:
    assert same_target(key(path="a", start=1, end=9), key(path="a", start=50, end=60))
    assert not same_target(key(path="a", mode="text"), key(path="a", mode="hex"))


@given(st.dictionaries(st.sampled_from(["path", "start", "end", "limit", "range"]), st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=3)), st.text(max_size=12))  # fmt: skip
def test_any_arguments_are_read_without_harm(arguments: Any, text: str) -> None:
    for other in (key(path="a", start=1), text, f"read {text}"):
        assert 0.0 <= overlap(key(**arguments), other) <= 1.0
