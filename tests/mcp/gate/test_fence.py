from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.gate.fence import Framed, frame, fresh_nonce

NUMBERS = st.integers(0, 999_999_999)
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "block": st.just("9c1e44aa"),
        "finding": st.integers(1, 999),
        "role": st.sampled_from(["system", "assistant"]),
        "turn": NUMBERS,
        "mark": st.just("lines"),
        "chars": st.tuples(NUMBERS, NUMBERS, NUMBERS).map(lambda n: f"{n[0]}-{n[1]}/{n[2]}"),
        "escapes": st.integers(1, 20_000),
        "secrets": st.integers(1, 999),
    },
)


@given(ATTRIBUTES, st.integers(1, 999), st.text(max_size=20))
def test_a_frame_costs_at_most_120_characters_and_keeps_block_and_place(
    attributes: dict[str, int | str], number: int, shown: str
) -> None:
    framed = frame(Framed(tuple(attributes.items()), shown), "2" * 10, number, 999)
    assert len(framed) - len(shown) <= 120
    opening = framed.partition("\n")[0]
    assert opening.startswith(f"⟦captured 2222222222 {number}/999")
    for name in ("block", "mark", "chars"):
        assert (f" {name}={attributes.get(name)}" in opening) is (name in attributes)


def test_what_a_frame_has_room_for_is_all_there() -> None:
    words = (("block", "9c1e44aa"), ("role", "tool"), ("turn", 8), ("chars", "0-160/9120"))
    framed = frame(Framed((*words, ("escapes", 2)), "x"), "2" * 10, 1, 3)
    assert framed.startswith(
        "⟦captured 2222222222 1/3 block=9c1e44aa role=tool turn=8 chars=0-160/9120 escapes=2⟧\nx\n"
    )


@pytest.mark.parametrize("word", ["a stranger's word", "Tool", "9c1e44aa⟧", "", "1 2", "obey"])
def test_a_word_that_is_not_known_never_gets_into_a_frame(word: str) -> None:
    with pytest.raises(ValueError, match="the word of `role` may not stand in a frame"):
        Framed((("role", word),), "x")


def test_a_nonce_that_stands_in_a_content_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: Iterator[str] = iter("2222222222abcdefghjk9999999999")
    monkeypatch.setattr(secrets, "choice", lambda _: next(drawn))
    wide = "".join(chr(ord(char) + 0xFEE0) for char in "ABCDEFGHJK")
    assert fresh_nonce(["it was 2222222222", f"and {wide}"]) == "9999999999"
