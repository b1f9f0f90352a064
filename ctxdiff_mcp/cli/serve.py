"""`ctxdiff-mcp serve`: the MCP server, on stdin and stdout."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ctxdiff_capture.errors import SelectionError

from ctxdiff_mcp.answers.where import at_home
from ctxdiff_mcp.cli.numbers import whole_number
from ctxdiff_mcp.cli.prices import add_prices
from ctxdiff_mcp.server import serve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which traces are served, and how much may leave."""
    parser.add_argument(
        "--runs-dir",
        type=Path,
        metavar="DIR",
        help="serve the traces below this folder; else CTXDIFF_STORE, else the opened project",
    )
    parser.add_argument(
        "--redact",
        nargs="?",
        const="all",
        default="off",
        choices=["all", "text"],
        help="withhold every recorded word; `text` lets short plain names out",
    )
    parser.add_argument(
        "--redact-counts",
        default="exact",
        choices=["exact", "bucket"],
        help="with --redact: token counts as they are, or to two significant digits",
    )
    parser.add_argument(
        "--no-secret-tags",
        dest="secret_tags",
        action="store_false",
        help="show credentials as recorded, not as tags ([secret:aws-key#1])",
    )
    parser.add_argument(
        "--max-bytes", type=whole_number, metavar="N", help="of an answer by default (8000)"
    )
    parser.add_argument(
        "--max-bytes-ever", type=whole_number, metavar="N", help="of an answer (20000)"
    )
    add_prices(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until stdin ends.

    Raises:
        SelectionError: a limit is out of range, the environment's store cannot be served, or the
            price list is none.
    """
    if sys.stdin.isatty():
        print("ctxdiff-mcp: serving MCP on stdin; `ctxdiff-mcp --help` tells more", file=sys.stderr)
    if args.redact_counts == "bucket" and args.redact == "off":
        raise SelectionError("--redact-counts is for redact mode", remedy="add --redact")
    try:
        serve(
            args.runs_dir,
            args.redact,
            redact_counts=args.redact_counts,
            secret_tags=args.secret_tags,
            default_cap=args.max_bytes,
            hard_cap=args.max_bytes_ever,
            prices=at_home(args.prices) if args.prices else None,
        )
    except ValueError as problem:
        raise SelectionError(str(problem), remedy="leave --max-bytes out") from None
    return 0
