"""The JSON of two runs side by side."""

from __future__ import annotations

from typing import Any

from ctxdiff_mcp.answers.compare import Compared, ComparedTurn, DifferenceRow, SideRow
from ctxdiff_mcp.cli.shapes import block_json, run_json
from ctxdiff_mcp.gate.captured import Captured
from ctxdiff_mcp.gate.raw import raw
from ctxdiff_mcp.text.shown import masked_excerpt

EXCERPT_CHARS = 200


def compare_json(answer: Compared) -> dict[str, Any]:
    """Where they part, and everything that differs; texts as excerpts."""
    return {
        **run_json(answer.run_a),
        "run_new": answer.run_b.name,
        "session_id_new": answer.run_b.session_id,
        "agents": answer.agents,
        "only_old": answer.only_old,
        "only_new": answer.only_new,
        "first": answer.first and _difference(answer.first),
        "first_given": answer.first_given and _difference(answer.first_given),
        "counts": dict(answer.counts),
        "total": answer.total,
        "volatile_blocks": answer.volatile,
        "differences": [_difference(row) for row in answer.differences],
    }


def turn_beside_json(answer: ComparedTurn) -> dict[str, Any]:
    """A turn beside the run that went well."""
    return {
        **run_json(answer.other),
        "turn": answer.counterpart,
        "first": answer.first and _difference(answer.first),
        "new_here": [_difference(row) for row in answer.here],
    }


def _difference(row: DifferenceRow) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "seq_old": row.turn_old,
        "seq_new": row.turn_new,
        "agent": row.agent,
        "name": row.name,
        "first_diff_char": row.first_difference,
        "old": _side(row.old),
        "new": _side(row.new),
    }


def _side(side: SideRow | None) -> dict[str, Any] | None:
    if side is None:
        return None
    cut = Captured(raw(side.text)[side.start : side.start + EXCERPT_CHARS])
    return {
        "excerpt": masked_excerpt(cut, (side.text,)),
        "start": side.start,
        "position": side.position,
        "block": None if side.block is None else block_json(side.block),
    }
