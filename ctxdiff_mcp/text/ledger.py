"""What was billed, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_analyzers.ledger import Tally
from ctxdiff_analyzers.reconcile import Reason, Reconciliation

from ctxdiff_mcp.answers.ledger import Bill, BilledRow, Money, UnpricedModel, spelled
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import cut, name

REASONS: dict[Reason, str] = {
    "held_by_provider": "context that the provider keeps",
    "provider_tools": "tools that the provider ran",
    "unmeasured": "blocks of unknown cost",
    "trimmed_by_provider": "the provider may cut",
    "estimate": "blocks are estimates",
    "framing": "framing of messages and tools",
    "unexplained": "unexplained",
}


def parts_lines(tally: Tally) -> Iterator[Line]:
    """How cache writes and output divide, and which calls are in no number."""
    parts = []
    if tally.cache_write_5m or tally.cache_write_1h:
        other = f", {tally.cache_write_other:,} unstated" if tally.cache_write_other else ""
        lives = f"{tally.cache_write_5m:,} for 5m, {tally.cache_write_1h:,} for 1h{other}"
        parts.append(f"written {lives}")
    if tally.reasoning:
        parts.append(f"reasoning {tally.reasoning:,} of out")
    if parts:
        yield Line(f"  {' · '.join(parts)}")
    if tally.failed:
        yield Line(f"  {_calls(tally.failed)} failed and reported none", "dim")
    if tally.doubles:
        yield Line(f"  {_calls(tally.doubles)} recorded twice, counted once", "dim")


def reconciliation_line(found: Reconciliation) -> Iterator[Line]:
    """Billed prompts against recorded blocks, with what explains the difference."""
    if not found.difference and not found.shares:
        return
    shares = [
        f"{REASONS[share.reason]} {share.difference:+,} ({_calls(share.calls)})"
        for share in found.shares
    ]
    held = f" [{', '.join(found.held)}]" if found.held else ""
    line = f"  billed prompts − blocks: {found.difference:+,} tok · {' · '.join(shares)}{held}"
    yield Line(line, "dim")


def money_lines(money: Money) -> Iterator[Line]:
    """What it comes to, and which calls are not in that."""
    if money.calls or not money.unpriced:
        kinds = "".join(f" · {kind} {spelled(part)}" for kind, part in money.by_kind)
        yield Line(f"  cost {amount(money)} ({_calls(money.calls)} priced){kinds}")
    if money.assumed_5m:
        told = f"{money.assumed_5m:,} written tokens of unstated life"
        yield Line(f"  {told} are priced as cache_write_5m", "dim")
    for one in money.unpriced:
        yield Line(f"  not priced: {_unpriced(one)}", "warn")


def bill_lines(bill: Bill) -> Iterator[Line]:
    """One line per row, under a heading."""
    yield Line(f"billed by {bill.by}")
    for row in bill.rows:
        yield Line(f"  {_subject(bill, row)} · {_billed(row)}")


def amount(money: Money) -> str:
    """`0.0123 USD`, exact."""
    return " ".join(filter(None, (spelled(money.amount), cut(money.currency or ""))))


def _subject(bill: Bill, row: BilledRow) -> str:
    if bill.by == "model":
        return ", ".join("unknown model" if one is None else cut(one) for one in row.models)
    parts = [f"turn {row.turn}"] if row.turn is not None else []
    if bill.by != "call" or row.agent is not None:
        parts.append("all" if bill.by == "run" else name(row.agent))
    if row.step is not None or bill.by == "step":
        parts.append("no step" if row.step is None else cut(row.step))
    return " · ".join(parts)


def _billed(row: BilledRow) -> str:
    tally = row.tally
    if not tally.reported:
        return "failed" if tally.failed else "no usage was reported"
    parts = []
    if row.turn is None:
        parts.append(f"{tally.reported}/{tally.calls} calls")
    cached = ""
    if tally.cache_read or tally.cache_write:
        cached = f" ({tally.cache_read:,} read, {tally.cache_write:,} written)"
    parts.append(f"in {tally.prompt:,}{cached}")
    reasoning = f" ({tally.reasoning:,} reasoning)" if tally.reasoning else ""
    parts.append(f"out {tally.output:,}{reasoning}")
    if row.money is not None:
        parts.append(amount(row.money) if row.money.calls else "not priced")
        if row.money.calls and row.money.unpriced:
            parts.append(f"{_calls(sum(one.calls for one in row.money.unpriced))} not priced")
    return " · ".join(parts)


def _unpriced(one: UnpricedModel) -> str:
    model = "calls of an unknown model" if one.model is None else cut(one.model)
    missing = f"no price for {', '.join(one.kinds)}" if one.kinds else "no entry in the price list"
    return f"{model} ({_calls(one.calls)}): {missing}"


def _calls(count: int) -> str:
    return f"{count:,} call{'' if count == 1 else 's'}"
