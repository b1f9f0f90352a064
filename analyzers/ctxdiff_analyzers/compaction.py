"""Where older messages of a conversation were replaced by few that stand for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from ctxdiff_analyzers.content import part_type, spoken
from ctxdiff_analyzers.exchanges import call_at
from ctxdiff_analyzers.hunks import common_prefix, common_suffix
from ctxdiff_analyzers.matching import Matching, is_marker, matching
from ctxdiff_analyzers.roles import is_conversation, is_prompt
from ctxdiff_analyzers.timeline import Timeline, Turn

LEAST_REPLACED = 3
"""Messages that must be gone at one place: fewer are an edit or an eviction."""
MOST_STANDING_IN = 2
"""New messages at that place, at most."""
READ = 20_000
"""Code points read of a text."""
READ_KEPT = 64
"""Messages that stayed whose words are set aside, the newest."""
LEAST_COMMON = 2
"""Telling words that the new text must share with what is gone, at least."""
ANCHORED, ALONE = 0.12, 0.5
"""Share of the new text's telling words that come from what is gone: where messages of the same
conversation stay, and where nothing else shows that it is the same one."""
NAMED_ALONE = 0.25
BEYOND = 0.2
"""Telling words from later messages than the first one, as a part of those from that one."""
LEAST_ADDED = 40
"""Code points that a message or system text must have gained to hold a summary."""
SHORT = 0.5
"""Tokens of a text that stands for others without sharing a word with them, as a part of theirs."""
SAME, GROWN, SLACK = 0.7, 1.5, 16
"""Share of a message that stays in an edited form of it, and how much longer that may be: times,
and code points beside."""
HEAD, TITLE = 400, 80
"""Code points at the start of a text in which it says what it is; and where it does so at once."""

SUMMARY = re.compile(
    r"summar|compact(?:ed|ion)|condens|recap|(?:conversation|session|chat|history) so far"
    r"|(?:earlier|previous|prior) (?:messages|conversation|context|turns|discussion)"
    r"|zusammen(?:fassung|gefasst)|bisherige|gesprächsverlauf|résum|condensé|resum|sammendrag"
    r"|oppsummer|sammanfatt|samenvatting|yhteenveto|riassunt|riepilog|podsumowan|streszczen"
    r"|shrnut|rezumat|összefoglal|özet|ringkasan|tóm tắt|кратк|резюме|сводк|стислий|підсум"
    r"|περίληψη|סיכום|ملخص|सारांश|摘要|总结|總結|概要|要約|まとめ|요약|สรุป",
    re.IGNORECASE,
)
"""How texts that stand for earlier ones name themselves."""
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(
    rf"(?=([{_UNSPACED}]{{2}}))|([^\W{_UNSPACED}]{{4,}}|[^\W{_UNSPACED}]*\d[^\W{_UNSPACED}]*)"
)
"""Of scripts whose words have no spaces, or endings that are one with them, every two letters."""
_PARTICLES = re.compile(r"[\u3040-\u309f]{2}")
_HEADED = re.compile(r"[:\uff1a\]】>\n]| [-\u2013\u2014] ")


_Carried: TypeAlias = Mapping[int, frozenset[str]]
"""Index of an old message to those of its telling words that the new text has."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """Several messages of the older turn that the newer one has in few words."""

    replaced: tuple[int, ...]
    """Indices into the older turn's inputs, ascending; likewise below."""
    lost: tuple[int, ...]
    """Of `replaced` those of which no telling word is left."""
    kept: int
    """Messages of the older turn that stand word for word in the newer one."""
    standing_in: tuple[int, ...]
    """Indices into the newer turn's inputs of what stands for them."""
    is_named: bool
    """True when the new text calls itself a summary."""


