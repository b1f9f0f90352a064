"""What of an earlier prefix can still be read, and how many tokens that is."""

from __future__ import annotations

from ctxdiff_analyzers.cache.rules import Section
from ctxdiff_analyzers.cache.situation import Situation
from ctxdiff_analyzers.cache.suspects import Suspect

NOTHING_READ = frozenset(
    (
        *(
            "no_cache_configured",
            "no_breakpoint",
            "below_min_cacheable",
            "breakpoint_after_volatile",
        ),
        *("breakpoint_limit_exceeded", "ttl_changed", "parallel_cold_start"),
    )
)
"""Causes with which the rules let nothing be read."""


def predicted(case: Situation, found: Suspect | None) -> int | None:
    """Tokens that the rules let the turn read; None where nothing can be said."""
    if case.before is None or case.hides or case.turn.call.error is not None:
        return None
    if found is None or found.cause in ("uncached_tail", "provider_side_miss"):
        return case.could if case.before.is_whole else _up_to(case, case.before.at[0])
    if found.cause in NOTHING_READ:
        return 0
    if found.code == "cache_expired":
        return _up_to(case, _alive(case))
    if found.code == "cache_break":
        return _up_to(case, _end(case, found))
    return None


def reusable(case: Situation, found: Suspect | None) -> tuple[str, ...]:
    """Sections, or single blocks of the system text, in front of what was lost."""
    if found is None or case.before is None or found.code == "cache_unused":
        return ()
    # What the provider says it read decides.
    if case.told.read == 0:
        return ()
    end = _end(case, found) if found.code == "cache_break" else _alive(case)
    marks = case.marks_before if case.rules.explicit else None
    if marks is not None and not case.told.read:
        point = marks.before(end)
        end = 0 if point is None else point.index + 1
    view = case.before.view
    names: list[str] = []
    for section in case.rules.order:
        mine = [k for k in range(len(view.head)) if view.section(k) == section]
        if section == "messages":
            if end >= len(view.blocks) > len(view.head):
                names.append("messages")
        elif end and (not mine or mine[-1] < end):
            names.append(section)
        else:
            names += [f"{section}[{n}]" for n, k in enumerate(mine) if k < end]
            break
    return tuple(names)


def _end(case: Situation, found: Suspect) -> int:
    """The first block of the earlier turn that a break loses."""
    assert case.before is not None
    view = case.before.view
    if found.difference is not None:
        return found.difference.at
    loses: Section = found.section or "messages"
    lost = case.rules.order.index(loses)
    places = range(len(view.head) + 1)
    return next(k for k in places if case.rules.order.index(view.section(k)) >= lost)


def _alive(case: Situation) -> int:
    """Blocks of the earlier turn whose marker asks for a longer life than has gone by."""
    marks, gap = case.marks_before, case.gap_s
    if marks is None or gap is None:
        return 0
    alive = [
        one.index + 1
        for one in marks.points
        if (life := case.rules.life_s(one.ttl)) is not None and life >= gap
    ]
    return max(alive, default=0)


def _up_to(case: Situation, end: int) -> int | None:
    """Tokens of the earlier turn's cached entries that end before the block at `end`."""
    assert case.before is not None
    view = case.before.view
    if case.rules.explicit:
        marks = case.marks_before
        if marks is None:
            return None
        point = marks.before(end)
        return 0 if point is None else case.billed(view, point.index + 1)
    size = case.billed(view, min(end, len(view.blocks)))
    if case.minimum is not None and size < case.minimum.low:
        return 0
    return size // case.rules.step * case.rules.step
