"""What kind of edit turned one text into another."""

from __future__ import annotations

import calendar
import json
import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from unicodedata import normalize

from ctxdiff_analyzers.hunks import TextDiff, common_prefix, common_suffix, text_diff

EditCause: TypeAlias = Literal[
    "whitespace_only_change",
    "unicode_form_changed",
    "json_key_order_changed",
    "session_id_in_prefix",
    "volatile_value",
    "section_appended",
]
FORM_ONLY = frozenset(("whitespace_only_change", "unicode_form_changed", "json_key_order_changed"))
"""Causes that leave every word as it was."""
ID = re.compile(
    r"(?:[A-Za-z]+[_:-])?[0-9a-fA-F]{8}-[0-9a-fA-F-]{9,}"  # a UUID, with or without a prefix
    r"|(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[0-9A-Za-z][0-9A-Za-z_+/=.-]{11,}"
    r"|[0-9a-f]{8,}|[0-9]{10,}"
)
DATE = re.compile(r"\d{2,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]?\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}.*")
"""Dates and times, which are long and no ids."""
_NAMES = frozenset(
    name.lower().rstrip(".")
    for names in (
        calendar.month_name,
        calendar.month_abbr,
        calendar.day_name,
        calendar.day_abbr,
        ("am", "pm", "utc", "gmt", "today", "yesterday", "tomorrow", "now", "just"),
    )
    for name in names
    if name
)
"""Words that stand in for numbers in times and dates."""
SHOWN = 120
"""Code points of each side of an edit that are quoted."""
BESIDE = 24
"""Code points of unchanged text that are quoted on each side of it."""
SMALL = 240
"""Code points of changed text up to which an edit may be no more than a value."""
FEW = 16
"""Words up to which likewise."""
WORD_REACH = 2_000
"""Code points beside an edit that are looked at for the ends of a word; what has none is none."""
LONG_WORD = 64
_ABOUT_SESSION = re.compile(r"session|conversation|thread|chat|\brun\b|trace", re.IGNORECASE)
_JSON_UP_TO = 2_000_000
_MARKS = 8
"""Code points that one letter may take."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit, in short."""

    first_difference: int | None
    cause: EditCause | None
    old: str
    """What was there, with a few words around it. Captured text."""
    new: str
    """What stands there now, likewise. Captured text."""


def edit(old: str, new: str) -> Edit:
    """The edit that turned `old` into `new`, and its cause where the texts tell it."""
    if old == new:
        return Edit(None, None, "", "")
    found = text_diff(old, new)
    head, tail = ends(old, new)
    return Edit(
        found.first_diff_char,
        _cause(old, new, found),
        _around(old, head, len(old) - tail),
        _around(new, head, len(new) - tail),
    )


def edit_cause(old: str, new: str) -> EditCause | None:
    """What kind of edit it was, where the texts tell it."""
    return None if old == new else _cause(old, new, None)


def form_cause(old: str, new: str) -> EditCause | None:
    """The kind of an edit that leaves every word as it was; None for any other."""
    head, tail = ends(old, new)
    # A letter and its marks may stand on both sides of where the texts part.
    start, end = max(0, head - _MARKS), max(0, tail - _MARKS)
    one, other = old[start : len(old) - end], new[start : len(new) - end]
    if "".join(one.split()) == "".join(other.split()):
        return "whitespace_only_change"
    if _normal(one) == _normal(other):
        return "unicode_form_changed"
    values = _json(old), _json(new)
    if values[0] is not None and values[0] == values[1]:
        same_order = json.dumps(values[0]) == json.dumps(values[1])
        return "unicode_form_changed" if same_order else "json_key_order_changed"
    return None


def ends(old: str, new: str) -> tuple[int, int]:
    """Code points that two texts share at their start and, behind that, at their end."""
    head = common_prefix(old, new)
    return head, common_suffix(old, new, min(len(old), len(new)) - head)


