"""`ctxdiff-mcp cache`: where the prompt prefix breaks."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_mcp.answers.cache import BreakRow, BreakRows, Cache, cache
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import add_common, add_session, add_turn, selected
from ctxdiff_mcp.cli.shapes import run_json
from ctxdiff_mcp.text.cache import cache_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All turns of one session, an agent's, or one."""
    add_common(parser)
    add_session(parser)
    add_turn(parser)


def run(args: argparse.Namespace) -> int:
    """Show each way in which the prefix broke. A break is an answer, not a failure."""
    chosen = selected(args, args.session)
    answer = cache(chosen.source, chosen.run, args.turn, agent=args.agent)
    if args.json:
        write_json(as_json(answer))
    else:
        write_lines(cache_lines(answer))
    return 0


def as_json(answer: Cache) -> dict[str, Any]:
    """Every break, and the groups in which they are shown."""
    return {
        **run_json(answer.run),
        "agent": answer.agent,
        "turn": answer.turn,
        "pairs_analyzed": answer.pairs,
        "agents_analyzed": answer.agents_analyzed,
        "stable_prefix_tokens_min": answer.stable_prefix_tokens_min,
        "rebilled_tokens_total": answer.rebilled_tokens,
        "approximate": not answer.exact,
        "fix_hint_present": answer.fix_hint,
        "breaks": [_break(row) for row in answer.breaks],
        "groups": [_group(group) for group in answer.groups],
        "provider_usage": answer.use,
    }


def _break(row: BreakRow) -> dict[str, Any]:
    return {
        "seq_old": row.turn_before,
        "seq_new": row.turn,
        "agent": row.agent,
        "stable_blocks": row.stable_blocks,
        "stable_tokens": row.stable_tokens,
        "divergent_position": row.position,
        "rebilled": row.rebilled_tokens,
        "culprit_kind": row.culprit,
        "culprit_label": row.label,
        "content_hash": row.block.content_hash,
        "content_hash_before": row.before and row.before.content_hash,
        "position_old": row.moved_from,
        "position_new": row.moved_to,
        "first_diff_char": row.first_diff_char,
        "dynamic": row.is_dynamic,
    }


def _group(group: BreakRows) -> dict[str, Any]:
    return {
        "agent": group.first.agent,
        "culprit_kind": group.first.culprit,
        "culprit_label": group.first.label,
        "divergent_position": group.first.position,
        "count": group.count,
        "denominator": group.pairs,
        "turns": group.turns,
    }
