"""Judges of an intact prefix that is paid in full all the same: sizes, time, the provider."""

from __future__ import annotations

from itertools import islice

from ctxdiff_analyzers.cache.breaks import certainty_of
from ctxdiff_analyzers.cache.ledger import overlaps
from ctxdiff_analyzers.cache.markers import Marks
from ctxdiff_analyzers.cache.places import Place
from ctxdiff_analyzers.cache.rules import LIFE_KEYS, cited
from ctxdiff_analyzers.cache.situation import Situation
from ctxdiff_analyzers.cache.suspects import RULES, Suspect

MARGIN = 64
"""Tokens by which a prefix must exceed the minimum before a miss is the provider's."""
LONG_GAP_S = 3_600
"""Seconds after which an entry is gone though nobody states its life."""


def expired(case: Situation) -> Suspect | None:
    """The prefix is intact, and older than an entry lives, or of another life."""
    before = case.before
    if before is None or not case.is_intact or case.could == 0 or not case.read_little:
        return None
    old, new = case.marks_before, case.marks
    if case.rules.explicit and not case.could and (old is None or not old.points):
        # Nothing asked for an entry and none is reported: there was none to expire.
        return None
    last = None if old is None else old.last
    ttl = before.turn.call.params.get(LIFE_KEYS[0]) if last is None else last.ttl
    life = case.rules.life_s(ttl if isinstance(ttl, str) else None)
    gap = case.gap_s
    if life is not None and gap is not None:
        unsaid = case.told.read is None and not case.rules.explicit
        if gap >= (max(life, LONG_GAP_S) if unsaid else life):
            return Suspect(
                "cache_expired",
                "ttl_expired",
                certainty_of(case),
                RULES["expired"],
                counts=(("gap_seconds", round(gap)), ("life_seconds", life)),
                source=cited(case.rules.facts["lives_s"]),
            )
    lives = [_lives(case, marks) for marks in (old, new)]
    now = case.turn.call.params.get(LIFE_KEYS[0])
    stated = before.turn.call.params.get(LIFE_KEYS[0])
    if (all(lives) and lives[0] != lives[1]) or now != stated:
        counts = tuple(
            (f"life_seconds_{when}", max(found))
            for when, found in zip(("before", "now"), lives, strict=True)
            if found
        )
        where = Place(new.last.path, None, ()) if new and new.last else None
        return Suspect(
            "cache_expired",
            "ttl_changed",
            certainty_of(case),
            RULES["ttl"],
            place=where,
            counts=counts,
        )
    return None


def expired_too(case: Situation, found: Suspect | None, expected: int | None) -> Suspect | None:
    """Beside a break: what stands in front of it was not read either, and has outlived its life.

    Args:
        case: the turn.
        found: what explains its cache.
        expected: tokens that the rules would have let it read all the same.
    """
    if found is None or found.code != "cache_break" or not expected or case.told.read != 0:
        return None
    if found.cause == "model_changed" or (case.minimum and expected < case.minimum.high):
        return None
    stated = case.before and case.before.turn.call.params.get(LIFE_KEYS[0])
    lives = _lives(case, case.marks_before) if case.rules.explicit else set[int]()
    plain = case.rules.life_s(stated if isinstance(stated, str) else None)
    life = max(lives, default=plain)
    if life is None or case.gap_s is None or case.gap_s < life:
        return None
    return Suspect(
        "cache_expired",
        "ttl_expired",
        "inferred",
        RULES["expired"],
        counts=(("gap_seconds", round(case.gap_s)), ("life_seconds", life)),
        source=cited(case.rules.facts["lives_s"]),
    )


def too_short(case: Situation) -> Suspect | None:
    """The prefix is shorter than what the model's provider caches."""
    minimum, told = case.minimum, case.told
    if minimum is None or told.prompt is None or told.read is None or told.cached:
        return None
    if case.rules.explicit:
        marks = case.marks
        if marks is None or marks.last is None or told.written is None:
            return None
        size = min(told.prompt, case.billed(case.view, marks.last.index + 1))
        size = told.prompt if told.prompt < minimum.low else size
    else:
        if case.before is None or not case.before.shares_head or not _never_long(case):
            return None
        size = told.prompt
    if size >= minimum.high:
        return None
    sure = size < minimum.low
    return Suspect(
        "cache_unused",
        "below_min_cacheable",
        "measured" if sure else "inferred",
        RULES["minimum"] if sure else RULES["minimum_unsure"],
        counts=(("minimum", minimum.tokens), ("prefix_tokens", size)),
        source=cited(minimum.fact),
        since=None if case.rules.explicit else _known_since(case),
    )


def too_early(case: Situation) -> Suspect | None:
    """The call began before the entry that it could have read was there."""
    if case.told.read is None or (case.could and not case.read_little):
        return None
    mine = [case.before] if case.before is not None else []
    for one in [*mine, *case.relatives]:
        if not one.shares_head or not overlaps(one.turn, case.turn):
            continue
        size = case.billed(case.view, one.at[1])
        if case.minimum is not None and size < case.minimum.low:
            continue
        if case.told.read > size * 0.5:
            continue
        return Suspect(
            "cache_unused",
            "parallel_cold_start",
            "measured",
            RULES["parallel"],
            counts=(("with_turn", one.turn.seq), ("shared_tokens", size)),
        )
    return None


def provider_missed(case: Situation) -> Suspect | None:
    """Nothing in the record explains that nothing was read."""
    before = case.before
    if before is None or not before.is_whole or case.told.read != 0 or not case.could:
        return None
    floor = case.minimum.high if case.minimum is not None else None
    if floor is None and not _ever_read(case):
        return None
    if case.could < (floor or 0) + MARGIN:
        return None
    same = case.turn.call.request_digest
    again = same is not None and same == before.turn.call.request_digest
    return Suspect(
        "cache_unused",
        "provider_side_miss",
        "measured" if case.rules.sure else "inferred",
        RULES["provider"],
        counts=(("could_have_been_read", case.could), ("identical", int(again))),
    )


def _lives(case: Situation, marks: Marks | None) -> set[int]:
    points = () if marks is None else marks.points
    return {life for one in points if (life := case.rules.life_s(one.ttl)) is not None}


def _never_long(case: Situation) -> bool:
    """Whether no prompt of the agent reaches the minimum."""
    assert case.minimum is not None
    mine = case.whole.of_agent(case.turn.agent)

    def longest() -> int:
        return max((turn.usage.prompt_tokens or 0 for turn in mine.turns), default=0)

    return mine.remembered("longest prompt", longest) < case.minimum.low


def _known_since(case: Situation) -> int | None:
    """The agent's second answered turn, where that is an earlier one.

    Its prompt was the first that a cache could have served.
    """
    mine = case.whole.of_agent(case.turn.agent)

    def second() -> int | None:
        billed = (t.seq for t in mine.turns if t.call.error is None and t.usage.prompt_tokens)
        return next(islice(billed, 1, None), None)

    found = mine.remembered("second answered turn", second)
    return found if found is not None and found < case.turn.seq else None


def _ever_read(case: Situation) -> bool:
    def ever() -> bool:
        return any(turn.usage.cache_read_tokens for turn in case.whole.turns)

    return case.whole.remembered("ever read", ever)
