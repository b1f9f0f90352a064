"""Identity of texts, against the format's own vectors."""

import ast
import json
import math
from pathlib import Path

import pytest
from ctxdiff_capture.hashing import canonical_json, digest_of, normal_form
from hypothesis import given
from hypothesis import strategies as st

VECTORS = json.loads((Path(__file__).parent / "data" / "hash-vectors.json").read_text())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def value_of(spelled):
    """The Python value that a vector spells; `inf` and `nan` are names and no literals."""
    try:
        return ast.literal_eval(spelled)
    except ValueError:
        return eval(spelled, {"__builtins__": {}, "inf": math.inf, "nan": math.nan, "float": float})


@pytest.mark.parametrize("vector", VECTORS, ids=range(len(VECTORS)))
def test_a_value_has_the_published_form_and_digest(vector):
    value = value_of(vector["python_input"])
    assert normal_form(value) == vector["normalized_text"]
    assert digest_of(vector["role"], vector["kind"], value) == vector["sha256"]


def test_all_published_vectors_are_here():
    assert len(VECTORS) == 46


@given(JSON)
def test_the_order_of_keys_does_not_matter(value):
    def turned(inner):
        if isinstance(inner, dict):
            return {key: turned(inner[key]) for key in reversed(inner)}
        return [turned(item) for item in inner] if isinstance(inner, list) else inner

    assert canonical_json(turned(value)) == canonical_json(value)


@given(JSON)
def test_the_canonical_text_spells_the_same_value(value):
    assert json.loads(canonical_json(value)) == value


@given(st.text(), st.text())
def test_different_texts_are_different_blocks(one, other):
    assert (digest_of("user", "message", one) == digest_of("user", "message", other)) == (
        one == other
    )


def test_the_same_words_in_another_role_or_kind_are_another_block():
    kinds = {digest_of(r, k, "hi") for r in ("user", "tool") for k in ("message", "content_part")}
    assert len(kinds) == 4


def test_a_lone_surrogate_has_an_identity():
    assert digest_of("user", "message", "\ud800") != digest_of("user", "message", "\ud801")
