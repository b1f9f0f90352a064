"""What the provider billed, per call, agent, step and run; each call once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_capture.model import Usage

from ctxdiff_analyzers.doubles import doubles
from ctxdiff_analyzers.timeline import Timeline, Turn

By: TypeAlias = Literal["call", "agent", "step", "model", "run"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over some calls. Tokens are those of the calls that reported usage."""

    calls: int = 0
    """Each once, however often it was recorded or sent."""
    reported: int = 0
    """Calls for which the provider reported usage."""
    failed: int = 0
    """Calls that failed and reported none: as a rule they were not billed."""
    doubles: int = 0
    """Further records of the same calls, which are in no other number."""
    prompt: int = 0
    """Whole prompts, cached parts included."""
    uncached: int = 0
    """Part of `prompt` that was neither read from the cache nor written to it."""
    cache_read: int = 0
    cache_write: int = 0
    cache_write_5m: int = 0
    """Part of `cache_write` that the provider said lives for five minutes."""
    cache_write_1h: int = 0
    """Part of `cache_write` that the provider said lives for an hour."""
    output: int = 0
    """Reasoning included."""
    reasoning: int = 0

    @property
    def cache_write_other(self) -> int:
        """Written tokens of which the provider did not say how long they live."""
        return max(self.cache_write - self.cache_write_5m - self.cache_write_1h, 0)

    @property
    def silent(self) -> int:
        """Calls that succeeded and for which no usage was reported."""
        return self.calls - self.reported - self.failed


@dataclass(frozen=True, slots=True)
class ModelTally:
    """The calls of one model."""

    model: str | None
    """None where the record names none. Captured text."""
    tally: Tally


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One call, or the calls of one agent, step or model, or all."""

    seq: int | None
    """The call; None for a sum."""
    agent: str | None
    """None for a sum over agents, and where the program named none."""
    step: str | None
    """Likewise of steps."""
    tally: Tally
    models: tuple[ModelTally, ...]
    """The same calls by model, for prices, in order of first appearance."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was billed over a scope."""

    by: By
    rows: tuple[LedgerRow, ...]
    """In order of first appearance."""
    total: LedgerRow
    doubles: tuple[tuple[int, int], ...]
    """(turn, the turn that records the same call), ascending."""


def ledger(timeline: Timeline, by: By = "run") -> Ledger:
    """What the provider billed over the timeline, by `by`. A step is one of its agent."""
    return timeline.remembered(f"ledger {by}", lambda: _ledger(timeline, by))


def is_reported(usage: Usage) -> bool:
    """True when the provider billed prompt or output tokens."""
    return usage.prompt_tokens is not None or usage.output_tokens is not None


def model_of(turn: Turn) -> str | None:
    """The model that answered, otherwise the one that was asked. Captured text."""
    asked = turn.call.params.get("model") or turn.call.params.get("modelId")
    return turn.call.response_model or (asked if isinstance(asked, str) else None)


def _ledger(timeline: Timeline, by: By) -> Ledger:
    again = doubles(timeline)
    told = [(turn, _DOUBLE if turn.seq in again else _counts(turn)) for turn in timeline.turns]
    total = _row((None, None, None, None), told)
    groups: dict[_Key, list[_Told]] = {}
    for one in told if by != "run" else ():
        # A second record of a call makes no row of its own, nor of a model's name for it.
        if by not in ("call", "model") or one[1] is not _DOUBLE:
            groups.setdefault(_KEYS[by](one[0]), []).append(one)
    rows = (total,) if by == "run" else tuple(_row(key, own) for key, own in groups.items())
    return Ledger(by, rows, total, tuple(sorted(again.items())))


_Counts: TypeAlias = tuple[int, ...]
"""The fields of a tally, in their order: a run has thousands of calls."""
_DOUBLE: _Counts = (0, 0, 0, 1, *[0] * 8)
_Told: TypeAlias = tuple[Turn, _Counts]
_Key: TypeAlias = tuple[int | None, str | None, str | None, str | None]
"""Call, agent, step, model."""
_KEYS: dict[By, Callable[[Turn], _Key]] = {
    "call": lambda turn: (turn.seq, turn.agent, turn.call.step, None),
    "agent": lambda turn: (None, turn.agent, None, None),
    "step": lambda turn: (None, turn.agent, turn.call.step, None),
    "model": lambda turn: (None, None, None, model_of(turn)),
}


def _row(key: _Key, told: Sequence[_Told]) -> LedgerRow:
    models: dict[str | None, list[_Counts]] = {}
    for turn, counts in told:
        if counts is not _DOUBLE:
            models.setdefault(model_of(turn), []).append(counts)
    by_model = tuple(ModelTally(model, _sum(counts)) for model, counts in models.items())
    if len(by_model) == 1 and by_model[0].tally.calls == len(told):
        return LedgerRow(*key[:3], by_model[0].tally, by_model)
    return LedgerRow(*key[:3], _sum([counts for _, counts in told]), by_model)


def _counts(turn: Turn) -> _Counts:
    usage = turn.usage
    reported = is_reported(usage)
    prompt = usage.prompt_tokens or 0
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    return (
        1,
        int(reported),
        int(not reported and turn.call.error is not None),
        0,
        prompt,
        max(prompt - read - written, 0),
        read,
        written,
        usage.cache_write_5m_tokens or 0,
        usage.cache_write_1h_tokens or 0,
        usage.output_tokens or 0,
        usage.reasoning_tokens or 0,
    )


def _sum(rows: Sequence[_Counts]) -> Tally:
    return Tally(*map(sum, zip(*rows, strict=True)))
