"""Two runs side by side, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_mcp.answers.compare import (
    AgentsCompared,
    Compared,
    ComparedTurn,
    DifferenceRow,
    SideRow,
)
from ctxdiff_mcp.answers.words import DIFFERENCES
from ctxdiff_mcp.gate.captured import Captured
from ctxdiff_mcp.gate.raw import raw
from ctxdiff_mcp.text.lines import Line, Style
from ctxdiff_mcp.text.shown import cut, masked_excerpt, name, shown, snippet

EXCERPT_CHARS = 120


def compare_lines(answer: Compared) -> list[Line]:
    """Where they part, with both sides, then each later difference on a line."""
    lines = [*_heading(answer)]
    if answer.first is None:
        lines.append(Line("no difference in what was sent and answered", "good"))
    else:
        lines += _told("they part at", answer.first)
        if answer.first_given is not None:
            lines += _told("first difference in what the model was given:", answer.first_given)
        later = answer.differences[1:]
        if later:
            counts = " · ".join(f"{kind} {count:,}" for kind, count in answer.counts.items())
            lines += [Line(""), Line(f"{answer.total:,} differences: {counts}")]
            lines += [Line(f"  {_where(row)}", "dim") for row in later]
        if answer.total > len(answer.differences):
            rest = answer.total - len(answer.differences)
            lines.append(Line(f"  … and {rest:,} more", "dim"))
    if answer.volatile:
        lines.append(Line(f"{answer.volatile:,} blocks differ in ids, dates or times only", "dim"))
    return lines


def beside_lines(answer: ComparedTurn) -> list[Line]:
    """A turn beside the run that went well."""
    run = shown(raw(answer.other.session_id)[:12])
    turn = "no such turn" if answer.counterpart is None else f"its turn {answer.counterpart}"
    lines = [Line(f"── turn {answer.turn} beside {run}: {turn} ──")]
    if answer.first is None:
        return [*lines, Line("the two runs agree up to here", "good")]
    lines += _told("they part at", answer.first)
    lines += [Line(f"  {_where(row)}", "dim") for row in answer.here if row != answer.first]
    return lines


def _heading(answer: Compared) -> Iterator[Line]:
    sides = [shown(raw(run.session_id)[:12]) for run in (answer.run_a, answer.run_b)]
    if answer.run_a == answer.run_b:
        sides = [name(answer.asked_a), name(answer.asked_b)]
    yield Line(f"── {sides[0]}  →  {sides[1]} ──")
    for one in answer.agents:
        turns = f"{one.turns_old} and {one.turns_new} turns, {one.alike} alike"
        yield Line(f"{_agents(one)} · {turns}")
    for word, names in (("first", answer.only_old), ("second", answer.only_new)):
        if names:
            yield Line(f"only the {word} has: {', '.join(map(name, names))}", "warn")


def _agents(one: AgentsCompared) -> str:
    return name(one.old) if one.old == one.new else f"{name(one.old)} / {name(one.new)}"


def _told(words: str, row: DifferenceRow) -> Iterator[Line]:
    yield Line("")
    yield Line(f"{words} {_where(row)}", "warn")
    styles: list[tuple[str, SideRow | None, Style]] = [
        ("−", row.old, "evicted"),
        ("+", row.new, "added"),
    ]
    for sign, side, style in styles:
        if side is not None:
            cut = Captured(raw(side.text)[side.start : side.start + 8 * EXCERPT_CHARS])
            text = masked_excerpt(cut, (side.text,))
            dots = "…" if side.start else ""
            yield Line(f"{sign} {dots}{snippet(text, EXCERPT_CHARS)}", style)


def _where(row: DifferenceRow) -> str:
    if row.turn_old is None:
        where = f"turn {row.turn_new} of the second"
    elif row.turn_new is None:
        where = f"turn {row.turn_old} of the first"
    elif row.turn_old == row.turn_new:
        where = f"turn {row.turn_old}"
    else:
        where = f"turns {row.turn_old} and {row.turn_new}"
    agent = f" [{name(row.agent)}]" if row.agent else ""
    what = DIFFERENCES[row.kind] + ("" if row.name is None else f" {cut(row.name)}")
    place = (
        "" if row.first_difference is None else f" · first at character {row.first_difference:,}"
    )
    return f"{where}{agent}: {what}{place}"
