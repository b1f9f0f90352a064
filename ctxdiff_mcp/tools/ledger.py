"""What was billed, as lines of a tool's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.tools import lines

if TYPE_CHECKING:
    from ctxdiff_analyzers.ledger import Tally
    from ctxdiff_analyzers.reconcile import Reason, Reconciliation

    from ctxdiff_mcp.answers.ledger import Bill, BilledRow, Money

MOST_MODELS = 5
REASONS: dict[Reason, str] = {
    "held_by_provider": "context that the provider keeps and the record does not have",
    "provider_tools": "tools that the provider ran",
    "unmeasured": "images or files of unknown cost",
    "trimmed_by_provider": "the request lets the provider cut",
    "estimate": "blocks are estimates",
    "framing": "framing of messages and tools",
    "unexplained": "unexplained",
}


def bill_lines(env: Envelope, bill: Bill) -> list[str]:
    """The sums over the scope, with what is in none of them."""
    tally = bill.total.tally
    if not tally.reported:
        return ["the provider reported no usage"]
    rows = [
        f"billed over {tally.reported} of {tally.calls} calls: {tokens(env, tally, always=True)}"
    ]
    left_out = []
    if tally.failed and not env.policy.hides_names:
        left_out.append(f"{lines.plural(tally.failed, 'failed call')} reported none")
    if tally.doubles:
        left_out.append(f"{lines.plural(tally.doubles, 'call')} recorded twice, counted once")
    if left_out:
        rows.append("; ".join(left_out))
    return rows


def reconciliation_lines(env: Envelope, found: Reconciliation) -> list[str]:
    """Billed prompts against recorded blocks; reasons follow from parameters and names."""
    if env.policy.hides_names or not found.shares:
        return []
    shares = [
        f"{REASONS[share.reason]} {lines.number(env, share.difference, '+')} "
        f"({lines.plural(share.calls, 'call')})"
        for share in found.shares
    ]
    held = f" [{', '.join(found.held)}]" if found.held else ""
    difference = lines.number(env, found.difference, "+")
    return [f"billed prompts minus recorded blocks {difference}: {'; '.join(shares)}{held}"]


def money_lines(env: Envelope, money: Money | None) -> list[str]:
    """What it comes to at the server's price list. An amount tells which model it was."""
    if money is None or not shows_money(env):
        return []
    rows = [f"cost {amount(money)}, {lines.plural(money.calls, 'call')} priced"]
    if money.assumed_5m:
        rows[0] += f"; {money.assumed_5m:,} written tokens of unstated life as cache_write_5m"
    for one in money.unpriced[:MOST_MODELS]:
        why = f"no {', '.join(one.kinds)} price" if one.kinds else "not in the price list"
        model = env.word(one.model, "an unknown model")
        rows.append(f"not priced: {model}, {lines.plural(one.calls, 'call')}, {why}")
    if len(money.unpriced) > MOST_MODELS:
        rows.append(f"{len(money.unpriced) - MOST_MODELS} more models are not priced")
    return rows


def row_line(env: Envelope, bill: Bill, row: BilledRow) -> str:
    """One row of the ledger."""
    return f"- {_subject(env, bill, row)}: {_billed(env, row)}"


def tokens(env: Envelope, tally: Tally, *, always: bool = False) -> str:
    """`120 prompt (80 read from cache, 0 written), 8 output`."""
    cached = ""
    if always or tally.cache_read or tally.cache_write:
        written = f"{lines.number(env, tally.cache_write)} written{_lives(env, tally)}"
        cached = f" ({lines.number(env, tally.cache_read)} read from cache, {written})"
    reasoning = f" ({lines.number(env, tally.reasoning)} reasoning)" if tally.reasoning else ""
    prompt, output = lines.number(env, tally.prompt), lines.number(env, tally.output)
    return f"{prompt} prompt{cached}, {output} output{reasoning}"


def shows_money(env: Envelope) -> bool:
    """False in redact mode."""
    return not env.policy.hides_names and not env.policy.rounds_counts


def amount(money: Money) -> str:
    """`0.0123 USD`, exact."""
    from ctxdiff_mcp.answers.ledger import spelled  # noqa: PLC0415  the server starts without it

    return " ".join(filter(None, (spelled(money.amount), money.currency)))


def _lives(env: Envelope, tally: Tally) -> str:
    if not tally.cache_write_5m and not tally.cache_write_1h:
        return ""
    five = lines.number(env, tally.cache_write_5m)
    return f": {five} for 5m, {lines.number(env, tally.cache_write_1h)} for 1h"


def _subject(env: Envelope, bill: Bill, row: BilledRow) -> str:
    if bill.by == "model":
        return ", ".join(f"model {env.word(model)}" for model in row.models)
    if bill.by == "run":
        return "all calls"
    parts = [f"turn {row.turn}"] if row.turn is not None else []
    parts.append(lines.agent(env, row.agent))
    if row.step is not None or bill.by == "step":
        parts.append(f"step {env.word(row.step, 'none')}")
    return ", ".join(parts)


def _billed(env: Envelope, row: BilledRow) -> str:
    tally = row.tally
    if not tally.reported:
        return "no usage reported"
    coverage = (
        f"{tally.reported} of {lines.plural(tally.calls, 'call')}, " if row.turn is None else ""
    )
    line = f"{coverage}{tokens(env, tally)}"
    if row.money is None or not shows_money(env):
        return line
    unpriced = sum(one.calls for one in row.money.unpriced)
    cost = f", {amount(row.money)}" if row.money.calls else ""
    rest = f", {lines.plural(unpriced, 'call')} not priced" if unpriced else ""
    return f"{line}{cost}{rest}"
