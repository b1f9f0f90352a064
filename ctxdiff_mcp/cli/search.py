"""`ctxdiff-mcp search`: where a text is, when it entered and left; where values came from."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_capture.errors import SelectionError

from ctxdiff_mcp.answers.provenance import Origins, provenance
from ctxdiff_mcp.answers.search import AtTurn, Left, Match, Search, search
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import add_common, add_session, add_turn, selected
from ctxdiff_mcp.cli.shapes import block_json, run_json
from ctxdiff_mcp.text.search import MOST_WAYS, origin_lines, search_lines
from ctxdiff_mcp.text.shown import masked_excerpt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The text, and where to look."""
    parser.add_argument(
        "query",
        nargs="?",
        metavar="TEXT",
        help="literal text, case-sensitive; without it the arguments of --turn's tool calls",
    )
    add_common(parser)
    add_session(parser)
    add_turn(parser)


def run(args: argparse.Namespace) -> int:
    """Show every block that holds the text; none is an answer too."""
    if not args.query and (args.query is not None or args.turn is None):
        raise SelectionError(
            "the text is empty",
            remedy="give the words to look for, or --turn for the arguments of its tool calls",
        )
    chosen = selected(args, args.session)
    if args.query is None:
        values = provenance(chosen.source, chosen.run, args.turn, agent=args.agent)
        if args.json:
            write_json(origins_json(values))
        else:
            write_lines(origin_lines(values))
        return 0
    answer = search(chosen.source, chosen.run, args.query, agent=args.agent, turn=args.turn)
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
        "agents_without": answer.without,
        "at_turn": answer.at and _at(answer.at),
        "matches": [_match(answer, match) for match in answer.matches],
    }


def _match(answer: Search, match: Match) -> dict[str, Any]:
    excerpt = answer.excerpt(match)
    text = masked_excerpt(excerpt.text, (answer.text(match),))
    return {
        "block": block_json(match.block),
        "agent": match.agent,
        "label": match.label,
        "first_seen": match.first_seen,
        "last_seen": match.last_seen,
        "input_turns": match.input_turns,
        "output_turns": match.output_turns,
        "events": [_event(answer, match, number) for number in range(len(match.events))],
        "positions": [{"seq": seq, "position": position} for seq, position in match.positions],
        "excerpt": {"text": text, "start": excerpt.start, "total": excerpt.total},
    }


def origins_json(answer: Origins) -> dict[str, Any]:
    """Where the values of a turn's tool calls came from."""
    return {
        **run_json(answer.run),
        "turn": answer.turn,
        "agent": answer.agent,
        "arguments": [
            {
                "tool": row.tool,
                "path": row.path,
                "value": row.value,
                "where": row.where,
                "block": row.block and block_json(row.block),
                "position": row.position,
                "first_seen": row.first_seen,
                "last_seen": row.last_seen,
                "left": row.left and _left(row.left),
            }
            for row in answer.rows
        ],
    }


def _event(answer: Search, match: Match, number: int) -> dict[str, Any]:
    event = match.events[number]
    shape: dict[str, Any] = {"seq": event.seq, "kind": event.kind}
    if event.kind == "left":
        left = answer.left(match, event) if number < MOST_WAYS else None
        shape |= {"way": left and left.way, "into": left and left.successor and _hash(left)}
    elif number:
        shape["came_back"] = True
    return shape


def _left(left: Left) -> dict[str, Any]:
    return {"turn": left.turn, "way": left.way, "into": _hash(left)}


def _hash(left: Left) -> str | None:
    return None if left.successor is None else left.successor.content_hash or None


def _at(at: AtTurn) -> dict[str, Any]:
    return {
        "turn": at.turn,
        "agent": at.agent,
        "in_context": bool(at.places),
        "places": [
            {"position": position, "block": block_json(block)} for block, position in at.places
        ],
        "last_block": at.last and block_json(at.last),
        "last_seen": at.last_seen,
        "left": at.left and _left(at.left),
    }
