"""One verdict on what the provider's prompt cache did at a turn, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers.cache.breaks import broken, in_the_bytes
from ctxdiff_analyzers.cache.difference import place_of_difference
from ctxdiff_analyzers.cache.ledger import Reported
from ctxdiff_analyzers.cache.marking import (
    marked_too_late,
    out_of_reach,
    tail,
    too_many_markers,
    unmarked,
)
from ctxdiff_analyzers.cache.pair import Difference
from ctxdiff_analyzers.cache.places import Place
from ctxdiff_analyzers.cache.reason import VendorReason, said_by_the_provider, vendor_reason
from ctxdiff_analyzers.cache.reusable import predicted, reusable
from ctxdiff_analyzers.cache.rules import Section
from ctxdiff_analyzers.cache.situation import NEAR, SLACK, Situation
from ctxdiff_analyzers.cache.suspects import REMEDIES, CacheCode, Suspect
from ctxdiff_analyzers.cache.unused import (
    expired,
    expired_too,
    provider_missed,
    too_early,
    too_short,
)
from ctxdiff_analyzers.findings import Certainty
from ctxdiff_analyzers.timeline import Timeline, Turn

State: TypeAlias = Literal["nothing", "kept", "lost", "unused", "failed", "hidden", "unknown"]
"""`nothing`: an agent's first turn, or nothing was cached before. `kept`: what could be read was,
or nothing speaks against it. `lost`: it was broken or has expired. `unused`: paid in full.
`hidden`: the provider holds part of the context. `unknown`: less was read than expected, and
nothing explains it."""
Agreement: TypeAlias = Literal["agrees", "reads_more", "reads_less", "not_reported"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the cache at one turn."""

    turn: int
    agent: str | None
    provider: str
    """Whose rules were used."""
    state: State
    code: CacheCode | None
    cause: str | None
    against: int | None
    """The earlier turn whose prefix this one was measured against."""
    reported: Reported
    could_be_read: int | None
    """Tokens that the earlier turn left in the cache; None where usage does not tell."""
    predicted: int | None
    """Tokens that the rules let this turn read; None where nothing can be said."""
    agreement: Agreement
    lost_tokens: int | None
    """Tokens that stood in a cache, or could have, and were paid in full."""
    lost_is_billed: bool
    """True when `lost_tokens` follows from usage alone, not from counts of blocks."""
    section: Section | None
    place: Place | None
    reusable: tuple[str, ...]
    """What of the earlier prefix can still be read: `tools`, `system`, `system[0]`, `messages`."""
    certainty: Certainty
    why: str | None
    source: str | None
    """Where and when the number was read that the verdict rests on."""
    remedy: str | None
    content_hashes: tuple[str, ...] = ()
    """Old and new block at fault."""
    positions: tuple[int, ...] = ()
    """Stored position of the block at fault; in the earlier turn for what is gone."""
    names: tuple[str, ...] = ()
    excerpts: tuple[str, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    since: int | None = None
    vendor: VendorReason | None = None
    """What the provider itself says of the miss."""
    beside: Suspect | None = None
    """What holds of the part in front of a break: it has outlived its life."""

    @property
    def path(self) -> str | None:
        """The place in the request."""
        return None if self.place is None else self.place.path


Judge: TypeAlias = Callable[[Situation], Suspect | None]
JUDGES: tuple[Judge, ...] = (
    too_many_markers,
    broken,
    unmarked,
    too_short,
    marked_too_late,
    expired,
    out_of_reach,
    in_the_bytes,
    tail,
    too_early,
    said_by_the_provider,
    provider_missed,
)
"""In this order: the first that finds something is right, as far as the record tells."""
FIRST_TURN: tuple[Judge, ...] = (too_many_markers, too_short, too_early)


def cache_verdict(timeline: Timeline, turn: Turn) -> Verdict:
    """What the provider's cache made of a turn.

    Args:
        timeline: the whole session, all agents: they share one cache.
        turn: one of its turns.
    """
    case = Situation(timeline, turn, closely=True)
    return _verdict(case, *judged(case))


def judged(case: Situation) -> tuple[State, Suspect | None]:
    """What became of the cache, and what explains it."""
    if case.turn.call.error is not None:
        found = too_many_markers(case)
        return "failed" if found is None else "unused", found
    if case.hides:
        return "hidden", None
    if case.before is None:
        found = _first_of(case, FIRST_TURN)
        return "nothing" if found is None else "unused", found
    if _is_well(case):
        found = tail(case)
        return "kept" if found is None else "unused", found
    found = _first_of(case, JUDGES)
    if found is None:
        if not case.told.read and (case.could == 0 or not case.is_intact):
            return "nothing", None
        return "unknown" if _is_missed(case) else "kept", None
    return "unused" if found.code == "cache_unused" else "lost", found


def _is_well(case: Situation) -> bool:
    """Whether usage says that all of an intact prefix was read: nothing else need be looked at."""
    return (
        bool(case.told.read)
        and case.could is not None
        and (case.before is not None and case.before.is_whole and not case.reads_less)
    )


def _is_missed(case: Situation) -> bool:
    return (
        case.told.read is not None
        and bool(case.could)
        and case.reads_less
        and case.before is not None
        and case.before.is_whole
    )


def _first_of(case: Situation, judges: tuple[Judge, ...]) -> Suspect | None:
    for judge in judges:
        found = judge(case)
        if found is not None:
            return found
    return None


def _verdict(case: Situation, state: State, found: Suspect | None) -> Verdict:
    at = None if found is None else found.difference
    place = None if found is None else found.place
    if place is None and at is not None and case.before is not None:
        place = place_of_difference(case.whole, case.before.view, case.before.new, at)
    expected = predicted(case, found)
    lost, billed = lost_tokens(case, found, expected)
    before = case.before
    return Verdict(
        turn=case.turn.seq,
        agent=case.turn.agent,
        provider=case.rules.name,
        state=state,
        code=None if found is None else found.code,
        cause=None if found is None else found.cause,
        against=None if before is None else before.turn.seq,
        reported=case.told,
        could_be_read=case.could,
        predicted=expected,
        agreement=agreement(case, expected),
        lost_tokens=lost,
        lost_is_billed=billed,
        section=None if found is None else found.section,
        place=place,
        reusable=reusable(case, found),
        certainty="measured" if found is None else found.certainty,
        why=None if found is None else found.why,
        source=None if found is None else found.source,
        remedy=None if found is None else REMEDIES.get(found.cause or ""),
        content_hashes=_hashes(case, at),
        positions=_positions(case, at),
        names=() if found is None else found.names,
        excerpts=_excerpts(found, place),
        counts=() if found is None else found.counts,
        since=None if found is None else found.since,
        vendor=None if found is None else vendor_reason(case),
        beside=expired_too(case, found, expected),
    )


def lost_tokens(
    case: Situation, found: Suspect | None, expected: int | None
) -> tuple[int | None, bool]:
    """Tokens paid in full that stood in a cache or could have, and whether usage alone says so."""
    if found is None or case.before is None:
        return None, False
    if case.could is not None and case.told.read is not None and case.could:
        return max(0, case.could - case.told.read), True
    counts = dict(found.counts)
    for name in ("resent_tokens", "shared_tokens", "prefix_tokens"):
        if name in counts:
            return counts[name], False
    view = case.before.view
    if found.code == "cache_break":
        return max(0, case.billed(view, case.horizon) - (expected or 0)), False
    return case.billed(case.view, case.before.at[1]), False


def agreement(case: Situation, expected: int | None) -> Agreement:
    """Whether the provider reports what the rules predict."""
    read = case.told.read
    if read is None or expected is None:
        return "not_reported"
    if abs(read - expected) <= max(SLACK, NEAR * expected):
        return "agrees"
    return "reads_more" if read > expected else "reads_less"


def _hashes(case: Situation, at: Difference | None) -> tuple[str, ...]:
    if at is None or case.before is None:
        return ()
    sides = ((case.before.turn, at.old_block), (case.turn, at.new_block))
    found = (case.whole.blocks[turn.inputs[k]].content_hash for turn, k in sides if k is not None)
    return tuple(dict.fromkeys(found))


def _positions(case: Situation, at: Difference | None) -> tuple[int, ...]:
    if at is None or case.before is None:
        return ()
    if at.new_block is not None:
        return (case.turn.positions[at.new_block],)
    return () if at.old_block is None else (case.before.turn.positions[at.old_block],)


def _excerpts(found: Suspect | None, place: Place | None) -> tuple[str, ...]:
    if found is None or found.excerpts:
        return () if found is None else found.excerpts
    shown = () if place is None else place.excerpts
    return shown if any(shown) else ()
