"""Images against what ctxdiff 0.5.1 recorded for the same parts."""

import json
from base64 import b64decode
from pathlib import Path

import pytest
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.tokens.image_size import Size, size_of
from ctxdiff_capture.tokens.images import descriptor, image_of, short_count
from hypothesis import given
from hypothesis import strategies as st

VECTORS = json.loads((Path(__file__).parent.parent / "data" / "image-vectors.json").read_text())
FORMULA_OF = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "bedrock": "anthropic",
}


def with_bytes(value):
    if isinstance(value, dict):
        if set(value) == {"$bytes_b64"}:
            return b64decode(value["$bytes_b64"])
        return {key: with_bytes(inner) for key, inner in value.items()}
    return [with_bytes(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("vector", VECTORS["parts"], ids=lambda v: v["name"])
def test_a_part_is_the_image_that_ctxdiff_recorded(vector):
    part = with_bytes(vector["part"])
    if not vector["image"]:
        assert image_of(part, "openai") is None
        return
    for adapter, expected in vector["by_adapter"].items():
        image = image_of(part, FORMULA_OF[adapter])
        assert (image.text, image.hash_input, image.token_count) == (
            expected["text"],
            expected["hash_input"],
            expected["token_count"],
        )
        if "hash" in expected:
            assert digest_of("user", "image", image.hash_input) == expected["hash"]


def png(width, height):
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")


@pytest.mark.parametrize("vector", VECTORS["estimates"], ids=lambda v: f"{v['w']}x{v['h']}")
def test_an_image_costs_what_its_provider_formula_says(vector):
    def cost(formula, **detail):
        from base64 import b64encode

        url = "data:image/png;base64," + b64encode(png(vector["w"], vector["h"])).decode()
        return image_of({"type": "image_url", "image_url": {"url": url, **detail}}, formula)

    costs = {
        "openai": cost("openai").token_count,
        "openai_low": cost("openai", detail="low").token_count,
        "anthropic_bedrock": cost("anthropic").token_count,
        "gemini": cost("gemini").token_count,
        "text_openai": cost("openai").text,
    }
    assert costs == {key: vector[key] for key in costs}


@pytest.mark.parametrize("vector", VECTORS["sniff"], ids=lambda v: v["name"])
def test_a_size_is_read_from_the_first_bytes(vector):
    size = size_of(b64decode(vector["bytes_b64"]))
    assert (size and [size.width, size.height]) == vector["size"]


def test_a_count_is_shortened_half_up():
    assert [short_count(n) for n, _ in VECTORS["token_format"]] == [
        text for _, text in VECTORS["token_format"]
    ]


def test_a_picture_of_known_size_and_no_cost_shows_only_its_size():
    assert descriptor(Size(3, 4), 0) == "[image 3\u00d74]"


@given(st.binary(max_size=200), st.sampled_from([b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF"]))
def test_damaged_pictures_have_no_size_or_a_plausible_one(data, head):
    size = size_of(head + data)
    assert size is None or (1 <= size.width <= 65_535 and 1 <= size.height <= 65_535)