def compaction(timeline: Timeline, old: Turn, new: Turn) -> Compaction | None:
    """What of `old` was compacted when it became `new`; None for an ordinary turn.

    By structure: a run of messages is gone, and one or two new ones that are not the ordinary new
    end stand in its place, or a message beside it or the system text has gained what stands for
    it. That text must share telling words with what is gone; less is enough where it calls itself
    a summary or where messages of the same conversation stay.
    """
    return timeline.known(
        f"compaction {old.call.id} {new.call.id}", lambda: _compaction(timeline, old, new)
    )


def is_rewritten_summary(timeline: Timeline, old: Turn, new: Turn) -> bool:
    """True when the conversation starts with a summary in both turns, and with another one."""
    first, now = _opening(timeline, old), _opening(timeline, new)
    return (
        first is not None
        and now is not None
        and first != now
        and _is_titled(timeline, first)
        and _is_titled(timeline, now)
    )


def is_provider_summary(timeline: Timeline, block: int) -> bool:
    """True for a part by which the provider stands in for earlier messages."""
    head = timeline.blocks[block]
    return (
        head.opens_json
        and head.kind == "content_part"
        and timeline.fact("part type", block, part_type) == "compaction"
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A run of old messages that are gone, and what is new there."""

    gone: list[int]
    standing: dict[int, str]
    """Index of a new block to its text, or to what it has gained."""
    is_anchored: bool
    """True when messages of the same conversation stay and what stands here is not its end."""
    is_amid: bool = False
    """True when messages that stay stand behind it."""
    is_end: bool = False
    """True for a lone message that is also the conversation's new end."""


def _compaction(timeline: Timeline, old: Turn, new: Turn) -> Compaction | None:
    if not _may_be(timeline, old, new):
        return None
    found = matching(old, new, timeline)
    kept = [i for i, _ in found.same if is_conversation(timeline.blocks[old.inputs[i]])]
    for place in _places(timeline, old, new, found):
        made = _weighed(timeline, old, new, place, kept)
        if made is not None:
            return made
    return None


def _may_be(timeline: Timeline, old: Turn, new: Turn) -> bool:
    """Cheaply whether enough messages of the old turn are not in the new one."""
    here = set(new.inputs)
    missing = 0
    for block in old.inputs:
        missing += block not in here and is_conversation(timeline.blocks[block])
        if missing >= LEAST_REPLACED:
            return True
    return False


def _places(timeline: Timeline, old: Turn, new: Turn, found: Matching) -> Iterator[_Place]:
    """Runs of messages that are gone, with what is new between the neighbours that stayed."""
    said = _said(timeline, old)
    stays = dict(found.same)
    stays |= {i: j for i, j in found.edited if _is_form(timeline, old.inputs[i], new.inputs[j])}
    anchors = [i for i in said if i in stays]
    for is_kept, run in groupby(said, key=stays.__contains__):
        gone = list(run)
        if is_kept or len(gone) < LEAST_REPLACED:
            continue
        before = max((i for i in anchors if i < gone[0]), default=None)
        after = min((i for i in anchors if i > gone[-1]), default=None)
        left = -1 if before is None else stays[before]
        right = len(new.inputs) if after is None else stays[after]
        come = {*found.new, *(j for i, j in found.edited if i not in stays)}
        fresh = [j for j in _said(timeline, new) if j in come and left < j < right]
        is_whole_end = False
        if after is None:
            answered = _answered_with(timeline, old, new, fresh)
            fresh, is_whole_end = _without_tail(timeline, old, new, fresh)
            if len(answered) > len(fresh):
                texts = {j: _text(timeline, new.inputs[j]) for j in answered}
                yield _Place(gone, texts, is_anchored=False, is_end=True)
        if fresh and len(fresh) <= MOST_STANDING_IN:
            anchored = bool(anchors) and not is_whole_end
            texts = {j: _text(timeline, new.inputs[j]) for j in fresh}
            yield _Place(gone, texts, anchored, after is not None, is_whole_end)
        gained = _gained(timeline, old, new, found, [i for i in (before, after) if i is not None])
        if gained:
            yield _Place(gone, gained, is_anchored=False)


def _gained(
    timeline: Timeline, old: Turn, new: Turn, found: Matching, beside: Sequence[int]
) -> dict[int, str]:
    """What the system text, or a message beside the run, has more than before."""
    gained = {j: _text(timeline, new.inputs[j]) for j in found.new if _is_prompt(timeline, new, j)}
    for i, j in found.edited:
        if i in beside or _is_prompt(timeline, new, j):
            gained[j] = _added(_text(timeline, old.inputs[i]), _text(timeline, new.inputs[j]))
    return {j: text for j, text in gained.items() if len(text) >= LEAST_ADDED}


def _without_tail(
    timeline: Timeline, old: Turn, new: Turn, fresh: list[int]
) -> tuple[list[int], bool]:
    """New messages without the ordinary new end, and whether they are that end themselves.

    The end is the model's last answer and what follows it; where that answer is not there, the
    last message, with the call that it answers.
    """
    answers = set(old.outputs)
    for at, j in enumerate(fresh):
        if new.inputs[j] in answers:
            return fresh[:at], False
    if len(fresh) <= 1:
        return fresh, True
    at = len(fresh) - 1
    roles = [timeline.blocks[new.inputs[j]].role for j in fresh]
    while at > 1 and roles[at] != "assistant" and _is_call(timeline, new.inputs[fresh[at - 1]]):
        at -= 1
    return fresh[:at], False


def _is_call(timeline: Timeline, block: int) -> bool:
    return call_at(timeline, block) is not None


def _answered_with(timeline: Timeline, old: Turn, new: Turn, fresh: list[int]) -> list[int]:
    """New messages without the last one, where a text in the model's name ends them.

    None where that text may be the model's last answer.
    """
    if not 2 <= len(fresh) - 1 <= MOST_STANDING_IN or not old.outputs:
        return []
    said = timeline.blocks[new.inputs[fresh[-2]]]
    if said.role != "assistant" or timeline.blocks[new.inputs[fresh[-1]]].role == "assistant":
        return []
    words = _words([_text(timeline, new.inputs[fresh[-2]])])
    answer = _words(_text(timeline, block) for block in old.outputs)
    return [] if len(words & answer) >= ALONE * len(answer) else fresh[:-1]


def _weighed(
    timeline: Timeline, old: Turn, new: Turn, place: _Place, kept: Sequence[int]
) -> Compaction | None:
    told = _words(place.standing.values())
    stay = _words(
        _text(timeline, old.inputs[i]) for i in (*kept[-READ_KEPT:], *_prompts(timeline, old))
    )
    said = {i: _words([_text(timeline, old.inputs[i])]) & told for i in place.gone}
    is_named = any(SUMMARY.search(text[:HEAD]) for text in place.standing.values())
    # A short text may be made of words that all messages use.
    carried = {i: found - stay for i, found in said.items()}
    is_told = _is_enough(place, carried, told - stay, is_named=is_named)
    # One that begins like the old conversation is another of its kind.
    is_told = is_told and not (place.is_end and _begins_alike(carried))
    if not is_told and place.is_anchored:
        carried, is_told = said, _is_share(said, told, ALONE)
    if not is_told and not _is_short(timeline, old, new, place):
        return None
    return Compaction(
        tuple(place.gone),
        tuple(i for i in place.gone if not carried[i]),
        len(kept),
        tuple(place.standing),
        is_named,
    )


def _is_enough(
    place: _Place, carried: _Carried, telling: frozenset[str], *, is_named: bool
) -> bool:
    if place.is_anchored and is_named:
        return True
    if place.is_end:
        # A new question may speak of the same things.
        if any(map(_is_headed, place.standing.values())):
            return _is_share(carried, telling, NAMED_ALONE)
        return _is_share(carried, telling, ALONE, least=2 * LEAST_COMMON)
    share = ANCHORED if place.is_anchored else NAMED_ALONE if is_named else ALONE
    return _is_share(carried, telling, share)


def _is_headed(text: str) -> bool:
    """True for a text that has a heading, or a first word set apart, which calls it a summary."""
    start = text.lstrip("#* ")[:TITLE]
    end = _HEADED.search(start)
    return end is not None and SUMMARY.search(start[: end.end()]) is not None


def _begins_alike(carried: _Carried) -> bool:
    """True where what is common comes from the first of the messages, and little from others."""
    first = carried[min(carried)]
    rest = frozenset[str]().union(*carried.values()) - first
    return len(rest) < LEAST_COMMON or len(rest) < BEYOND * len(first)


def _is_share(
    carried: _Carried, telling: frozenset[str], share: float, least: int = LEAST_COMMON
) -> bool:
    """True when at least that share of the telling words comes from what is gone."""
    common = frozenset[str]().union(*carried.values())
    return len(common) >= least and len(common) >= share * len(telling)


def _is_short(timeline: Timeline, old: Turn, new: Turn, place: _Place) -> bool:
    """True for a short text amid the history in the place of much longer messages."""
    if not place.is_amid:
        return False
    gone = sum(timeline.blocks[old.inputs[i]].token_count for i in place.gone)
    come = sum(timeline.blocks[new.inputs[j]].token_count for j in place.standing)
    return come <= SHORT * gone


def _opening(timeline: Timeline, turn: Turn) -> int | None:
    """The first message of a conversation that has more than one."""
    said = _said(timeline, turn)
    return turn.inputs[said[0]] if len(said) > 1 else None


def _is_titled(timeline: Timeline, block: int) -> bool:
    return timeline.fact("is summary", block, lambda text: SUMMARY.search(text[:TITLE]) is not None)


def _said(timeline: Timeline, turn: Turn) -> list[int]:
    return [
        index
        for index, block in enumerate(turn.inputs)
        if is_conversation(timeline.blocks[block]) and not is_marker(timeline, block)
    ]


def _prompts(timeline: Timeline, turn: Turn) -> list[int]:
    return [index for index in range(len(turn.inputs)) if _is_prompt(timeline, turn, index)]


def _is_prompt(timeline: Timeline, turn: Turn, index: int) -> bool:
    return is_prompt(timeline.blocks[turn.inputs[index]])


def _is_form(timeline: Timeline, old: int, new: int) -> bool:
    """True where a message is still mostly there and no more than that, edited or gone on."""
    one, two = _text(timeline, old), _text(timeline, new)
    if not one or len(two) > GROWN * len(one) + SLACK:
        return False
    if SUMMARY.search(_added(one, two)[:HEAD]):
        return False
    return len(one) - _between(one, two)[1] >= SAME * len(one)


def _added(old: str, new: str) -> str:
    """What `new` has between the common start and the common end."""
    head, gone = _between(old, new)
    return new[head : len(new) - (len(old) - gone - head)]


def _between(old: str, new: str) -> tuple[int, int]:
    """Length of the common start, and of what `old` has between it and the common end."""
    head = common_prefix(old, new)
    tail = common_suffix(old, new, min(len(old), len(new)) - head)
    return head, len(old) - head - tail


def _words(texts: Iterable[str]) -> frozenset[str]:
    """A text's telling words: longer ones and those with digits."""
    return frozenset(
        (pair or word).casefold()
        for text in texts
        for pair, word in _WORD.findall(text)
        if (pair or word) and not _PARTICLES.fullmatch(pair)
    )


def _text(timeline: Timeline, block: int) -> str:
    """The start of what a message says; nothing of an image, whose text only describes it."""
    head = timeline.blocks[block]
    if head.kind == "image":
        return ""
    text = timeline.text_of(head.content_hash)
    return spoken(text)[:READ] if head.opens_json and head.kind == "content_part" else text[:READ]
