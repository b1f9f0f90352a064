"""How much of a text fits is what counting its characters one by one gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.gate.cap import JOINER_SLACK, fitting_chars, wire_bytes
from ctxdiff_mcp.gate.clean import clean

TEXTS = st.text(st.sampled_from('ab "\\\n\té漢😀⟦\u202e\u0301\udc80\x00'), max_size=80)


def cost(shown: str, line_bytes: int) -> int:
    return wire_bytes(shown) + shown.count("\n") * line_bytes


@given(TEXTS, st.integers(-5, 500), st.sampled_from((0, 2)))
def test_what_fits_stays_within_the_budget_and_one_more_would_not(text, budget, line_bytes) -> None:
    fits = fitting_chars(text, budget, line_bytes)
    assert fits == 0 or cost(clean(text[:fits]), line_bytes) <= budget
    if fits < len(text):
        assert cost(clean(text[: fits + 1]), line_bytes) > budget - JOINER_SLACK


@given(TEXTS)
def test_wire_bytes_are_those_of_a_json_string(text) -> None:
    shown = clean(text)
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    spelled = escaped.replace("\n", "\\n").replace("\t", "\\t")
    assert wire_bytes(shown) == len(spelled.encode())
