"""Judges of a prefix that is not what it was: content, model, parameters, the bytes themselves."""

from __future__ import annotations

import json
from typing import Any

from ctxdiff_analyzers.cache.ancestors import goes_on_elsewhere, talk_shared
from ctxdiff_analyzers.cache.difference import difference
from ctxdiff_analyzers.cache.rules import LIFE_KEYS, Section, cited, model_of
from ctxdiff_analyzers.cache.situation import NEAR, SLACK, Situation
from ctxdiff_analyzers.cache.suspects import RULES, Suspect
from ctxdiff_analyzers.cache.wire import wire_difference
from ctxdiff_analyzers.findings import Certainty
from ctxdiff_analyzers.params import changed_params

OTHER_WORDS = frozenset((None, "system_replaced", "tool_set_changed", "section_appended"))
"""Causes in front of a conversation with which it may be another program's."""
_PLAIN = 60


def broken(case: Situation) -> Suspect | None:
    """The prefix of the turn before is no prefix of this one any more, or is read as another's."""
    found = (content(case), *settings(case), first_image(case))
    suspects = [one for one in found if one is not None]
    if len(suspects) <= 1:
        return suspects[0] if suspects else None
    order = case.rules.order
    # What comes first in the provider's order decides; at equal places the settings do.
    return min(
        suspects,
        key=lambda one: (order.index(one.section or "messages"), one.difference is not None),
    )


def content(case: Situation) -> Suspect | None:
    """Blocks before the horizon that are not what they were."""
    before = case.before
    if before is None or case.is_intact or case.could == 0 or case.all_was_read:
        return None
    earlier = _earlier_in_the_bytes(case, before.at[0])
    if earlier is not None:
        return earlier
    found = difference(case.whole, before.view, before.new, before.at)
    if not found.goes_on or (found.section != "messages" and begins_another(case, found.cause)):
        return None
    certainty = certainty_of(case)
    return Suspect(
        "cache_break",
        found.cause,
        certainty,
        None if certainty == "measured" else RULES["content"],
        section=found.section,
        difference=found,
        names=found.names,
        counts=found.counts,
    )


def settings(case: Situation) -> list[Suspect]:
    """Another model or parameter, where the provider's rules tie the cache to it."""
    before = case.before
    if before is None or case.could == 0 or not case.reads_less:
        return []
    if case.told.read is None and case.rules.name == "other":
        return []
    old, new = before.turn.call, case.turn.call
    if old.params is new.params and old.response_model == new.response_model:
        return []
    models = (model_of(old), model_of(new))
    if models[0] == models[1]:
        models = (old.response_model or "", new.response_model or "")
    found: list[Suspect] = []
    if all(models) and models[0] != models[1]:
        found.append(
            Suspect(
                "cache_break",
                "model_changed",
                certainty_of(case),
                RULES["model"],
                section="tools",
                names=models,
            )
        )
    for changed in changed_params(old.params, new.params):
        loses = case.rules.keys.get(changed.holder)
        if loses is None or changed.holder in LIFE_KEYS:
            continue
        if not _reaches(case, loses):
            continue
        found.append(
            Suspect(
                "cache_break",
                changed.cause,
                certainty_of(case),
                RULES["param"],
                section=loses,
                names=(changed.name,),
                excerpts=(plain(changed.old), plain(changed.new)),
                source=cited(case.rules.facts[changed.holder]),
            )
        )
    return found


def first_image(case: Situation) -> Suspect | None:
    """The first image of a conversation, which loses what Claude's cache holds of the messages."""
    before = case.before
    if before is None or not case.rules.explicit or not before.is_whole or case.could == 0:
        return None
    if not case.reads_less or case.told.read is None or not _reaches(case, "messages"):
        return None
    kinds = [{case.whole.blocks[b].kind for b in view.blocks} for view in (before.view, case.view)]
    if "image" in kinds[0] or "image" not in kinds[1]:
        return None
    return Suspect("cache_break", None, certainty_of(case), RULES["image"], section="messages")


def in_the_bytes(case: Situation) -> Suspect | None:
    """The blocks are the same, and what was sent is not: key order, or what blocks leave out."""
    before = case.before
    if before is None or not before.is_whole or case.could == 0 or not case.reads_less:
        return None
    if case.told.read is None and not case.closely:
        return None
    return _in_the_bytes(case, len(before.view.blocks))


def _earlier_in_the_bytes(case: Situation, end: int) -> Suspect | None:
    """A difference that the blocks do not show, in front of the one they show."""
    before = case.before
    assert before is not None
    if not case.closely and case.told.read is None:
        return None
    if case.told.read and not case.read_little:
        return None
    return _in_the_bytes(case, end)


def _in_the_bytes(case: Situation, end: int) -> Suspect | None:
    before = case.before
    assert before is not None
    found = wire_difference(case.whole, before, min(end, case.horizon))
    # What was read ends before the difference that lost the rest.
    if found is not None and case.told.read:
        most = case.billed(before.view, found.difference.at + 1)
        if case.told.read > most + max(SLACK, NEAR * most):
            return None
    if found is None or (case.told.read is None and found.cause != "json_key_order_changed"):
        return None
    return Suspect(
        "cache_break",
        found.cause,
        certainty_of(case),
        RULES["order"] if found.cause == "json_key_order_changed" else RULES["content"],
        section=found.section,
        difference=found.difference,
        place=found.place,
        names=found.difference.names,
    )


def begins_another(case: Situation, cause: str | None) -> bool:
    """Whether the turn begins a conversation of its own beside that of the turn before.

    That is so where nothing was answered in it yet, and the turn before is gone on from by others,
    or neither what is asked nor the instructions are the same.
    """
    before = case.before
    assert before is not None
    roles = (case.whole.blocks[block].role for block in case.view.blocks[len(case.view.head) :])
    if "assistant" in roles:
        return False
    if cause in OTHER_WORDS and not talk_shared(case.whole, before.view, case.view):
        return True
    return goes_on_elsewhere(case.whole, before.view, case.turn, case.rules)


def certainty_of(case: Situation) -> Certainty:
    """Measured where usage says that less was read than there was."""
    told = case.told.read is not None and case.could is not None
    return "measured" if told and case.reads_less else "inferred"


def plain(value: Any) -> str:
    """A parameter's value in short. Captured text."""
    if value is None:
        return "(not set)"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:_PLAIN]


def _reaches(case: Situation, loses: Section) -> bool:
    """Whether anything was cached of the sections that a change loses."""
    assert case.before is not None
    view = case.before.view
    first = next(
        (
            k
            for k in range(len(view.head) + 1)
            if case.rules.order.index(view.section(k)) >= case.rules.order.index(loses)
        ),
        len(view.blocks),
    )
    return first < case.horizon
