"""The list of recorded runs, for a terminal."""

from __future__ import annotations

from ctxdiff_mcp.answers.runs import RunRow, Runs
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import name, shown


def run_lines(answer: Runs, older: int = 0) -> list[Line]:
    """One line per run, newest first, how many `older` ones there are, what could not be read."""
    lines = [Line(_row(row)) for row in answer.rows]
    if older:
        lines.append(Line(f"… and {older:,} older; --all lists them", "dim"))
    lines += [
        Line(f"{name(bad.name)}  cannot be read: {bad.reason.replace('_', ' ')}", "bad")
        for bad in answer.unreadable
    ]
    if not answer.complete:
        lines.append(Line("the folder holds more files than are looked at", "warn"))
    return lines or [Line("no trace here: record one, or name it with --project FILE", "dim")]


def _row(row: RunRow) -> str:
    agents = ", ".join(name(agent) for agent in row.agents) or "-"
    parts = [
        shown(row.run.name.text),
        row.started_at or "-",
        f"project={name(row.project)}",
        f"provider={name(row.provider)}",
        f"turns={row.turns}",
        f"agents={agents}",
    ]
    return "  ".join(parts)
