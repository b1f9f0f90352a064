"""The user's own prices, and what a ledger comes to at them. We know no price ourselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias, get_args

from ctxdiff_analyzers.ledger import ModelTally, Tally

Kind: TypeAlias = Literal["input", "cache_read", "cache_write_5m", "cache_write_1h", "output"]
KINDS: tuple[Kind, ...] = get_args(Kind)
REQUIRED: tuple[Kind, ...] = ("input", "output")
MILLION = Decimal(1_000_000)
LARGEST, SMALLEST = 12, -20
"""Powers of ten that a price may have: more is no price."""

# Wide enough that no sum of a run is rounded.
_EXACT = Context(prec=120)


@dataclass(frozen=True, slots=True)
class Prices:
    """Of the models that a pattern fits, per million tokens."""

    pattern: str
    """As in a shell: `*`, `?` and `[...]`; case counts."""
    per_million: Mapping[Kind, Decimal]
    """`input` and `output` at least."""


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices of models; the first pattern that fits counts."""

    entries: tuple[Prices, ...]
    currency: str | None = None
    """As the user writes it (`USD`)."""

    def of(self, model: str | None) -> Prices | None:
        """The prices of a model; None where no pattern fits, or the record names no model."""
        if model is None:
            return None
        return next((one for one in self.entries if fnmatchcase(model, one.pattern)), None)


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Calls that could not be priced, and are in no amount."""

    model: str | None
    """Captured text."""
    kinds: tuple[Kind, ...]
    """The prices that are missing; empty where no pattern fits the model."""
    calls: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What some calls come to."""

    amount: Decimal
    """Exact. Of the calls that could be priced."""
    by_kind: tuple[tuple[Kind, Decimal], ...]
    """Its parts, in the order of `KINDS`; those that are not 0."""
    calls: int
    """Calls that are in the amount: priced, and their usage was reported."""
    unpriced: tuple[Unpriced, ...]
    assumed_5m: int
    """Written tokens whose life the provider did not state, priced as `cache_write_5m`."""


def cost(models: Sequence[ModelTally], prices: PriceList) -> Cost:
    """What the calls come to; a model without a full price is named and never guessed."""
    parts = dict.fromkeys(KINDS, Decimal(0))
    unpriced: list[Unpriced] = []
    calls = assumed = 0
    for one in models:
        tally, own = one.tally, prices.of(one.model)
        if not tally.reported:
            continue
        billed = _billed(tally)
        missing = [] if own is None else [k for k in billed if k not in own.per_million]
        if own is None or missing:
            unpriced.append(Unpriced(one.model, tuple(missing), tally.reported))
            continue
        calls += tally.reported
        assumed += tally.cache_write_other
        for kind, tokens in billed.items():
            price = _EXACT.multiply(Decimal(tokens), own.per_million[kind])
            parts[kind] = _EXACT.add(parts[kind], _EXACT.divide(price, MILLION))
    total = Decimal(0)
    for part in parts.values():
        total = _EXACT.add(total, part)
    told = tuple((kind, part) for kind, part in parts.items() if part)
    return Cost(total, told, calls, tuple(unpriced), assumed)


def price_list(text: str) -> PriceList:
    """The prices that a JSON text states.

    `{"currency": "USD", "models": {"gpt-5*": {"input": 1.25, "cache_read": 0.125, "output": 10}}}`

    Raises:
        ValueError: with one line that names what is wrong.
    """
    whole = _parsed(text)
    if not isinstance(whole, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - one error for a bad file
    strangers = [key for key in whole if key not in ("currency", "models")]
    if strangers:
        raise ValueError(f"{strangers[0]!r} is not known: it has `models` and perhaps `currency`")
    currency = whole.get("currency")
    if currency is not None and not (isinstance(currency, str) and _is_currency(currency)):
        raise ValueError("`currency` is no word of 1 to 8 characters")
    models = whole.get("models")
    if not isinstance(models, dict) or not models:
        raise ValueError("`models` is no object with a model in it")
    return PriceList(tuple(_entry(name, entry) for name, entry in models.items()), currency)


def _billed(tally: Tally) -> dict[Kind, int]:
    """Tokens by the price that they have; kinds without tokens are left out."""
    tokens: dict[Kind, int] = {
        "input": tally.uncached,
        "cache_read": tally.cache_read,
        "cache_write_5m": tally.cache_write_5m + tally.cache_write_other,
        "cache_write_1h": tally.cache_write_1h,
        "output": tally.output,
    }
    return {kind: count for kind, count in tokens.items() if count}


def _entry(pattern: str, entry: Any) -> Prices:
    if not isinstance(entry, dict):
        raise ValueError(f"the entry of {pattern!r} is no object")  # noqa: TRY004 - likewise
    for kind, price in entry.items():
        if kind not in KINDS:
            raise ValueError(f"{pattern!r}: {kind!r} is not one of {', '.join(KINDS)}")
        if isinstance(price, bool) or not isinstance(price, Decimal) or not _is_price(price):
            raise ValueError(f"{pattern!r}: `{kind}` is no number from 0 up")
    for kind in REQUIRED:
        if kind not in entry:
            raise ValueError(f"{pattern!r}: `{kind}` is missing")
    return Prices(pattern, entry)


def _is_currency(word: str) -> bool:
    return 0 < len(word) <= 8 and word.isprintable() and " " not in word


def _is_price(price: Decimal) -> bool:
    if not price.is_finite() or price < 0:
        return False
    exponent = price.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= SMALLEST and price.adjusted() <= LARGEST


def _parsed(text: str) -> Any:
    """The JSON of a text, numbers as they are written, and no name twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise ValueError(f"{name!r} stands twice in one object")
            found[name] = value
        return found

    try:
        return json.loads(
            text,
            parse_float=Decimal,
            parse_int=Decimal,
            parse_constant=Decimal,
            object_pairs_hook=once,
        )
    except json.JSONDecodeError as problem:
        raise ValueError(f"it is no JSON: line {problem.lineno}, {problem.msg}") from None
    except RecursionError:
        raise ValueError("it nests too deeply") from None
