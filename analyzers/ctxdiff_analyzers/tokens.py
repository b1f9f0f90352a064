"""Where the tokens of a turn go, and what the provider billed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from ctxdiff_capture.model import Usage

from ctxdiff_analyzers.counts import is_approximate, token_counts, turn_totals, unmeasured_blocks
from ctxdiff_analyzers.labels import TOOL_OUTPUT, content_parts, doubtful_labels, is_result
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.window import percent

RESULT = -1
"""Stands for a label index where the content overrules the label."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A label's share of one turn."""

    label: str
    """Captured text."""
    tokens: int
    block_count: int
    pct: float
    """Of the turn's total, 0.0 to 100.0 with one decimal."""


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """The tokens of one turn's input blocks."""

    seq: int
    agent: str | None
    step: str | None
    total_tokens: int
    """A block that stands twice counts twice."""
    approximate: bool
    """True when any count is an estimate, or was made for another provider's tokenizer."""
    unmeasured_blocks: int
    """Blocks whose cost is unknown; when not 0 the total is a floor."""
    slices: tuple[Slice, ...]
    """Largest first; ties in order of first appearance."""
    usage: Usage
    """As the provider billed it."""
    reconciliation_delta: int | None
    """Billed prompt tokens minus `total_tokens`; None when nothing was billed."""


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """Sums over an agent's calls that reported usage."""

    agent: str | None
    """None for the turns without an agent."""
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class UsageRollup:
    """What the provider billed over a scope."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    calls_with_usage: int
    calls_total: int
    by_agent: tuple[AgentUsage, ...] | None
    """In order of first appearance; None with fewer than two distinct agents."""
    streamed_without_usage: int
    """Streamed calls that could have asked for usage (`stream_options.include_usage`), did not,
    and so have none."""


def turn_tokens(timeline: Timeline, turn: Turn) -> TurnTokens:
    """The tokens of one turn by label."""
    total, slices = _sliced(timeline, turn)
    billed = turn.usage.prompt_tokens
    return TurnTokens(
        turn.seq,
        turn.agent,
        turn.call.step,
        total,
        is_approximate(timeline, turn),
        unmeasured_blocks(timeline, turn),
        slices,
        turn.usage,
        None if billed is None else billed - total,
    )


def all_turn_tokens(timeline: Timeline) -> tuple[TurnTokens, ...]:
    """`turn_tokens` of every turn, oldest first."""
    return tuple(turn_tokens(timeline, turn) for turn in timeline.turns)


def peak(turns: Sequence[TurnTokens]) -> TurnTokens | None:
    """The turn with the largest total, the earliest among equals; None without turns."""
    return max(turns, key=lambda turn: turn.total_tokens, default=None)


def usage_rollup(timeline: Timeline) -> UsageRollup:
    """Sums of the provider's own numbers over the timeline."""
    reported = [turn.usage for turn in timeline.turns if reports_usage(turn)]
    groups = timeline.groups()
    return UsageRollup(
        sum(usage.prompt_tokens or 0 for usage in reported),
        sum(usage.output_tokens or 0 for usage in reported),
        sum(usage.cache_read_tokens or 0 for usage in reported),
        sum(usage.cache_write_tokens or 0 for usage in reported),
        len(reported),
        len(timeline.turns),
        None if len(groups) < 2 else tuple(_by_agent(groups)),
        sum(streamed_without_usage(turn) for turn in timeline.turns),
    )


def tokens_by_agent(timeline: Timeline) -> Mapping[str | None, int] | None:
    """Sum of turn totals per agent, None for no agent; None with fewer than two distinct agents."""
    groups = timeline.groups()
    if len(groups) < 2:
        return None
    return {agent: sum(turn_totals(mine)) for agent, mine in groups.items()}


def reports_usage(turn: Turn) -> bool:
    """True when the provider billed prompt or output tokens for the turn."""
    return turn.usage.prompt_tokens is not None or turn.usage.output_tokens is not None


def streamed_without_usage(turn: Turn) -> bool:
    """True for a Chat Completions stream that ended well, without usage because none was asked.

    Only this surface has `stream_options.include_usage`. In files that do not tell the surface
    it is known by its provider label.
    """
    call = turn.call
    if reports_usage(turn) or call.error is not None or not call.params.get("stream"):
        return False
    options = call.params.get("stream_options")
    if isinstance(options, Mapping) and options.get("include_usage"):
        return False
    if call.surface is not None:
        return call.surface == "openai.chat"
    return (call.provider or "").startswith("openai") or isinstance(
        call.params.get("messages"), list
    )


def _sliced(timeline: Timeline, turn: Turn) -> tuple[int, tuple[Slice, ...]]:
    counts = token_counts(timeline)
    stored: dict[int, list[int]] = {}
    for block, label in zip(turn.inputs, _labels(timeline, turn), strict=True):
        stored.setdefault(label, []).append(counts[block])
    # Several stored labels may bear one name: tagged and not tagged.
    named: dict[str, tuple[int, int]] = {}
    for label, tokens in stored.items():
        name = TOOL_OUTPUT if label == RESULT else timeline.label_table[label][0]
        before = named.get(name, (0, 0))
        named[name] = (before[0] + sum(tokens), before[1] + len(tokens))
    total = sum(size for size, _ in named.values())
    slices = [
        Slice(name, size, blocks, percent(size, total)) for name, (size, blocks) in named.items()
    ]
    return total, tuple(sorted(slices, key=attrgetter("tokens"), reverse=True))


def _labels(timeline: Timeline, turn: Turn) -> Sequence[int]:
    """The turn's label indices, `RESULT` where the content overrules one."""
    doubtful, parts = doubtful_labels(timeline), content_parts(timeline)
    if parts.isdisjoint(turn.inputs) or doubtful.isdisjoint(turn.labels):
        return turn.labels
    return [
        RESULT if label in doubtful and block in parts and is_result(timeline, block) else label
        for block, label in zip(turn.inputs, turn.labels, strict=True)
    ]


def _by_agent(groups: Mapping[str | None, Timeline]) -> Iterator[AgentUsage]:
    for agent, mine in groups.items():
        reported = [turn.usage for turn in mine.turns if reports_usage(turn)]
        if reported:
            yield AgentUsage(
                agent,
                sum(usage.prompt_tokens or 0 for usage in reported),
                sum(usage.output_tokens or 0 for usage in reported),
            )