def _cause(old: str, new: str, found: TextDiff | None) -> EditCause | None:
    form = form_cause(old, new)
    if form is not None:
        return form
    head, tail = ends(old, new)
    if head + tail == len(old) and _is_section(old, new[head : len(new) - tail], head, tail):
        return "section_appended"
    # The ends are shared, so what is between them bounds what an alignment could find.
    if max(len(old), len(new)) - head - tail > 40 * SMALL:
        return None
    return _value(old, new, found or text_diff(old, new))


def _is_section(old: str, added: str, head: int, tail: int) -> bool:
    """Whether words were put in between or behind, and no value made longer."""
    words = [word for word in re.findall(r"[^\W\d_]{2,}", added) if word.lower() not in _NAMES]
    at_a_border = not tail or not head or old[head - 1].isspace() or added[:1].isspace()
    return bool(old) and len(words) >= 2 and at_a_border


def _value(old: str, new: str, found: TextDiff) -> EditCause | None:
    """Whether all that changed are ids, or values such as a time."""
    if found.deleted_chars + found.inserted_chars > SMALL:
        return None
    words, about = _touched(old, new, found)
    if not words or len(words) > FEW or max(map(len, words)) > LONG_WORD:
        return None
    ids = [word for word in words if _is_id(word)]
    if len(ids) == len(words):
        return "session_id_in_prefix" if _ABOUT_SESSION.search(about) else "volatile_value"
    values = sum(1 for word in words if _is_value(word))
    return "volatile_value" if values and len(words) - values <= values // 2 + 1 else None


def _around(text: str, start: int, end: int) -> str:
    """The piece from `start` to `end` with the words that it touches and those beside it."""
    before, behind = text[max(0, start - BESIDE) : start], text[end : end + BESIDE]
    if len(before) == BESIDE:
        before = before[before.find(" ") + 1 :]
    if len(behind) == BESIDE:
        behind = behind[: behind.rfind(" ") + 1] or behind
    return f"{before}{text[start:end]}{behind}"[:SHOWN]


def changed_words(old: str, new: str) -> list[str]:
    """The words of both texts that the edit touches; nothing where it is a large one."""
    head, tail = ends(old, new)
    if old == new or max(len(old), len(new)) - head - tail > 40 * SMALL:
        return []
    return _touched(old, new, text_diff(old, new))[0]


def is_id(word: str) -> bool:
    """True for a word that looks drawn by lot: a UUID, a hash, a long number, a token."""
    return _is_id(word)


def _is_id(word: str) -> bool:
    bare = word.rpartition("=")[2]
    return ID.fullmatch(bare) is not None and DATE.fullmatch(bare) is None


def _touched(old: str, new: str, found: TextDiff) -> tuple[list[str], str]:
    """The words that an edit touches, and what stands in front of the first."""
    gone: list[str] = []
    come: list[str] = []
    about = ""
    for span in found.spans:
        if span.op == "delete":
            gone += _words_around(old, span.old_start, span.old_end)
            about = about or old[max(0, span.old_start - 60) : span.old_start]
        elif span.op == "insert":
            come += _words_around(new, span.new_start, span.new_end)
            about = about or new[max(0, span.new_start - 60) : span.new_start]
    # Several spans may touch one word.
    return [*dict.fromkeys(gone), *dict.fromkeys(come)], about


def _is_value(word: str) -> bool:
    return any(letter.isdigit() for letter in word) or word.lower().rstrip(".") in _NAMES


def _words_around(text: str, start: int, end: int) -> list[str]:
    """The words that the piece from `start` to `end` touches."""
    first, last = max(0, start - WORD_REACH), min(len(text), end + WORD_REACH)
    while start > first and not text[start - 1].isspace():
        start -= 1
    while end < last and not text[end].isspace():
        end += 1
    return [found for word in text[start:end].split() if (found := word.strip("()[]<>\"'.,;:"))]


def _normal(text: str) -> str:
    return text if text.isascii() else normalize("NFKC", text)


def _json(text: str) -> Any:
    if not text.startswith(("{", "[")) or len(text) > _JSON_UP_TO:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
