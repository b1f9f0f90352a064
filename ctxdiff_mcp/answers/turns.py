"""One turn's own facts, as every answer about turns shows them."""

from __future__ import annotations

from dataclasses import dataclass

from ctxdiff_analyzers.timeline import Turn
from ctxdiff_analyzers.tokens import TurnTokens
from ctxdiff_capture.model import Usage

from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import instant
from ctxdiff_mcp.gate.captured import Captured, Name, captured


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call went. None is: not recorded, or did not happen."""

    started_at: str | None
    """`2026-11-30T11:39:03Z`."""
    provider: Captured | None
    model: Captured | None
    """The one that answered, otherwise the one that was asked."""
    finish_reason: Captured | None
    error: Captured | None
    """Class name of the error; None on success."""
    error_message: Captured | None
    error_status: int | None
    attempts: int | None
    """How often the request was sent."""
    latency_ms: int | None
    first_byte_ms: int | None
    usage: Usage


@dataclass(frozen=True, slots=True)
class LabelTokens:
    """A label's share of one turn."""

    label: Name
    tokens: int
    blocks: int
    pct: float
    """Of the turn's total, 0.0 to 100.0 with one decimal."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """The tokens of one turn's input."""

    turn: int
    agent: Name | None
    step: Captured | None
    total_tokens: int
    exact: bool
    """False when any count is an estimate."""
    unmeasured_blocks: int
    """Blocks of unknown cost; when not 0 the total is a floor."""
    labels: tuple[LabelTokens, ...]
    """Most tokens first."""
    usage: Usage
    """As the provider billed it."""
    usage_delta: int | None
    """Prompt tokens as billed minus the total; None where either is not known."""


def outcome(turn: Turn) -> Outcome:
    """How the call of `turn` went."""
    call = turn.call
    asked = call.params.get("model")
    model = call.response_model or (asked if isinstance(asked, str) else None)
    return Outcome(
        started_at=instant(call.started_at),
        provider=captured(call.provider),
        model=captured(model),
        finish_reason=captured(call.finish_reason),
        error=captured(call.error),
        error_message=captured(call.error_message),
        error_status=call.error_status,
        attempts=call.attempts,
        latency_ms=call.latency_ms,
        first_byte_ms=call.first_byte_ms,
        usage=turn.usage,
    )


def turn_row(run: OpenRun, turn: TurnTokens) -> TurnRow:
    """One turn's tokens by label."""
    return TurnRow(
        turn=turn.seq,
        agent=run.agent(turn.agent),
        step=captured(turn.step),
        total_tokens=turn.total_tokens,
        exact=not turn.approximate,
        unmeasured_blocks=turn.unmeasured_blocks,
        labels=tuple(
            LabelTokens(run.label(part.label), part.tokens, part.block_count, part.pct)
            for part in turn.slices
        ),
        usage=turn.usage,
        usage_delta=turn.reconciliation_delta,
    )
