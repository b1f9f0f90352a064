"""`ctxdiff-mcp cache`: what the provider's prompt cache did, and why."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_mcp.answers.cache import BreakRow, BreakRows, Cache, cache
from ctxdiff_mcp.answers.cache_sessions import SessionBreak
from ctxdiff_mcp.answers.cache_verdict import RunCache, VerdictRow
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import add_common, add_session, add_turn, selected
from ctxdiff_mcp.cli.shapes import run_json
from ctxdiff_mcp.text.cache import cache_lines
from ctxdiff_mcp.text.shown import masked_excerpt


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
        "verdict": answer.verdict and _verdict(answer.verdict),
        **(_run_of_verdicts(answer.verdicts) if answer.verdicts else {}),
        "sessions": [_sessions(one) for one in answer.sessions],
    }


def _run_of_verdicts(verdicts: RunCache) -> dict[str, Any]:
    return {
        "rules_read": verdicts.rules_read,
        "providers": verdicts.providers,
        "predictions": {"compared": verdicts.compared, "agreed": verdicts.agreed},
        "turns": verdicts.turns,
        "causes": [
            {
                "turns": group.turns,
                "lost_tokens": group.lost_tokens,
                "lost_is_billed": group.lost_is_billed,
                "first": _verdict(group.first),
            }
            for group in verdicts.causes
        ],
    }


def _verdict(one: VerdictRow) -> dict[str, Any]:
    return {
        "turn": one.turn,
        "agent": one.agent,
        "rules_of": one.provider,
        "state": one.state,
        "code": one.code,
        "cause": one.cause,
        "certainty": one.certainty,
        "against": one.against,
        "since": one.since,
        "section": one.section,
        "path": one.path,
        "first_diff_char": one.first_difference,
        "excerpts": [masked_excerpt(text, one.origins()) for text in one.excerpts],
        "names": [masked_excerpt(text, one.origins()) for text in one.names],
        "content_hashes": [block.content_hash for block in one.blocks],
        "positions": one.positions,
        "reusable_sections": one.reusable,
        "could_be_read": one.could_be_read,
        "predicted": one.predicted,
        "read": one.read,
        "written": one.written,
        "prompt": one.prompt,
        "agreement": one.agreement,
        "lost_tokens": one.lost_tokens,
        "lost_is_billed": one.lost_is_billed,
        "counts": dict(one.counts),
        "vendor_reason": one.vendor_reason,
        "vendor_missed_tokens": one.vendor_missed_tokens,
        "why": one.why,
        "source": one.source,
        "remedy": one.remedy,
    }


def _sessions(one: SessionBreak) -> dict[str, Any]:
    return {
        "earlier": run_json(one.earlier),
        "later": run_json(one.later),
        "section": one.section,
        "cause": one.cause,
        "path": one.path,
        "first_diff_char": one.first_difference,
        "excerpts": [masked_excerpt(text, one.origins()) for text in one.excerpts],
        "reusable_sections": one.reusable,
        "shared_tokens": one.shared_tokens,
        "lost_tokens": one.lost_tokens,
        "gap_seconds": one.gap_s,
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
