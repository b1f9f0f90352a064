"""What kind of edit turned one text into another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias
from unicodedata import normalize

from ctxdiff_analyzers.hunks import Budget, hunk

EditCause: TypeAlias = Literal[
    "whitespace_only_change",
    "unicode_form_changed",
    "session_id_in_prefix",
    "volatile_value",
    "section_appended",
]
ID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F-]{9,}|\b(?=\w*\d)[0-9a-zA-Z]*[a-zA-Z]\w{10,}\b")
VALUE = re.compile(r"[\d\s:.,/+\-TZ%$€]*\d[\d\s:.,/+\-TZ%$€]*|[A-Z][a-z]{2,8}")
"""Numbers, times and dates; names of days and months."""
SHOWN = 80
"""Code points of each side of an edit that are quoted."""
SMALL = 60
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
    found = hunk(old, new, Budget(context_chars=24, max_chars=2_000))
    gone = "".join(s.text for s in found.segments if s.op == "delete")
    come = "".join(s.text for s in found.segments if s.op == "insert")
    cause = _cause(old, new)
    if cause is None and 0 < found.deleted_chars + found.inserted_chars <= SMALL:
        cause = _value(old, new, found.first_diff_char or 0)
    return Edit(found.first_diff_char, cause, gone[:SHOWN], come[:SHOWN])


def _cause(old: str, new: str) -> EditCause | None:
    if old.split() == new.split():
        return "whitespace_only_change"
    if normalize("NFKC", old) == normalize("NFKC", new):
        return "unicode_form_changed"
    if old and new.startswith(old):
        return "section_appended"
    return None


def _value(old: str, new: str, at: int) -> EditCause | None:
    """Whether the words around the first difference are an id, or a value such as a time."""
    one, other = _word_at(old, at), _word_at(new, at)
    if ID.fullmatch(one) and ID.fullmatch(other):
        return "session_id_in_prefix"
    if VALUE.fullmatch(one) and VALUE.fullmatch(other):
        return "volatile_value"
    return None


def _word_at(text: str, at: int) -> str:
    start = at
    while start and not text[start - 1].isspace():
        start -= 1
    end = at
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end].strip("()[]<>\"'.,;")
