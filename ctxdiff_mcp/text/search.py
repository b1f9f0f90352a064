"""Where a text stands, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_mcp.answers.provenance import OriginRow, Origins
from ctxdiff_mcp.answers.search import AtTurn, Left, Match, Search
from ctxdiff_mcp.answers.words import WAYS
from ctxdiff_mcp.text.block import numbers
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import block_name, cut, masked_excerpt, name, snippet

EXCERPT_CHARS = 160
MOST_WAYS = 40
"""Events of a block for which it is worked out how it left."""


def search_lines(answer: Search) -> list[Line]:
    """Two or three lines per block that holds the text, ascending by first turn."""
    lines: list[Line] = []
    if answer.at is not None:
        lines.append(_at(answer.at))
    if not answer.matches:
        lines.append(Line(f"in no block of turns up to {answer.last_turn}", "dim"))
    for match in answer.matches:
        lines += _match(answer, match)
    if answer.without:
        lines.append(Line(f"never given to: {', '.join(map(name, answer.without))}", "warn"))
    return lines


def origin_lines(answer: Origins) -> list[Line]:
    """One line per value of the turn's tool calls."""
    who = f" [{name(answer.agent)}]" if answer.agent else ""
    if not answer.rows:
        return [Line(f"turn {answer.turn}{who} called no tool with values to look for", "dim")]
    return [
        Line(f"turn {answer.turn}{who} · where the arguments of its tool calls came from"),
        *(_origin(row) for row in answer.rows),
    ]


def _match(answer: Search, match: Match) -> Iterator[Line]:
    label = f"{name(match.label)}·" if match.label else ""
    agent = f" · {name(match.agent)}" if match.agent else ""
    yield Line(f"{block_name(match.block)} [{label}{match.block.role}]{agent}")
    yield Line(f"  {_history(answer, match)}")
    excerpt = masked_excerpt(answer.excerpt(match).text, (answer.text(match),))
    yield Line(f"  {snippet(excerpt, EXCERPT_CHARS)}", "dim")


def _history(answer: Search, match: Match) -> str:
    parts = []
    for number, event in enumerate(match.events):
        if event.kind == "entered":
            parts.append(f"{'came back' if number else 'entered'} at turn {event.seq}")
        else:
            way = _way(answer.left(match, event)) if number < MOST_WAYS else ""
            parts.append(f"left at turn {event.seq}{way}")
    if match.output_turns:
        parts.insert(0, f"the answer of turn {numbers(match.output_turns)}")
    if match.events and match.events[-1].kind == "entered":
        parts.append(f"still there at turn {match.last_seen}, its agent's last")
    return ", ".join(parts)


def _way(left: Left | None) -> str:
    if left is None:
        return ""
    into = "" if left.successor is None else f" {block_name(left.successor)}"
    return f" ({WAYS[left.way]}{into})"


def _at(at: AtTurn) -> Line:
    if at.places:
        listed = ", ".join(f"{block_name(block)} at {place}" for block, place in at.places)
        return Line(f"turn {at.turn}: in context, {listed}", "good")
    if at.last is None:
        return Line(f"turn {at.turn}: not in context, and never before", "warn")
    left = "" if at.left is None else f", left at turn {at.left.turn}{_way(at.left)}"
    last = f"last in turn {at.last_seen} as {block_name(at.last)}"
    return Line(f"turn {at.turn}: not in context, {last}{left}", "warn")


def _origin(row: OriginRow) -> Line:
    what = f"  {cut(row.tool)} {cut(row.path)} = {snippet(row.value)}"
    if row.block is None:
        return Line(f"{what} · in nothing that the agent was given or said", "warn")
    said = "its own words in " if row.block.role == "assistant" else ""
    source = f"{said}{block_name(row.block)} [{row.block.role}]"
    if row.left is None and row.position is not None:
        return Line(f"{what} · {source} at {row.position}, since turn {row.first_seen}")
    left = "" if row.left is None else f", left at turn {row.left.turn}{_way(row.left)}"
    return Line(f"{what} · {source}, not in context: last in turn {row.last_seen}{left}", "warn")
