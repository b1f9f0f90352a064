"""Judges of markers: none, too many, in the wrong place, too far apart, left behind."""

from __future__ import annotations

from dataclasses import replace

from ctxdiff_analyzers.cache.ancestors import Ancestor
from ctxdiff_analyzers.cache.breaks import certainty_of
from ctxdiff_analyzers.cache.ledger import reported
from ctxdiff_analyzers.cache.places import Place, place_of
from ctxdiff_analyzers.cache.rules import cited
from ctxdiff_analyzers.cache.situation import Situation
from ctxdiff_analyzers.cache.suspects import RULES, Suspect
from ctxdiff_analyzers.paths import dotted

TAIL = 1_024
"""Tokens that are sent again behind the last marker, from which a marker in the conversation that
stays behind is worth a word."""
LONG_TAIL, TAIL_SHARE = 4_096, 2
"""The same for a program that marks its system text alone: tokens, and times what is cached."""
LOOKED_AT = 16
"""Where a run fares alike from turn to turn, markers are read at every sixteenth."""


def too_many_markers(case: Situation) -> Suspect | None:
    """More markers than the provider takes."""
    most = case.rules.markers_max
    if most is None or case.told.cached:
        return None
    if not case.closely and case.turn.call.error is None:
        return None
    marks = case.marks
    if marks is None or len(marks.points) <= most:
        return None
    refused = case.turn.call.error is not None
    return Suspect(
        "cache_unused",
        "breakpoint_limit_exceeded",
        "measured" if refused else "inferred",
        RULES["limit"],
        counts=(("count", len(marks.points)), ("limit", most)),
        source=cited(case.rules.facts["markers_max"]),
    )


def unmarked(case: Situation) -> Suspect | None:
    """Nothing asks for a cache where nothing is cached without."""
    before = case.before
    if not case.rules.explicit or before is None or case.told.cached:
        return None
    if (same := _as_before(case, "unmarked")) is not None:
        return same
    found = _unmarked(case)
    return _noted(case, "unmarked", found)


def _unmarked(case: Situation) -> Suspect | None:
    marks = case.marks
    if marks is None or marks.points or not _is_long(case):
        return None
    mine = case.whole.of_agent(case.turn.agent).turns
    earlier = [one for one in mine if one.seq < case.turn.seq]
    # The newest call that was cached tells since when none is.
    at = next(
        (k for k, one in reversed(list(enumerate(earlier, 1))) if reported(one, case.rules).cached),
        None,
    )
    had_marks = case.marks_before is not None and bool(case.marks_before.points)
    if at is None and not had_marks:
        since = earlier[1].seq if len(earlier) > 1 else None
        return Suspect(
            "cache_unused",
            "no_cache_configured",
            certainty_of(case) if case.told.read == 0 else "inferred",
            RULES["no_marker"],
            counts=(("markers", 0), ("calls", len(earlier) + 1)),
            since=since,
        )
    since = earlier[at].seq if at is not None and at < len(earlier) else None
    return Suspect(
        "cache_unused",
        "no_breakpoint",
        "measured",
        RULES["lost_marker"],
        names=("cachePoint" if case.rules.name == "bedrock" else "cache_control",),
        counts=(("markers", 0),),
        since=since,
    )


def marked_too_late(case: Situation) -> Suspect | None:
    """A shared start has no marker of its own: the only ones stand behind what differs."""
    before = case.before
    if not case.rules.explicit or before is None or before.is_whole or case.told.read:
        return None
    marks, old = case.marks, case.marks_before
    if marks is None or old is None or not marks.points or not old.points:
        return None
    shared = before.at[1]
    if old.before(before.at[0]) is not None or not shared or not before.shares_head:
        return None
    if case.minimum is None or case.billed(case.view, shared) < case.minimum.low:
        return None
    better = place_of(case.whole, case.turn, case.view.input_at(shared - 1))
    return Suspect(
        "cache_unused",
        "breakpoint_after_volatile",
        "measured" if case.told.read == 0 else "inferred",
        RULES["behind"],
        place=Place(_element(better), None, ()),
        counts=(("shared_tokens", case.billed(case.view, shared)),),
    )


