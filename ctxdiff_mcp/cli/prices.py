"""`--prices FILE`, and the JSON of what was billed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ctxdiff_analyzers.ledger import Tally
from ctxdiff_analyzers.reconcile import Reconciliation

from ctxdiff_mcp.answers.ledger import Bill, BilledRow, Money, spelled


def add_prices(parser: argparse.ArgumentParser) -> None:
    """`--prices`."""
    parser.add_argument(
        "--prices",
        type=Path,
        metavar="FILE",
        help="your price list in JSON, per million tokens: adds what the calls cost",
    )


def bill_json(bill: Bill) -> dict[str, Any]:
    """The ledger, row by row."""
    return {"by": bill.by, "rows": [_row(row) for row in bill.rows]}


def tally_json(tally: Tally) -> dict[str, int]:
    """Sums of the calls that reported usage."""
    return {
        "input_tokens": tally.prompt,
        "output_tokens": tally.output,
        "uncached_tokens": tally.uncached,
        "cache_read_tokens": tally.cache_read,
        "cache_write_tokens": tally.cache_write,
        "cache_write_5m_tokens": tally.cache_write_5m,
        "cache_write_1h_tokens": tally.cache_write_1h,
        "reasoning_tokens": tally.reasoning,
        "calls_with_usage": tally.reported,
        "calls_total": tally.calls,
        "calls_failed_without_usage": tally.failed,
        "calls_recorded_twice": tally.doubles,
    }


def money_json(money: Money | None) -> dict[str, Any] | None:
    """Amounts as texts: they are exact decimals, which a JSON number would round."""
    if money is None:
        return None
    return {
        "amount": spelled(money.amount),
        "currency": money.currency,
        "by_kind": {kind: spelled(part) for kind, part in money.by_kind},
        "calls_priced": money.calls,
        "not_priced": [
            {"model": one.model, "missing": one.kinds, "calls": one.calls} for one in money.unpriced
        ],
        "tokens_assumed_5m": money.assumed_5m,
    }


def reconciliation_json(found: Reconciliation) -> dict[str, Any]:
    """Billed prompts against recorded blocks."""
    return {
        "calls": found.calls,
        "billed_tokens": found.billed,
        "block_tokens": found.blocks,
        "difference": found.difference,
        "reasons": [
            {"reason": share.reason, "calls": share.calls, "difference": share.difference}
            for share in found.shares
        ],
        "held_by_provider": found.held,
    }


def _row(row: BilledRow) -> dict[str, Any]:
    return {
        "turn": row.turn,
        "agent": row.agent,
        "step": row.step,
        "models": row.models,
        **tally_json(row.tally),
        "cost": money_json(row.money),
    }
