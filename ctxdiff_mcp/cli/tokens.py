"""`ctxdiff-mcp tokens`: what fills the context."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_analyzers.window import Fill

from ctxdiff_mcp.answers.ledger import read_prices
from ctxdiff_mcp.answers.tokens import LostBlock, Schemas, Tokens, tokens
from ctxdiff_mcp.answers.where import at_home
from ctxdiff_mcp.cli.output import plain, write_json, write_lines
from ctxdiff_mcp.cli.prices import (
    add_prices,
    bill_json,
    money_json,
    reconciliation_json,
    tally_json,
)
from ctxdiff_mcp.cli.select import (
    add_common,
    add_session,
    add_turn,
    add_window,
    selected,
    stated_window,
)
from ctxdiff_mcp.cli.shapes import run_json, turn_json
from ctxdiff_mcp.text.shown import UNLABELED
from ctxdiff_mcp.text.tokens import token_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All turns of one session, an agent's, or one."""
    add_common(parser)
    add_session(parser)
    add_turn(parser)
    add_window(parser)
    parser.add_argument(
        "--by",
        choices=["call", "agent", "step", "model", "run"],
        default="run",
        help="list what was billed by call, agent, step or model",
    )
    add_prices(parser)


def run(args: argparse.Namespace) -> int:
    """Show the tokens by turn and label, and what they buy."""
    window = stated_window(args)
    prices = None if args.prices is None else read_prices(at_home(args.prices))
    chosen = selected(args, args.session)
    answer = tokens(
        chosen.source,
        chosen.run,
        args.turn,
        agent=args.agent,
        window=window,
        by=args.by,
        prices=prices,
    )
    if args.json:
        write_json(as_json(answer))
    else:
        write_lines(token_lines(answer))
    return 0


def as_json(answer: Tokens) -> dict[str, Any]:
    """Per turn, per agent and over the scope."""
    names = [None if share.agent is None else str(plain(share.agent)) for share in answer.by_agent]
    bucket = UNLABELED
    while bucket in names:  # an agent's own name
        bucket = f"({bucket})"
    by_agent = {
        bucket if agent is None else agent: share
        for agent, share in zip(names, answer.by_agent, strict=True)
    }
    return {
        **run_json(answer.run),
        "agent": answer.agent,
        "turns": [{**turn_json(row), "window": _fill(answer.fill(row))} for row in answer.turns],
        "peak": {"seq": answer.peak.turn, "total_tokens": answer.peak.total_tokens},
        "usage": {
            **tally_json(answer.bill.total.tally),
            "streamed_without_usage": answer.streamed_without_usage,
            "by_agent": {
                agent: {"input_tokens": share.input_tokens, "output_tokens": share.output_tokens}
                for agent, share in by_agent.items()
                if share.input_tokens is not None
            }
            or None,
        },
        "block_tokens_by_agent": {agent: share.tokens for agent, share in by_agent.items()} or None,
        "ledger": bill_json(answer.bill),
        "recorded_twice": [
            {"turn": again, "same_call_as": first} for again, first in answer.bill.doubles
        ],
        "reconciliation": reconciliation_json(answer.reconciliation),
        "cost": money_json(answer.bill.total.money),
        "schema_bloat": _schemas(answer.schemas),
        "evictions": [_lost(lost) for lost in answer.lost],
    }


def _fill(fill: Fill | None) -> dict[str, Any] | None:
    return None if fill is None else {**plain(fill), "alarm": fill.alarm}


def _schemas(schemas: Schemas) -> dict[str, Any] | None:
    if schemas.verdict == "no_schemas":
        return None
    return {
        "verdict": schemas.verdict,
        "registered_tools": schemas.registered,
        "unused_tools": [tool.name for tool in schemas.unused],
        "unused_tokens_per_call": schemas.unused_tokens_per_call,
        "pct_of_avg_context": schemas.pct_of_avg_context,
        "calls_analyzed": schemas.calls_analyzed,
        "approximate": not schemas.exact,
    }


def _lost(lost: LostBlock) -> dict[str, Any]:
    return {
        "label": lost.label,
        "agent": lost.agent,
        "tagged_turn": lost.tagged_turn,
        "entered_turn": lost.entered_turn,
        "last_seen_turn": lost.last_seen_turn,
        "evicted_turn": lost.evicted_turn,
        "tokens": lost.block.tokens,
        "role": lost.block.role,
        "content_hash": lost.block.content_hash,
    }
