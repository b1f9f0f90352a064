"""`ctxdiff-mcp stages`: what the program held before a turn, and what it left out."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_capture.errors import SelectionError

from ctxdiff_mcp.answers.stages import Stages, stages
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import add_common, add_turn, selected
from ctxdiff_mcp.cli.shapes import run_json
from ctxdiff_mcp.text.stages import stage_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One turn."""
    parser.add_argument("--session", metavar="ID", help="id of the session, or its start")
    add_turn(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Show what was said before the turn.

    Raises:
        SelectionError: no turn is named.
    """
    if args.turn is None:
        raise SelectionError("no turn is named", remedy="give --turn N")
    chosen = selected(args, args.session)
    answer = stages(chosen.source, chosen.run, args.turn)
    if args.json:
        write_json(as_json(answer))
    else:
        write_lines(stage_lines(answer))
    return 0


def as_json(answer: Stages) -> dict[str, Any]:
    """Everything that was said, in order."""
    return {
        **run_json(answer.run),
        "seq": answer.turn,
        "agent": answer.agent,
        "stages": answer.stages,
        "tool_results": answer.tool_results,
        "decisions": answer.decisions,
    }
