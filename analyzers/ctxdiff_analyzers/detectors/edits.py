"""What kind of edit turned one text into another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias
from unicodedata import normalize

from ctxdiff_analyzers.hunks import TextDiff, text_diff

EditCause: TypeAlias = Literal[
    "whitespace_only_change",
    "unicode_form_changed",
    "session_id_in_prefix",
    "volatile_value",
    "section_appended",
]
FORM_ONLY = frozenset(("whitespace_only_change", "unicode_form_changed"))
"""Causes that leave every word as it was."""
ID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F-]{9,}|\b(?=\w*\d)[0-9a-zA-Z]*[a-zA-Z]\w{10,}\b")
VALUE = re.compile(r"[\d\s:.,/+\-TZ%$€]*\d[\d\s:.,/+\-TZ%$€]*|[A-Z][a-z]{2,8}")
"""Numbers, times and dates; names of days and months."""
SHOWN = 80
"""Code points of each side of an edit that are quoted."""
SMALL = 200
"""Code points of changed text up to which an edit may be no more than a value."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit, in short."""

    first_difference: int | None
    cause: EditCause | None
    old: str
    """What was there. Captured text."""
    new: str
    """What stands there now. Captured text."""


def edit(old: str, new: str) -> Edit:
    """The edit that turned `old` into `new`, and its cause where the texts tell it."""
    if old == new:
        return Edit(None, None, "", "")
    found = text_diff(old, new)
    gone = "".join(old[s.old_start : s.old_end] for s in found.spans if s.op == "delete")
    come = "".join(new[s.new_start : s.new_end] for s in found.spans if s.op == "insert")
    cause = _cause(old, new)
    if cause is None and len(gone) + len(come) <= SMALL:
        cause = _value(old, new, found)
    return Edit(found.first_diff_char, cause, gone[:SHOWN], come[:SHOWN])


def _cause(old: str, new: str) -> EditCause | None:
    if old.split() == new.split():
        return "whitespace_only_change"
    if normalize("NFKC", old) == normalize("NFKC", new):
        return "unicode_form_changed"
    if old and new.startswith(old):
        return "section_appended"
    return None


def _value(old: str, new: str, found: TextDiff) -> EditCause | None:
    """Whether all that changed are ids, or values such as a time."""
    words = []
    for span in found.spans:
        if span.op == "delete":
            words += _words_around(old, span.old_start, span.old_end)
        elif span.op == "insert":
            words += _words_around(new, span.new_start, span.new_end)
    if words and all(map(ID.fullmatch, words)):
        return "session_id_in_prefix"
    if words and all(VALUE.fullmatch(word) or ID.fullmatch(word) for word in words):
        return "volatile_value"
    return None


def _words_around(text: str, start: int, end: int) -> list[str]:
    """The words that the piece from `start` to `end` touches."""
    while start and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return [found for word in text[start:end].split() if (found := word.strip("()[]<>\"'.,;"))]
