"""The user's prices, exactly multiplied; what has no price is named."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from ctxdiff_analyzers.ledger import ModelTally, Tally
from ctxdiff_analyzers.prices import KINDS, Unpriced, cost, price_list
from hypothesis import given
from hypothesis import strategies as st

FULL = {
    "input": 3,
    "cache_read": 0.3,
    "cache_write_5m": 3.75,
    "cache_write_1h": 6,
    "output": 15,
}


def listed(**models: Any) -> Any:
    return price_list(json.dumps({"currency": "USD", "models": models}))


def tally(**counts: int) -> Tally:
    return Tally(calls=1, reported=1, **counts)


def test_each_kind_has_its_price() -> None:
    billed = tally(
        prompt=1_000_000,
        uncached=400_000,
        cache_read=300_000,
        cache_write=300_000,
        cache_write_5m=100_000,
        cache_write_1h=150_000,
        output=200_000,
        reasoning=50_000,
    )
    found = cost([ModelTally("m", billed)], listed(m=FULL))
    assert found.by_kind == (
        ("input", Decimal("1.2")),
        ("cache_read", Decimal("0.09")),
        ("cache_write_5m", Decimal("0.5625")),
        ("cache_write_1h", Decimal("0.9")),
        ("output", Decimal(3)),
    )
    assert found.amount == Decimal("5.7525")
    assert (found.calls, found.unpriced, found.assumed_5m) == (1, (), 50_000)


def test_a_model_without_a_price_is_named_and_not_guessed() -> None:
    prices = listed(**{"gpt-5*": {"input": 1, "output": 2}})
    models = [
        ModelTally("gpt-5-mini", tally(prompt=10, uncached=10)),
        ModelTally("gpt-4o", tally(prompt=10, uncached=10)),
        ModelTally(None, tally(prompt=10, uncached=10)),
        ModelTally("gpt-5", tally(prompt=10, cache_read=10)),
        ModelTally("unknown, and silent", Tally(calls=3, failed=3)),
    ]
    found = cost(models, prices)
    assert (found.amount, found.calls) == (Decimal("0.00001"), 1)
    assert found.unpriced == (
        Unpriced("gpt-4o", (), 1),
        Unpriced(None, (), 1),
        Unpriced("gpt-5", ("cache_read",), 1),
    )


def test_the_first_pattern_that_fits_counts_and_case_matters() -> None:
    prices = listed(**{"gpt-5-mini": FULL, "gpt-5*": {"input": 1, "output": 2}})
    found = [prices.of(model) for model in ("gpt-5-mini", "gpt-5.4", "GPT-5.4", "my-gpt-5")]
    assert [one and one.pattern for one in found] == ["gpt-5-mini", "gpt-5*", None, None]


PRICE = st.decimals(0, 10**6, places=8)
COUNT = st.integers(0, 10**12)


@given(st.lists(st.tuples(COUNT, COUNT, COUNT, COUNT, COUNT), max_size=5), st.tuples(*[PRICE] * 5))
def test_no_amount_is_rounded(counts: list[tuple[int, ...]], prices: tuple[Decimal, ...]) -> None:
    spelled = ", ".join(f'"{k}": {p:f}' for k, p in zip(KINDS, prices, strict=True))
    found = cost(
        [
            ModelTally(
                "m",
                tally(
                    uncached=plain,
                    cache_read=read,
                    cache_write=five + hour,
                    cache_write_5m=five,
                    cache_write_1h=hour,
                    output=output,
                ),
            )
            for plain, read, five, hour, output in counts
        ],
        price_list(f'{{"models": {{"*": {{{spelled}}}}}}}'),
    )
    expected = sum(
        Fraction(count) * Fraction(price) / 10**6
        for row in counts
        for count, price in zip(row, prices, strict=True)
    )
    assert Fraction(found.amount) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is no JSON: line 1"),
        ('{"models": {\n"m": }', "line 2"),
        ("[]", "it is no JSON object"),
        ("{}", "`models` is no object with a model in it"),
        ('{"models": {}}', "`models` is no object"),
        ('{"prices": {}}', "'prices' is not known"),
        ('{"models": {"m": 3}}', "the entry of 'm' is no object"),
        ('{"models": {"m": {"input": 1}}}', "'m': `output` is missing"),
        ('{"models": {"m": {"input": "1", "output": 1}}}', "'m': `input` is no number from 0 up"),
        ('{"models": {"m": {"input": true, "output": 1}}}', "`input` is no number"),
        ('{"models": {"m": {"input": -1, "output": 1}}}', "`input` is no number"),
        ('{"models": {"m": {"input": NaN, "output": 1}}}', "`input` is no number"),
        ('{"models": {"m": {"input": 1, "output": Infinity}}}', "`output` is no number"),
        ('{"models": {"m": {"input": 1e999999999, "output": 1}}}', "`input` is no number"),
        ('{"models": {"m": {"input": 1e-999999999, "output": 1}}}', "`input` is no number"),
        ('{"models": {"m": {"cached": 1, "input": 1, "output": 1}}}', "'cached' is not one of"),
        ('{"models": {"m": {}, "m": {}}}', "'m' stands twice"),
        ('{"currency": 5, "models": {"m": {"input": 1, "output": 1}}}', "`currency` is no word"),
        (
            '{"currency": "U\\nD", "models": {"m": {"input": 1, "output": 1}}}',
            "`currency` is no word",
        ),
        ("[" * 100_000, "it nests too deeply"),
    ],
)
def test_a_bad_price_list_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        price_list(text)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=40) | st.from_regex(r'\{"models": ?\{"m": ?\{.*\}\}\}', fullmatch=True))
def test_any_text_is_a_price_list_or_a_value_error(text: str) -> None:
    try:
        found = price_list(text)
    except ValueError:
        return
    assert found.entries
