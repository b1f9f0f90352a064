"""`ctxdiff-mcp explain`: why a turn broke."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_mcp.answers.compare import compare_opened_turn
from ctxdiff_mcp.answers.diff import Diff
from ctxdiff_mcp.answers.explain import Explanation, explain
from ctxdiff_mcp.answers.select import find_run
from ctxdiff_mcp.cli.compare import turn_beside_json
from ctxdiff_mcp.cli.diff import named_run
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import (
    add_common,
    add_session,
    add_turn,
    add_window,
    selected,
    stated_window,
)
from ctxdiff_mcp.cli.shapes import finding_json, run_json, turn_json
from ctxdiff_mcp.text.compare import beside_lines
from ctxdiff_mcp.text.explain import explain_lines
from ctxdiff_mcp.text.lines import Line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One turn of one session."""
    add_common(parser)
    add_session(parser)
    add_turn(parser)
    add_window(parser)
    parser.add_argument(
        "--detailed", action="store_true", help="all findings, each with all of its evidence"
    )
    parser.add_argument(
        "--against", metavar="RUN", help="a run that went well: a session's id, or a trace file"
    )


def run(args: argparse.Namespace) -> int:
    """Explain the turn; without `--turn` the one that most likely broke first."""
    window = stated_window(args)
    chosen = selected(args, args.session)
    answer = explain(chosen.source, chosen.run, args.turn, agent=args.agent, window=window)
    beside = None
    if args.against is not None:
        opened = find_run(chosen.source, chosen.run)
        beside = compare_opened_turn(named_run(args, args.against), opened, answer.turn)
    if args.json:
        shape = as_json(answer)
        write_json(shape if beside is None else {**shape, "against": turn_beside_json(beside)})
    else:
        lines = [] if beside is None else [*beside_lines(beside), Line("")]
        write_lines([*lines, *explain_lines(answer, detailed=args.detailed)])
    return 0


def as_json(answer: Explanation) -> dict[str, Any]:
    """The turn's facts and the whole ranked list of findings."""
    run_of = run_json(answer.run)
    return {
        **run_of,
        "turn": answer.turn,
        "agent": answer.tokens.agent,
        "chosen_by": answer.chosen_by,
        "also_broken": [
            {"turn": one.turn, "agent": one.agent, "code": one.code} for one in answer.also_broken
        ],
        "turns_total": answer.turns_total,
        "findings": [finding_json(finding, run_of) for finding in answer.findings],
        "tokens": turn_json(answer.tokens),
        "window": answer.window,
        "outcome": answer.outcome,
        "diff": None if answer.diff is None else _sums(answer.diff),
    }


def _sums(diff: Diff) -> dict[str, Any]:
    return {
        "seq_old": diff.turn_a,
        "seq_new": diff.turn_b,
        "tokens_added": diff.tokens_added,
        "tokens_evicted": diff.tokens_evicted,
        "counts": diff.counts,
    }
