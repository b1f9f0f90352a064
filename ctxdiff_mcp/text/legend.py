"""The legend of redact mode, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_mcp.answers.legend import Legend, LegendBlock
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import block_name, shown


def legend_lines(answer: Legend) -> Iterator[Line]:
    """One line per handle: runs, then the session's agents, labels and blocks."""
    yield Line("what the handles of `--redact` stand for; keep it from whom you redact for")
    for run in answer.runs:
        name = run.run.name
        began = f", started {run.started_at}" if run.started_at else ""
        turns = f"{run.turns} turn{'' if run.turns == 1 else 's'}"
        yield Line(f"{name.handle:5} run {shown(name.text)}, {turns}{began}")
    for bad in answer.unreadable:
        yield Line(f"{bad.name.handle:5} file {shown(bad.name.text)} ({bad.reason})", "warn")
    yield Line(f"in run {shown(answer.run.name.text)}:", "dim")
    for word, names in (("agent", answer.agents), ("label", answer.labels)):
        for name in names:
            yield Line(f"{name.handle:5} {word} {shown(name.text)}")
    for row in answer.blocks:
        yield Line(_block(row))


def _block(row: LegendBlock) -> str:
    block = row.block
    line = f"{f'b{block.ordinal}':5} block {block_name(block)} {block.role} {block.kind}"
    if row.first_turn is not None:
        line += f", from turn {row.first_turn}"
    return f"{line}, tools {', '.join(map(shown, row.tools))}" if row.tools else line
