"""`ctxdiff-mcp block`: what a block says, and which blocks a turn has."""

from __future__ import annotations

import argparse
from typing import Any

from ctxdiff_capture.errors import SelectionError

from ctxdiff_mcp.answers.block import BlockText, Placed, TurnBlocks, block, turn_blocks
from ctxdiff_mcp.cli.numbers import whole_number
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import add_common, add_turn, selected
from ctxdiff_mcp.cli.shapes import block_json, run_json
from ctxdiff_mcp.text.block import block_lines, turn_block_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A block by its hash, or by turn and position; only a turn lists its blocks."""
    parser.add_argument(
        "content_hash", nargs="?", metavar="HASH", help="6 or more digits of a content hash"
    )
    parser.add_argument("--position", type=whole_number, metavar="P", help="place in the turn")
    parser.add_argument("--session", metavar="ID", help="id of the session, or its start")
    add_turn(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Show the block whole, or the turn's list."""
    if args.content_hash is None and args.turn is None:
        raise SelectionError("no block is named", remedy="give HASH, or --turn N [--position P]")
    chosen = selected(args, args.session)
    if args.content_hash is None and args.position is None:
        listed = turn_blocks(chosen.source, chosen.run, args.turn)
        if args.json:
            write_json(list_json(listed))
        else:
            write_lines(turn_block_lines(listed))
        return 0
    answer = block(
        chosen.source, chosen.run, args.content_hash, turn=args.turn, position=args.position
    )
    if args.json:
        write_json(as_json(answer))
    else:
        write_lines(block_lines(answer))
    return 0


def as_json(answer: BlockText) -> dict[str, Any]:
    """The block with its text and the turns that have it."""
    shape = block_json(answer.block, answer.text)
    shape["role"] = answer.role_in_file or shape["role"]
    shape["kind"] = answer.kind_in_file or shape["kind"]
    return {
        **run_json(answer.run),
        **shape,
        "label": answer.label,
        "input_turns": answer.input_turns,
        "output_turns": answer.output_turns,
    }


def list_json(answer: TurnBlocks) -> dict[str, Any]:
    """The turn's blocks in order, answers apart from what was sent."""
    return {
        **run_json(answer.run),
        "seq": answer.turn,
        "agent": answer.agent,
        "outcome": answer.outcome,
        "inputs": [_placed(placed) for placed in answer.blocks if placed.side == "input"],
        "outputs": [_placed(placed) for placed in answer.blocks if placed.side == "output"],
        "has_outputs": answer.has_outputs,
    }


def _placed(placed: Placed) -> dict[str, Any]:
    return {
        "position": placed.position,
        "label": placed.label,
        "label_source": "tagged" if placed.tagged else "heuristic",
        "block": block_json(placed.block),
    }
