"""`ctxdiff-mcp runs`: which runs there are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ctxdiff_mcp.answers.runs import RunRow, Runs, runs
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import add_common, project_path
from ctxdiff_mcp.cli.shapes import run_json
from ctxdiff_mcp.text.runs import run_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One trace, or a folder of them."""
    add_common(parser)
    parser.add_argument("--runs-dir", metavar="DIR", help="list the traces below this folder")


def run(args: argparse.Namespace) -> int:
    """List the runs; none is an answer too."""
    folder = Path(args.runs_dir).expanduser() if args.runs_dir else project_path(args.project)
    answer = runs(Source(folder))
    if args.json:
        write_json(as_json(answer))
    else:
        write_lines(run_lines(answer))
    return 0


def as_json(answer: Runs) -> dict[str, Any]:
    """The list, newest first."""
    return {
        "runs": [_row(row) for row in answer.rows],
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
