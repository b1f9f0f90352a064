"""What a program held and decided before a turn, for a terminal."""

from __future__ import annotations

from ctxdiff_mcp.answers.stages import DecisionRow, StageChange, StageRow, Stages
from ctxdiff_mcp.text.lines import Line, Style
from ctxdiff_mcp.text.shown import approx, cut, name, snippet

_MARKS: dict[str, tuple[str, Style]] = {
    "evicted": ("- held, not sent", "evicted"),
    "added": ("+ put in", "added"),
    "modified": ("~ sent otherwise", "modified"),
}


def stage_lines(answer: Stages) -> list[Line]:
    """Each stage with its changes, then tool results and decisions."""
    who = f" · {name(answer.agent)}" if answer.agent else ""
    lines = [Line(f"── before turn {answer.turn}{who} ──")]
    for stage in answer.stages:
        lines += _stage(stage)
    if answer.tool_results:
        lines.append(Line("tool results as the tools gave them, before they were changed:"))
        lines += [Line(f"  {snippet(text)}") for text in answer.tool_results]
    if answer.decisions:
        lines.append(Line("decisions of the program:"))
        lines += [Line(f"  {_decision(decision)}") for decision in answer.decisions]
    if len(lines) == 1:
        lines.append(Line("the program said nothing before this turn", "dim"))
    return lines


def _stage(stage: StageRow) -> list[Line]:
    counts, mark = stage.counts, approx(exact=stage.exact)
    head = (
        f"{cut(stage.name)}: {counts.evicted} blocks removed (-{stage.tokens_evicted} tok{mark}),"
        f" {counts.added} put in (+{stage.tokens_added} tok{mark}),"
        f" {counts.modified} edited, {counts.unchanged} kept"
    )
    return [Line(head), *map(_change, stage.changes)]


def _change(change: StageChange) -> Line:
    mark, style = _MARKS[change.kind]
    size = f"{change.tokens} tok{approx(exact=change.exact)}"
    label = f"[{name(change.label)}·{change.role}]"
    return Line(f"  {mark}: {label} {snippet(change.text)} {size}", style)


def _decision(row: DecisionRow) -> str:
    facts = [
        None if row.rank is None else f"rank {row.rank}",
        None if row.tokens is None else f"{row.tokens} tok",
        None if row.reason is None else snippet(row.reason),
    ]
    said = "; ".join(fact for fact in facts if fact is not None)
    text = f"{snippet(row.candidate)} {cut(row.disposition)}"
    return f"{text} ({said})" if said else text
