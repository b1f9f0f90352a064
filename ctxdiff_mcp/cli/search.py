"""`ctxdiff-mcp search`: where a text is, when it entered and when it left."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_capture.errors import SelectionError

from ctxdiff_mcp.answers.search import Match, Search, search
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import add_common, add_session, selected
from ctxdiff_mcp.cli.shapes import block_json, run_json
from ctxdiff_mcp.text.search import search_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The text, and where to look."""
    parser.add_argument("query", metavar="TEXT", help="literal text, case-sensitive")
    add_common(parser)
    add_session(parser)


def run(args: argparse.Namespace) -> int:
    """Show every block that holds the text; none is an answer too."""
    if not args.query:
        raise SelectionError("the text is empty", remedy="give the words to look for")
    chosen = selected(args, args.session)
    answer = search(chosen.source, chosen.run, args.query, agent=args.agent)
    if args.json:
        write_json(as_json(answer))
    else:
        write_lines(search_lines(answer))
    return 0


def as_json(answer: Search) -> dict[str, Any]:
    """Every block that holds the text, ascending by first turn."""
    return {
        **run_json(answer.run),
        "agent": answer.agent,
        "last_turn": answer.last_turn,
        "matches": [_match(answer, match) for match in answer.matches],
    }


def _match(answer: Search, match: Match) -> dict[str, Any]:
    excerpt = answer.excerpt(match)
    return {
        "block": block_json(match.block),
        "agent": match.agent,
        "label": match.label,
        "first_seen": match.first_seen,
        "last_seen": match.last_seen,
        "input_turns": match.input_turns,
        "output_turns": match.output_turns,
        "events": match.events,
        "positions": [{"seq": seq, "position": position} for seq, position in match.positions],
        "excerpt": excerpt,
    }
