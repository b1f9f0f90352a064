"""What answers point at: runs, blocks, and the words of a trace that are known to be harmless."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone

from ctxdiff_mcp.gate.captured import Captured, Name

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "model"})
KINDS = frozenset({"message", "content_part", "tool_schema", "image"})
TOOL_RESULT = "tool_result"
"""The stage that holds a tool's raw result and no prompt."""
STAGE_WORDS = frozenset({"pre_optimization", "post_optimization", "before_model", TOOL_RESULT})
"""Names of stages that the recorder's own hooks give."""
OTHER = "other"
"""Stands for a role, kind or stage outside the known lists."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run as it is asked for."""

    name: Name
    """The exact handle: the file's path below the runs folder without `.ctrace`, and
    `#` with the start of the session's id where the file holds several."""
    session_id: Captured


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block of a run, without its text."""

    content_hash: str
    """64 lower-case hex digits, or empty when the file has something else in this place."""
    ordinal: int
    """1, 2, ... by first appearance in the run: `b7`."""
    role: str
    """One of `ROLES`, or `other`."""
    kind: str
    """One of `KINDS`, or `other`."""
    tokens: int
    exact: bool
    """False when `tokens` is an estimate."""


def digest_or_nothing(text: str) -> str:
    """The content hash, or an empty text when it is not one."""
    return text if _DIGEST.fullmatch(text) else ""


def known(word: str, words: frozenset[str]) -> str:
    """The word itself when it is one of `words`, otherwise `other`."""
    return word if word in words else OTHER


def names(texts: Iterable[str | None], letter: str) -> dict[str | None, Name]:
    """Each distinct text with its handle, numbered by first appearance; None gets no name."""
    distinct = dict.fromkeys(text for text in texts if text is not None)
    return {text: Name(Captured(text), f"{letter}{n}") for n, text in enumerate(distinct, 1)}


def moment(text: str | None) -> datetime | None:
    """A point in time in UTC; None when `text` is not one. Without a zone it is read as UTC."""
    if text is None or len(text) > 40:
        return None
    try:
        found = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
        return found.replace(tzinfo=found.tzinfo or timezone.utc).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def instant(text: str | None) -> str | None:
    """A point in time as `2026-11-30T11:39:03Z`; None when `text` is not one."""
    found = moment(text)
    return None if found is None else f"{found.replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def two_digits(count: int) -> int:
    """A count to two significant digits, halves away from zero: 1,250 is 1,300."""
    unit: int = 10 ** max(len(str(abs(count))) - 2, 0)
    rounded = (abs(count) + unit // 2) // unit * unit
    return rounded if count >= 0 else -rounded
