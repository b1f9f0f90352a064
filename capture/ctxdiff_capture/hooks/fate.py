"""What became of a tool's result on its way into the history."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from ctxdiff_capture.hashing import normal_form
from ctxdiff_capture.model import Json

Fate: TypeAlias = Literal["unchanged", "cut", "redacted", "rewritten", "dropped"]

_MASK = re.compile(
    r"[\[<({][^\[\]<>(){}]*(?:redact|mask|hidden|removed|secret|private)[^\[\]<>(){}]*[\])>}]"
    r"|\*{3,}|█+|[xX]{4,}|<[A-Z][A-Z_]+>",
    re.IGNORECASE,
)
_CUT_WORDS = re.compile(
    r"truncat|omit|elid|shorten|skip|snip|cut|more|char|line|token|byte|…|\.\.\.", re.IGNORECASE
)
_LONGEST_NOTE = 300
"""Characters of a note that stands where something was cut out."""


def fate_of(raw: Json, entered: Json) -> Fate:
    """What `entered`, the content in the history, is of `raw`, the tool's own result.

    `cut`: the beginning, the end or both, with a short note at most between them. `redacted`:
    all of it, with masks such as `[REDACTED]` or `***` in places. `dropped`: nothing of it.
    Anything else is `rewritten`.
    """
    was, now = text_of_result(raw), text_of_result(entered)
    if was == now:
        return "unchanged"
    if not now.strip():
        return "dropped"
    if now.strip() in was:
        return "cut"
    if _is_masked(was, now):
        return "redacted"
    return "cut" if _is_cut(was, now) else "rewritten"


def text_of_result(result: Json) -> str:
    """The text of a result: of a string, a message, a list of parts; JSON of anything else."""
    if result is None:
        return ""
    if isinstance(result, Mapping):
        for name in ("content", "text", "output"):
            if isinstance(result.get(name), str | list):
                return text_of_result(result[name])
    if isinstance(result, list) and result and all(map(_is_text_part, result)):
        return "".join(map(text_of_result, result))
    return normal_form(result)


def _is_text_part(part: Json) -> bool:
    return isinstance(part, str) or (
        isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def _is_masked(was: str, now: str) -> bool:
    """Whether `now` is `was` from its beginning to its end, but for masks."""
    pieces = _MASK.split(now)
    if len(pieces) == 1 or not (was.startswith(pieces[0]) and was.endswith(pieces[-1])):
        return False
    at = 0
    for piece in pieces:
        found = was.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return any(piece.strip() for piece in pieces)


def _is_cut(was: str, now: str) -> bool:
    """Whether `now` is a beginning and an end of `was`, with a note between them."""
    head = _common_start(was, now)
    # What the head took can be no part of the tail.
    tail = min(_common_start(was[::-1], now[::-1]), len(was) - head, len(now) - head)
    note = now[head : len(now) - tail]
    if head + tail == 0 or len(note) > _LONGEST_NOTE or len(was) <= head + tail:
        return False
    return head + tail >= len(note) or _CUT_WORDS.search(note) is not None


def _common_start(a: str, b: str) -> int:
    length = min(len(a), len(b))
    if a[:length] == b[:length]:
        return length
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low
