"""What was billed, row by row, and what it comes to at the user's prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias, overload

from ctxdiff_analyzers.ledger import By, Ledger, LedgerRow, Tally, ledger
from ctxdiff_analyzers.prices import Kind, PriceList, cost, price_list
from ctxdiff_analyzers.timeline import Timeline
from ctxdiff_capture.errors import SelectionError

from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.gate.captured import Captured, Name, captured

Prices: TypeAlias = PriceList
MAX_PRICE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class UnpricedModel:
    """Calls that are in no amount, because prices are missing."""

    model: Captured | None
    """None where the record names none."""
    kinds: tuple[Kind, ...]
    """The prices that are missing; empty where the list has no entry for the model."""
    calls: int


@dataclass(frozen=True, slots=True)
class Money:
    """What some calls come to."""

    amount: Decimal
    """Exact; of the calls that could be priced."""
    currency: str | None
    by_kind: tuple[tuple[Kind, Decimal], ...]
    calls: int
    """Calls in the amount."""
    unpriced: tuple[UnpricedModel, ...]
    assumed_5m: int
    """Written tokens of unstated life, priced as those that live for five minutes."""


@dataclass(frozen=True, slots=True)
class BilledRow:
    """One call, or the calls of one agent, step or model, or all."""

    turn: int | None
    agent: Name | None
    step: Captured | None
    models: tuple[Captured | None, ...]
    """In order of first appearance; None where the record names none."""
    tally: Tally
    money: Money | None
    """None without prices."""


class BilledRows(Sequence[BilledRow]):
    """Rows of a ledger, each worked out when it is looked at: an answer shows a page."""

    def __init__(self, run: OpenRun, rows: Sequence[LedgerRow], prices: PriceList | None) -> None:
        self._run = run
        self._rows = rows
        self._prices = prices

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> BilledRow: ...
    @overload
    def __getitem__(self, at: slice) -> BilledRows: ...
    def __getitem__(self, at: int | slice) -> BilledRow | BilledRows:
        if isinstance(at, slice):
            return BilledRows(self._run, self._rows[at], self._prices)
        return billed_row(self._run, self._rows[at], self._prices)


@dataclass(frozen=True, slots=True)
class Bill:
    """What was billed over a scope."""

    by: By
    rows: BilledRows
    """In order of first appearance."""
    total: BilledRow
    doubles: tuple[tuple[int, int], ...]
    """(turn, the turn that records the same call), ascending."""


def spelled(amount: Decimal) -> str:
    """An exact decimal without exponent and needless zeros: `0.0123`."""
    digits = f"{amount:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def bill(run: OpenRun, scope: Timeline, by: By, prices: PriceList | None) -> Bill:
    """The ledger of a scope, priced."""
    found: Ledger = ledger(scope, by)
    return Bill(
        by,
        BilledRows(run, found.rows, prices),
        billed_row(run, found.total, prices),
        found.doubles,
    )


def billed_row(run: OpenRun, row: LedgerRow, prices: PriceList | None) -> BilledRow:
    """One row of a ledger, priced."""
    return BilledRow(
        turn=row.seq,
        agent=run.agent(row.agent),
        step=captured(row.step),
        models=tuple(captured(one.model) for one in row.models),
        tally=row.tally,
        money=None if prices is None else _money(row, prices),
    )


def read_prices(path: Path) -> PriceList:
    """The price list in a file.

    Raises:
        SelectionError: it cannot be read, or is no price list; one line says why.
    """
    shape = "see docs/prices.md for its shape"
    try:
        with path.open("rb") as file:
            content = file.read(MAX_PRICE_BYTES + 1)
    except OSError as problem:
        why = problem.strerror or "it cannot be read"
        raise SelectionError(f"the price list {path}: {why}", remedy="name another file") from None
    if len(content) > MAX_PRICE_BYTES:
        raise SelectionError(f"the price list {path} is larger than 1 MB", remedy=shape)
    try:
        return price_list(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise SelectionError(f"the price list {path} is not UTF-8", remedy=shape) from None
    except ValueError as problem:
        raise SelectionError(f"the price list {path}: {problem}", remedy=shape) from None


def _money(row: LedgerRow, prices: PriceList) -> Money:
    found = cost(row.models, prices)
    return Money(
        amount=found.amount,
        currency=prices.currency,
        by_kind=found.by_kind,
        calls=found.calls,
        unpriced=tuple(
            UnpricedModel(captured(one.model), one.kinds, one.calls) for one in found.unpriced
        ),
        assumed_5m=found.assumed_5m,
    )
