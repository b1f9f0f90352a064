"""Billed prompts against recorded blocks, and what explains the difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers.counts import is_approximate, token_counts, turn_totals, unmeasured_blocks
from ctxdiff_analyzers.doubles import doubles
from ctxdiff_analyzers.hiding import hidden_by_params
from ctxdiff_analyzers.timeline import Timeline, Turn

Reason: TypeAlias = Literal[
    "held_by_provider",
    "provider_tools",
    "unmeasured",
    "trimmed_by_provider",
    "estimate",
    "framing",
    "unexplained",
]
"""`held_by_provider`: the request names context that the provider keeps (a previous response, a
stored prompt). `provider_tools`: tools that the provider ran put something in. `unmeasured`:
images or files of unknown cost. `trimmed_by_provider`: the request lets the provider cut.
`estimate`: the blocks were not counted exactly. `framing`: what providers write around messages
and tools. `unexplained`: none of these is enough."""

FRAMING = 16
"""Tokens around a prompt that need no explanation."""
FRAMING_PER_BLOCK = 8
FRAMING_OF_TOOLS = 1_000
"""What a provider may write before tools; these are the only bounds here and decide a word."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """One billed call against its blocks."""

    seq: int
    billed: int
    """Prompt tokens."""
    blocks: int
    """Sum of the input blocks."""
    reasons: tuple[Reason, ...]
    """What explains the difference; empty when there is none."""
    held: tuple[str, ...]
    """Parameters that name what the provider keeps; our own words for them."""

    @property
    def difference(self) -> int:
        """Billed minus blocks: above 0 the model saw more than the record has."""
        return self.billed - self.blocks


@dataclass(frozen=True, slots=True)
class Share:
    """The calls whose difference has one main reason."""

    reason: Reason
    calls: int
    difference: int
    """Sum over these calls."""


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """All billed calls of a scope against their blocks, each call once."""

    calls: int
    """Calls for which prompt tokens were billed."""
    billed: int
    blocks: int
    shares: tuple[Share, ...]
    """By main reason, the largest difference first."""
    held: tuple[str, ...]
    """Everything that the provider held in one of the calls."""

    @property
    def difference(self) -> int:
        """Billed minus blocks."""
        return self.billed - self.blocks


def reconciled(timeline: Timeline, turn: Turn) -> Reconciled | None:
    """The turn's billed prompt against its blocks; None where none was billed."""
    total = sum(map(token_counts(timeline).__getitem__, turn.inputs))
    return _reconciled(timeline, turn, total)


def reconciliation(timeline: Timeline) -> Reconciliation:
    """All billed prompts against their blocks."""
    return timeline.remembered("reconciliation", lambda: _reconciliation(timeline))


def _reconciliation(timeline: Timeline) -> Reconciliation:
    found = list(_each(timeline))
    shares: dict[Reason, list[int]] = {}
    for one in found:
        for reason in one.reasons[:1]:
            shares.setdefault(reason, []).append(one.difference)
    rows = [Share(reason, len(parts), sum(parts)) for reason, parts in shares.items()]
    return Reconciliation(
        len(found),
        sum(one.billed for one in found),
        sum(one.blocks for one in found),
        tuple(sorted(rows, key=lambda row: -abs(row.difference))),
        tuple(dict.fromkeys(name for one in found for name in one.held)),
    )


def _each(timeline: Timeline) -> Iterator[Reconciled]:
    again = doubles(timeline)
    for turn, total in zip(timeline.turns, turn_totals(timeline), strict=True):
        if turn.seq not in again and (one := _reconciled(timeline, turn, total)) is not None:
            yield one


def _reconciled(timeline: Timeline, turn: Turn, total: int) -> Reconciled | None:
    billed = turn.usage.prompt_tokens
    if billed is None:
        return None
    if billed == total:
        return Reconciled(turn.seq, billed, total, (), ())
    held = tuple(hidden_by_params(turn.call)) if billed > total else ()
    return Reconciled(
        turn.seq, billed, total, tuple(_reasons(timeline, turn, total, billed, held)), held
    )


def _reasons(
    timeline: Timeline, turn: Turn, total: int, billed: int, held: tuple[str, ...]
) -> Iterator[Reason]:
    known: list[tuple[Reason, bool]] = [
        ("held_by_provider", bool(held)),
        ("provider_tools", billed > total and _ran_tools(turn)),
        ("unmeasured", billed > total and unmeasured_blocks(timeline, turn) > 0),
        ("trimmed_by_provider", billed < total and _may_trim(turn)),
    ]
    if any(holds for _, holds in known):
        yield from (reason for reason, holds in known if holds)
        return
    difference = abs(billed - total)
    if is_approximate(timeline, turn):
        # An estimate is off by half at most, unless something else is the matter.
        near = difference <= max(billed, total) // 2 or _is_framing(timeline, turn, difference)
        yield "estimate" if near else "unexplained"
    else:
        yield "framing" if _is_framing(timeline, turn, difference) else "unexplained"


def _is_framing(timeline: Timeline, turn: Turn, difference: int) -> bool:
    bound = FRAMING + FRAMING_PER_BLOCK * len(turn.inputs)
    if difference <= bound:
        return True
    counts = token_counts(timeline)
    schemas = [b for b in turn.inputs if timeline.blocks[b].kind == "tool_schema"]
    return bool(schemas) and difference <= bound + FRAMING_OF_TOOLS + sum(
        counts[block] for block in schemas
    )


def _ran_tools(turn: Turn) -> bool:
    if turn.usage.tool_prompt_tokens:
        return True
    told = (turn.call.usage or {}).get("server_tool_use")
    return isinstance(told, Mapping) and any(told.values())


def _may_trim(turn: Turn) -> bool:
    params = turn.call.params
    return params.get("truncation") == "auto" or bool(params.get("context_management"))
