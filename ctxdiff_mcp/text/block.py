"""One block whole, or a turn's list of blocks, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ctxdiff_mcp.answers.block import BlockText, Placed, TurnBlocks
from ctxdiff_mcp.answers.refs import BlockRef
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import approx, block_name, name, paragraphs


def block_lines(answer: BlockText) -> list[Line]:
    """Where the block stands, then its text."""
    label = f"{name(answer.label)}·" if answer.label else ""
    head = f"── {block_name(answer.block)} [{label}{answer.block.role}] {_size(answer.block)}"
    lines = [Line(f"{head} ──")]
    if answer.input_turns:
        lines.append(Line(f"in the input of turns {numbers(answer.input_turns)}", "dim"))
    if answer.output_turns:
        lines.append(Line(f"the answer of turns {numbers(answer.output_turns)}", "dim"))
    return [*lines, Line(""), *map(Line, paragraphs(answer.text))]


def turn_block_lines(answer: TurnBlocks) -> list[Line]:
    """One line per block, input before output."""
    who = f" · {name(answer.agent)}" if answer.agent else ""
    lines = [Line(f"── turn {answer.turn}{who} · {len(answer.blocks)} blocks ──")]
    lines += [Line(_row(placed)) for placed in answer.blocks]
    if not answer.has_outputs:
        lines.append(Line("the file holds no answers", "dim"))
    return lines


def _row(placed: Placed) -> str:
    label = f"{name(placed.label)}{'*' if placed.tagged else ''}" if placed.label else "-"
    place = f"{placed.side:6} {placed.position:4}"
    kind = f"{placed.block.role:10} {placed.block.kind:13}"
    return f"{place}  {block_name(placed.block):12}  {kind} {label:14} {_size(placed.block)}"


def _size(block: BlockRef) -> str:
    return f"{block.tokens} tok{approx(exact=block.exact)}"


def numbers(turns: Sequence[int]) -> str:
    """Turns in short form: `1-4, 7`."""
    spans: list[list[int]] = []
    for turn in turns:
        if spans and turn == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], turn]
        else:
            spans.append([turn])
    return ", ".join("-".join(map(str, span)) for span in spans)
