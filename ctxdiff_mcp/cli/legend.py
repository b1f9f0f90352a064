"""`ctxdiff-mcp legend`: what the handles of redact mode stand for, printed for the human alone."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_capture.errors import TraceNotFound

from ctxdiff_mcp.answers.legend import Legend, legend
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.answers.where import at_home
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import add_common, one_session, project_path
from ctxdiff_mcp.text.legend import legend_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The served folder or file, and the session whose agents, labels and blocks are listed."""
    parser.add_argument(
        "--session", metavar="ID", help="handle (`r2`), or id or its start; else the newest run"
    )
    add_common(parser)
    parser.add_argument("--runs-dir", metavar="DIR", help="the folder that is served")


def run(args: argparse.Namespace) -> int:
    """Print the legend.

    Raises:
        SelectionError: several sessions fit, or none.
        StoreError: there is no trace, or it cannot be read.
    """
    folder = at_home(args.runs_dir) if args.runs_dir else project_path(args.project)
    source = Source(folder)
    runs = source.listing().runs
    if not runs:
        raise TraceNotFound(
            "no readable trace here", remedy="name the served folder with --runs-dir"
        )
    by_handle = [one for one in runs if args.session in (None, one.ref.name.handle)]
    answer = legend(source, by_handle[0] if by_handle else one_session(runs, args.session))
    if args.json:
        write_json(as_json(answer))
    else:
        write_lines(legend_lines(answer))
    return 0


def as_json(answer: Legend) -> dict[str, Any]:
    """Handle to what it stands for, one object per kind."""
    return {
        "runs": {
            one.run.name.handle: {
                "run": one.run.name,
                "session_id": one.run.session_id,
                "started_at": one.started_at,
                "turn_count": one.turns,
            }
            for one in answer.runs
        },
        "files": {bad.name.handle: bad.name for bad in answer.unreadable},
        "run": answer.run.name,
        "agents": {name.handle: name for name in answer.agents},
        "labels": {name.handle: name for name in answer.labels},
        "blocks": {
            f"b{row.block.ordinal}": {
                "content_hash": row.block.content_hash or None,
                "role": row.block.role,
                "kind": row.block.kind,
                "first_turn": row.first_turn,
                "tools": row.tools,
            }
            for row in answer.blocks
        },
    }
