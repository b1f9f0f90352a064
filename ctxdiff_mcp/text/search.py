"""Where a text stands, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_mcp.answers.search import Match, Search
from ctxdiff_mcp.text.block import numbers
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import block_name, name, snippet

EXCERPT_CHARS = 160


def search_lines(answer: Search) -> list[Line]:
    """Two or three lines per block that holds the text, ascending by first turn."""
    if not answer.matches:
        return [Line(f"in no block of turns up to {answer.last_turn}", "dim")]
    lines: list[Line] = []
    for match in answer.matches:
        lines += _match(answer, match)
    return lines


def _match(answer: Search, match: Match) -> Iterator[Line]:
    label = f"{name(match.label)}·" if match.label else ""
    agent = f" · {name(match.agent)}" if match.agent else ""
    yield Line(f"{block_name(match.block)} [{label}{match.block.role}]{agent}")
    yield Line(f"  {_history(match)}")
    yield Line(f"  {snippet(answer.excerpt(match).text, EXCERPT_CHARS)}", "dim")


def _history(match: Match) -> str:
    parts = [f"{event.kind} at turn {event.seq}" for event in match.events]
    if match.output_turns:
        parts.insert(0, f"the answer of turn {numbers(match.output_turns)}")
    if match.events and match.events[-1].kind == "entered":
        parts.append(f"still there at turn {match.last_seen}, its agent's last")
    return ", ".join(parts)
