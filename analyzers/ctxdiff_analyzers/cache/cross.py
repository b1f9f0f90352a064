"""Whether sessions of one program begin alike: what keeps them from sharing a cache entry."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ctxdiff_capture.model import BlockHead, CallDetail, Stage

from ctxdiff_analyzers.cache.difference import difference, place_of_difference
from ctxdiff_analyzers.cache.ledger import gap_s
from ctxdiff_analyzers.cache.markers import marks_of
from ctxdiff_analyzers.cache.order import Rendered, parting, rendered
from ctxdiff_analyzers.cache.pair import Difference
from ctxdiff_analyzers.cache.places import Place
from ctxdiff_analyzers.cache.rules import Section, rules_of
from ctxdiff_analyzers.edits import DATE, changed_words, edit_cause, ends, is_id
from ctxdiff_analyzers.timeline import Timeline, Turn

KEPT_SHARE = 0.3
"""Part of the shorter system text that two sessions of one program share, at least."""
_IS_TIME = re.compile(r"[\d:.,/+\-TZ]+|[A-Za-z]{3,9}\.?")


@dataclass(frozen=True, slots=True)
class CrossBreak:
    """Two sessions whose first calls begin alike and part before the conversation."""

    first: int
    """The earlier session, as an index into the sequence that was given."""
    second: int
    section: Section
    cause: str | None
    place: Place
    shared_tokens: int
    """Counted tokens of the blocks that both begin with."""
    lost_tokens: int
    """Counted tokens of the later call from there to its last marker or its conversation."""
    gap_s: float | None
    """Seconds between the two calls."""
    reusable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirstCall:
    """The first call of a session, with the timeline that holds it."""

    timeline: Timeline
    turn: Turn


def cross_breaks(calls: Sequence[FirstCall]) -> tuple[CrossBreak, ...]:
    """For each session the earlier one that it shares most with, where they part too early.

    Args:
        calls: first calls of sessions, in the order in which they started. Sessions that begin
            with other tools and another system text are other programs and not told of.
    """
    joint = _joined(calls)
    found: list[CrossBreak] = []
    for later in range(1, len(calls)):
        told = [_between(joint, earlier, later) for earlier in range(later)]
        best = max(
            (one for one in told if one is not None),
            key=lambda one: (one.shared_tokens, one.place.first_difference or 0, one.first),
            default=None,
        )
        same = any(_begin_alike(joint, earlier, later) for earlier in range(later))
        if best is not None and not same:
            found.append(best)
    return tuple(found)


def _begin_alike(joint: Timeline, earlier: int, later: int) -> bool:
    rules = rules_of(joint.turns[later].call)
    old, new = (rendered(joint, joint.turns[k], rules) for k in (earlier, later))
    i, j = parting(joint, old, new)
    return len(new.head) > 0 and i >= len(old.head) and j >= len(new.head)


def _between(joint: Timeline, earlier: int, later: int) -> CrossBreak | None:
    rules = rules_of(joint.turns[later].call)
    old, new = (rendered(joint, joint.turns[k], rules) for k in (earlier, later))
    i, j = parting(joint, old, new)
    if i >= len(old.blocks) or j >= len(new.blocks) or not new.head:
        return None
    found = difference(joint, old, new, (i, j))
    if found.section == "messages" or not _same_program(joint, found, old.turn, new.turn):
        return None
    counts = [joint.blocks[block].token_count for block in new.blocks]
    marks = marks_of(joint, new) if rules.explicit else None
    end = len(new.head) if marks is None or marks.last is None else marks.last.index + 1
    kept = marks_of(joint, old) if rules.explicit else None
    end_of_kept = (
        j if kept is None else max((p.index + 1 for p in kept.points if p.index < i), default=0)
    )
    whole = [one for one in rules.order[:2] if _ends_before(new, one, end_of_kept)]
    return CrossBreak(
        first=earlier,
        second=later,
        section=found.section,
        cause=_cause(joint, found, old.turn, new.turn),
        place=place_of_difference(joint, old, new, found),
        shared_tokens=sum(counts[:j]),
        lost_tokens=sum(counts[j : max(end, j)]),
        gap_s=gap_s(old.turn, new.turn),
        reusable=tuple(whole),
    )


def _ends_before(view: Rendered, section: Section, end: int) -> bool:
    mine = [k for k in range(len(view.head)) if view.section(k) == section]
    return bool(mine) and mine[-1] < end


def _same_program(joint: Timeline, found: Difference, old: Turn, new: Turn) -> bool:
    """Whether the two texts at fault are one text in two forms, or the same tools otherwise."""
    if not found.is_edit:
        return found.cause in ("tool_order_changed", "tool_set_changed", "section_appended")
    texts = _texts(joint, found, old, new)
    return sum(ends(*texts)) >= KEPT_SHARE * min(map(len, texts))


def _cause(joint: Timeline, found: Difference, old: Turn, new: Turn) -> str | None:
    """What keeps two sessions apart, in the words for what belongs to a session."""
    if not found.is_edit:
        return found.cause
    texts = _texts(joint, found, old, new)
    cause = edit_cause(*texts)
    if cause in ("whitespace_only_change", "unicode_form_changed", "json_key_order_changed"):
        return cause
    words = changed_words(*texts)
    if words and all(map(is_id, words)):
        return "session_id_in_prefix"
    if cause == "session_id_in_prefix":
        return cause
    if cause == "volatile_value" and all(map(_is_time, words)):
        return cause
    return "session_data_in_prefix"


def _is_time(word: str) -> bool:
    return DATE.fullmatch(word) is not None or _IS_TIME.fullmatch(word) is not None


def _texts(joint: Timeline, found: Difference, old: Turn, new: Turn) -> tuple[str, str]:
    assert found.old_block is not None
    assert found.new_block is not None
    blocks = joint.blocks[old.inputs[found.old_block]], joint.blocks[new.inputs[found.new_block]]
    return joint.text_of(blocks[0].content_hash), joint.text_of(blocks[1].content_hash)


def _joined(calls: Sequence[FirstCall]) -> Timeline:
    """One timeline of the first calls, numbered from 1, over one table of blocks."""
    places: dict[str, int] = {}
    blocks: list[BlockHead] = []
    labels: list[tuple[str, str]] = []
    owners: dict[str, Timeline] = {}
    turns: list[Turn] = []
    for number, call in enumerate(calls, 1):
        mine = []
        for index in call.turn.inputs:
            head = call.timeline.blocks[index]
            if head.content_hash not in places:
                places[head.content_hash] = len(blocks)
                blocks.append(head)
                owners[head.content_hash] = call.timeline
            mine.append(places[head.content_hash])
        table = [call.timeline.label_table[k] for k in call.turn.labels]
        labels += [label for label in dict.fromkeys(table) if label not in labels]
        head_of_call = replace(call.turn.call, seq=number, agent=None)
        turns.append(
            Turn(
                head_of_call,
                mine,
                [labels.index(label) for label in table],
                call.turn.positions,
                usage=call.turn.usage,
            )
        )
    sources = {call.turn.call.id: call.timeline for call in calls}
    return Timeline(
        tuple(turns),
        blocks,
        labels,
        lambda digest: owners[digest].text_of(digest),
        records=_Records(sources),
    )


class _Records:
    """The records of several sessions."""

    def __init__(self, sources: Mapping[str, Timeline]) -> None:
        self._sources = sources

    def detail(self, call_id: str) -> CallDetail:
        """As the session that holds the call has it."""
        return self._sources[call_id].records.detail(call_id)

    def request(self, call_id: str) -> bytes | None:
        """Likewise."""
        return self._sources[call_id].records.request(call_id)

    def stages(self, call_id: str) -> Sequence[Stage]:
        """Likewise."""
        return self._sources[call_id].records.stages(call_id)
