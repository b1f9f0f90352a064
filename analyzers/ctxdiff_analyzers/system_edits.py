"""What kind of change of a system text it was, beyond what the two texts tell by themselves."""

from __future__ import annotations

import re

from ctxdiff_analyzers.edits import edit_cause, ends
from ctxdiff_analyzers.timeline import Timeline, Turn

KEPT_SHARE = 0.5
"""Part of a text that must have stayed for it to be the same text, edited."""
PASSAGE_WORDS = 5
"""Words on each side from which a passage under a heading is no value of a field."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_ANY_WORD = re.compile(r"[^\W\d_]{2,}")
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]{0,80}>")
_FIELD = re.compile(r"^[^\n:]{1,40}: ", re.MULTILINE)
_COLONS = (":", "\uff1a")
_FRAME = 4_000
"""Code points around a passage that are looked at."""


def system_cause(timeline: Timeline, old: Turn, i: int, new: Turn, j: int) -> str | None:
    """Why the system text at input `i` of the old turn is another at input `j` of the new one.

    None where it was reworded.
    """
    texts = _text(timeline, old, i), _text(timeline, new, j)
    found = edit_cause(*texts)
    if found is not None:
        return found
    head, tail = ends(*texts)
    passages = tuple(text[head : len(text) - tail] for text in texts)
    before, behind = texts[1][:head][-_FRAME:], texts[1][len(texts[1]) - tail :][:_FRAME]
    words = [_words(text) for text in passages]
    if len(words[0] ^ words[1]) >= 2:
        known = set(map(str.lower, _WORD.findall(f"{before} {behind}")))
        asked = _question(timeline, new), _question(timeline, old)
        tagged = timeline.label_table[new.labels[j]][1] == "tagged"
        fits = (words[1] - words[0] - known) & asked[0] or (words[0] - words[1] - known) & asked[1]
        if tagged or fits or _is_passage(before, behind, passages):
            return "retrieval_in_prefix"
    kept = (head + tail) / max(len(texts[0]), len(texts[1]), 1)
    if kept >= KEPT_SHARE and _are_fields(before, passages):
        return "session_data_in_prefix"
    return None if kept >= KEPT_SHARE else "system_replaced"


def exchanged_cause(timeline: Timeline, old: Turn, i: int, new: Turn, j: int) -> str:
    """Why a system text stands beside the others where an unlike one stood before.

    `retrieval_in_prefix` where both are prose in one tag, or under one heading that a colon ends
    or the newest question fits to.
    """
    texts = _text(timeline, old, i).strip(), _text(timeline, new, j).strip()
    (was, _, before), (heading, _, now) = (text.partition("\n") for text in texts)
    if was != heading or not (_is_prose(before) and _is_prose(now)):
        return "system_replaced"
    names_it = heading.endswith(_COLONS) or _TAG.fullmatch(heading) is not None
    fits = heading.startswith("#") and _fits(timeline, new, before, now)
    return "retrieval_in_prefix" if names_it or fits else "system_replaced"


def _fits(timeline: Timeline, turn: Turn, before: str, now: str) -> bool:
    """Whether what is new speaks of what was asked."""
    return not (_words(now) - _words(before)).isdisjoint(_question(timeline, turn))


def _words(text: str) -> set[str]:
    return set(map(str.lower, _WORD.findall(text[: 4 * _FRAME])))


def _is_prose(text: str) -> bool:
    """Whether a text is too long for a field's value; some scripts have no spaces."""
    start = text[:_FRAME]
    words = len(_ANY_WORD.findall(start))
    return words >= PASSAGE_WORDS or sum(1 for c in start if c >= "\u2e80") >= 4 * PASSAGE_WORDS


def _is_passage(before: str, behind: str, passages: tuple[str, ...]) -> bool:
    """Whether prose was exchanged for prose in its own place: in a tag, or under a heading."""
    if not all(map(_is_prose, passages)):
        return False
    if _is_enclosed(before, behind):
        return True
    lines = [line.strip() for line in before.split("\n")]
    last = next((line for line in reversed(lines[:-1]) if line), "")
    return not re.search(r"[^\W\d_]{4,}", lines[-1]) and last.endswith(_COLONS)


def _is_enclosed(before: str, behind: str) -> bool:
    """Whether a tag that opens before the passage closes behind it."""
    opened: list[str] = []
    for found in _TAG.finditer(before):
        if not found[1]:
            opened.append(found[2])
        elif found[2] in opened:
            opened.remove(found[2])
    return any(f"</{tag}" in behind for tag in opened)


def _are_fields(before: str, passages: tuple[str, ...]) -> bool:
    """Whether what differs are values of named fields: `Branch: main`."""
    line = before.rpartition("\n")[2]
    names = [_FIELD.findall(text) for text in passages]
    begun = re.search(r"(?:^|[.;,] )[^\n:.]{1,40}: ?[^\n]{0,80}$", line) is not None
    return begun or (bool(names[0]) and names[0] == names[1])


def _question(timeline: Timeline, turn: Turn) -> set[str]:
    """Words of the newest thing that the user said."""
    for block in reversed(turn.inputs):
        head = timeline.blocks[block]
        if head.role == "user" and head.kind not in ("image", "tool_schema"):
            text = timeline.text_of(head.content_hash)[:_FRAME]
            return set(map(str.lower, _WORD.findall(text)))
    return set()


def _text(timeline: Timeline, turn: Turn, at: int) -> str:
    return timeline.text_of(timeline.blocks[turn.inputs[at]].content_hash)
