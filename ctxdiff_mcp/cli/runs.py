"""`ctxdiff-mcp runs`: which runs there are."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from ctxdiff_capture.errors import SelectionError

from ctxdiff_mcp.answers.runs import RunRow, Runs, runs
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.answers.where import at_home
from ctxdiff_mcp.cli.numbers import whole_number
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import add_common, project_path
from ctxdiff_mcp.cli.shapes import run_json
from ctxdiff_mcp.text.runs import run_lines

NEWEST = 50
"""Runs that are listed unless more are asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One trace, or a folder of them; the newest runs unless all are asked for."""
    add_common(parser)
    many = parser.add_mutually_exclusive_group()
    many.add_argument(
        "--limit",
        type=whole_number,
        default=NEWEST,
        metavar="N",
        help="how many (50), newest first",
    )
    many.add_argument("--all", action="store_true", help="list all of them")
    parser.add_argument("--runs-dir", metavar="DIR", help="list the traces below this folder")


def run(args: argparse.Namespace) -> int:
    """List the runs; none is an answer too.

    Raises:
        SelectionError: the limit is negative.
    """
    if args.limit < 0:
        raise SelectionError("--limit is negative", remedy="give 0 or more, or --all")
    folder = at_home(args.runs_dir) if args.runs_dir else project_path(args.project)
    found = runs(Source(folder))
    answer = found if args.all else replace(found, rows=found.rows[: args.limit])
    if args.json:
        write_json(as_json(answer, len(found.rows)))
    else:
        write_lines(run_lines(answer, len(found.rows) - len(answer.rows)))
    return 0


def as_json(answer: Runs, total: int) -> dict[str, Any]:
    """The list, newest first; `total` runs are there."""
    return {
        "runs": [_row(row) for row in answer.rows],
        "total": total,
        "unreadable": [{"file": bad.name, "reason": bad.reason} for bad in answer.unreadable],
        "complete": answer.complete,
    }


def _row(row: RunRow) -> dict[str, Any]:
    return {
        **run_json(row.run),
        "project": row.project,
        "started_at": row.started_at,
        "provider": row.provider,
        "models": row.models,
        "agents": row.agents,
        "turn_count": row.turns,
    }