def out_of_reach(case: Situation) -> Suspect | None:
    """No marker finds the entry of the turn before: too many blocks lie in between."""
    before, most = case.before, case.rules.look_back
    if most is None or before is None or not before.is_whole or case.could == 0:
        return None
    marks, old = case.marks, case.marks_before
    if not case.reads_less or marks is None or old is None or old.last is None or not marks.points:
        return None
    offset = before.at[1] - before.at[0]
    steps = [one.index - (old.last.index + offset) for one in marks.points]
    ahead = [step for step in steps if step >= 0]
    if not ahead or min(ahead) <= most:
        return None
    return Suspect(
        "cache_unused",
        "lookback_exceeded",
        certainty_of(case),
        RULES["look_back"],
        place=Place(old.last.path, None, ()),
        counts=(("blocks", min(ahead)), ("limit", most)),
        source=cited(case.rules.facts["look_back_blocks"]),
    )


def tail(case: Situation) -> Suspect | None:
    """The last marker stays behind while the conversation grows."""
    before, told = case.before, case.told
    if not case.rules.explicit or before is None:
        return None
    if told.uncached is not None and told.uncached < TAIL:
        return None
    if (same := _as_before(case, "tail")) is not None:
        return same
    return _noted(case, "tail", _tail(case, before))


def _tail(case: Situation, before: Ancestor) -> Suspect | None:
    told = case.told
    marks, old = case.marks, case.marks_before
    if marks is None or old is None or marks.last is None or old.last is None:
        return None
    last = marks.last.index
    resent = case.billed(case.view, before.at[1]) - case.billed(case.view, last + 1)
    if told.uncached is not None and told.uncached < resent // 2:
        return None
    in_talk = last >= len(case.view.head)
    cached = case.billed(case.view, last + 1)
    if marks.last.index > old.last.index or not before.is_whole:
        return None
    fell = marks.last.index < old.last.index
    if resent < (TAIL if in_talk or fell else max(LONG_TAIL, TAIL_SHARE * cached)):
        return None
    return Suspect(
        "cache_unused",
        "uncached_tail",
        "measured" if told.uncached is not None else "inferred",
        RULES["tail"],
        place=Place(marks.last.path, None, ()),
        counts=(("resent_tokens", resent), ("blocks_behind", len(case.view.blocks) - last - 1)),
    )


def _as_before(case: Situation, judge: str) -> Suspect | None:
    """What the judge found of the turn before, where a run is judged and usage says the same.

    Markers of a run's turns change together; every sixteenth turn is looked at all the same.
    """
    before = case.before
    if case.closely or before is None or case.turn.seq % LOOKED_AT == 0 or case.told.read is None:
        return None
    found: dict[str, Suspect] = case.whole.known(f"cache {judge}", dict)
    same = found.get(before.turn.call.id)
    unchanged = case.told.read == reported(before.turn, case.rules).read
    return _noted(case, judge, same) if same is not None and unchanged else None


def _noted(case: Situation, judge: str, found: Suspect | None) -> Suspect | None:
    if found is not None:
        notes: dict[str, Suspect] = case.whole.known(f"cache {judge}", dict)
        since = found.since or (case.turn.seq if found.cause == "no_breakpoint" else None)
        notes[case.turn.call.id] = replace(found, since=since)
    return found


def _is_long(case: Situation) -> bool:
    """Whether the start that the turn shares with the one before is long enough to be cached."""
    assert case.before is not None
    size = case.billed(case.view, case.before.at[1])
    if case.minimum is None:
        return False
    return size >= (case.minimum.low if case.told.prompt is not None else case.minimum.high * 1.2)


def _element(pointer: str | None) -> str | None:
    """The dotted place of the element that can carry a marker."""
    return dotted(None if pointer is None else pointer.removesuffix("/text"))
