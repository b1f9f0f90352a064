"""`ctxdiff-mcp tokens`: what fills the context."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_analyzers.window import Fill

from ctxdiff_mcp.answers.tokens import LostBlock, Schemas, Tokens, tokens
from ctxdiff_mcp.cli.output import plain, write_json, write_lines
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


def run(args: argparse.Namespace) -> int:
    """Show the tokens by turn and label, and what they buy."""
    window = stated_window(args)
    chosen = selected(args, args.session)
    answer = tokens(chosen.source, chosen.run, args.turn, agent=args.agent, window=window)
    if args.json:
        write_json(as_json(answer))
    else:
        write_lines(token_lines(answer))
    return 0


def as_json(answer: Tokens) -> dict[str, Any]:
    """Per turn, per agent and over the scope."""
    by_agent = {
        UNLABELED if share.agent is None else plain(share.agent): share for share in answer.by_agent
    }
    return {
        **run_json(answer.run),
        "agent": answer.agent,
        "turns": [{**turn_json(row), "window": _fill(answer.fill(row))} for row in answer.turns],
        "peak": {"seq": answer.peak.turn, "total_tokens": answer.peak.total_tokens},
        "usage": {
            **plain(answer.billed),
            "by_agent": {
                agent: {"input_tokens": share.input_tokens, "output_tokens": share.output_tokens}
                for agent, share in by_agent.items()
                if share.input_tokens is not None
            }
            or None,
        },
        "block_tokens_by_agent": {agent: share.tokens for agent, share in by_agent.items()} or None,
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
