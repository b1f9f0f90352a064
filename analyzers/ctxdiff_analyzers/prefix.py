"""Where the context stops being an extension of the same agent's previous one.

By position only: the order in which blocks are stored. What the provider's cache makes of it is
another question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers.timeline import Timeline

CulpritKind: TypeAlias = Literal["modified", "added", "evicted", "reordered", "changed"]


@dataclass(frozen=True, slots=True)
class Break:
    """A pair of neighbouring turns whose common prefix ends before the shorter one does."""

    seq_old: int
    seq_new: int
    agent: str | None
    stable_blocks: int
    """Equal blocks at the start; the index of the first different one."""
    stable_tokens: int
    divergent_position: int
    """Stored position of that block in the newer turn."""
    rebilled_tokens: int
    """Of the newer turn from there to its end, new content included."""
    culprit_kind: CulpritKind
    culprit_label: str
    """Captured text."""
    culprit_role: str
    culprit_block_kind: str
    content_hash: str
    """The block at fault: of the newer turn, for `evicted` of the older one."""
    content_hash_before: str | None
    """Its earlier form, for `modified`."""
    moved_from: int | None
    """Old position, for `reordered`."""
    moved_to: int | None
    first_diff_char: int | None
    """Code point offset, for `modified` text."""
    is_dynamic: bool
    """A small part of a longer text differs, as a clock in a prompt does."""
    pairs_denominator: int
    """Pairs of the same agent in the timeline."""


@dataclass(frozen=True, slots=True)
class BreakGroup:
    """Breaks with the same agent, culprit and position."""

    agent: str | None
    culprit_kind: CulpritKind
    culprit_label: str
    divergent_position: int
    count: int
    denominator: int
    first: Break


@dataclass(frozen=True, slots=True)
class PrefixReport:
    """Prefix stability over a timeline."""

    pairs_analyzed: int
    agents_analyzed: int | None
    """None when the timeline has fewer than two distinct agents."""
    pairs_by_agent: tuple[tuple[str | None, int], ...] | None
    stable_prefix_tokens_min: int
    """0 without pairs."""
    rebilled_tokens_total: int
    breaks: tuple[Break, ...]
    """Ascending by newer turn."""
    groups: tuple[BreakGroup, ...]
    """In order of first appearance."""
    fix_hint: bool
    """True when one volatile value in an early system block explains every break."""
    approximate: bool


def prefix_report(timeline: Timeline) -> PrefixReport:
    """Every neighbouring pair of each agent's turns, and where its prefix broke."""
    raise NotImplementedError
