"""The JSON of what several commands show. Field names are those of the analyzers' contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxdiff_mcp.answers.findings import FindingRow
from ctxdiff_mcp.answers.refs import BlockRef, RunRef
from ctxdiff_mcp.answers.turns import TurnRow
from ctxdiff_mcp.cli.output import plain
from ctxdiff_mcp.gate.captured import Captured
from ctxdiff_mcp.text.shown import masked_excerpt


def run_json(run: RunRef) -> dict[str, Any]:
    """The run's handle and the id of its session."""
    return {"run": run.name, "session_id": run.session_id}


def block_json(block: BlockRef, text: Captured | None = None) -> dict[str, Any]:
    """A block; its text only where it was asked for."""
    shape: dict[str, Any] = {
        "content_hash": block.content_hash or None,
        "role": block.role,
        "kind": block.kind,
        "token_count": block.tokens,
        "token_method": "tiktoken" if block.exact else "estimate",
    }
    return shape if text is None else {**shape, "text": text}


def turn_json(row: TurnRow) -> dict[str, Any]:
    """The tokens of one turn."""
    return {
        "seq": row.turn,
        "agent": row.agent,
        "step": row.step,
        "total_tokens": row.total_tokens,
        "approximate": not row.exact,
        "unmeasured_blocks": row.unmeasured_blocks,
        "slices": [
            {
                "label": part.label,
                "tokens": part.tokens,
                "block_count": part.blocks,
                "pct": part.pct,
            }
            for part in row.labels
        ],
        "provider_usage": row.usage,
        "reconciliation_delta": row.usage_delta,
    }


def finding_json(finding: FindingRow, run: Mapping[str, Any]) -> dict[str, Any]:
    """A finding, with evidence enough to check it and the next call ready to send."""
    following = finding.next
    origins = finding.origins()
    return {
        "code": finding.code,
        "cause": finding.cause,
        "turn": finding.turn,
        "since": finding.since,
        "agent": finding.agent,
        "severity": finding.severity,
        "certainty": finding.certainty,
        "evidence": {
            "content_hashes": [block.content_hash for block in finding.blocks],
            "positions": finding.positions,
            "first_difference": finding.first_difference,
            "names": [masked_excerpt(text, origins) for text in finding.names],
            "excerpts": [masked_excerpt(text, origins) for text in finding.excerpts],
            "counts": dict(finding.counts),
            "path": finding.path,
            "reusable": finding.reusable,
        },
        "tokens": finding.tokens,
        "tokens_method": finding.tokens_method,
        "why": finding.why,
        "next": following
        and {
            "tool": following.tool,
            "arguments": {"run": plain(run["run"]), **dict(following.arguments)},
        },
    }
