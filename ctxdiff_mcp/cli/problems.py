"""What a problem looks like on the terminal, and the exit status that it gives."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ctxdiff_capture.errors import CtxdiffError, SelectionError

from ctxdiff_mcp.answers.asking import Choices, Problem, Unanswerable
from ctxdiff_mcp.cli.output import complain, write_json, write_lines
from ctxdiff_mcp.cli.select import NeedsChoice
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import block_name, cut

FAILED: frozenset[Problem] = frozenset(
    {
        "unknown_turn",
        "turn_of_another_agent",
        "unknown_block",
        "ambiguous_block",
        "hash_too_short",
        "unknown_position",
    }
)
"""The question was well formed and the record has no such thing: 1. The others are wrong use: 2."""
MAX_CHOICES = 40


def status_of(problem: CtxdiffError, args: argparse.Namespace) -> int:
    """Print the problem, its remedy and what would have fitted; the exit status."""
    if isinstance(problem, Unanswerable):
        if problem.code == "empty_run":
            # Nothing to tell is an answer, not a failure.
            _nothing_to_tell(problem, args)
            return 0
        asked = f" ({args.asked})" if "asked" in args else ""
        rows = _choices(problem.choices)
        complain(problem.problem + asked, remedy=problem.remedy, rows=rows)
        return 1 if problem.code in FAILED else 2
    rows = problem.rows if isinstance(problem, NeedsChoice) else ()
    complain(problem.problem, remedy=problem.remedy, rows=rows)
    return 2 if isinstance(problem, SelectionError) else 1


def _nothing_to_tell(problem: Unanswerable, args: argparse.Namespace) -> None:
    if getattr(args, "json", False):
        write_json({"note": problem.problem})
    else:
        write_lines([Line(problem.problem, "dim")])


def _choices(choices: Choices) -> Sequence[str]:
    found = [cut(name.text) for name in choices.names[:MAX_CHOICES]]
    found += [block_name(block) for block in choices.blocks]
    if choices.numbers:
        found.append(", ".join(map(str, choices.numbers[:MAX_CHOICES])))
        if len(choices.numbers) > MAX_CHOICES:
            found[-1] += f", … {choices.numbers[-1]}"
    return found[:MAX_CHOICES]
