"""Everything that a command prints, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from io import TextIOWrapper
from typing import Any

from ctxdiff_mcp.gate.captured import Captured, Name
from ctxdiff_mcp.gate.clean import escape
from ctxdiff_mcp.gate.raw import raw
from ctxdiff_mcp.text.lines import Line, Style
from ctxdiff_mcp.text.shown import cut, masked, obeyed_by_nothing

PROBLEM_CHARS = 600
"""Of a problem and of its remedy."""
_HALVES = re.compile("[\ud800-\udfff]")
_CODES: dict[Style, str] = {
    "added": "32",
    "good": "32",
    "evicted": "31",
    "bad": "31",
    "modified": "33",
    "warn": "33",
    "dim": "2",
}


def make_streams_safe() -> None:
    """Let no character be too much for the terminal's encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_lines(lines: Iterable[Line]) -> None:
    """Print lines, coloured on a terminal unless `NO_COLOR` is set. No colour comes of a text."""
    # A shell's `>&-` leaves no stream at all.
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    colour = is_terminal and not os.environ.get("NO_COLOR")
    for line in lines:
        text = obeyed_by_nothing(line.text)
        code = _CODES.get(line.style) if colour else None
        print(f"\x1b[{code}m{text}\x1b[0m" if code else text)


def write_json(answer: object) -> None:
    """Print one JSON document: strict, and in ASCII, so that a terminal obeys nothing in it."""
    text = json.dumps(plain(answer), ensure_ascii=True, allow_nan=False, indent=2)
    print(text.replace("\x7f", "\\u007f"))


def plain(value: object) -> Any:
    """A value that JSON can spell: dataclasses by field name, captured text as the text itself.

    Credentials in captured text are tags. What JSON has no word for is told apart: NaN and the
    infinities become null, half a surrogate pair and a byte that was not UTF-8 become `⟦D800⟧` and
    `⟦xFF⟧`.
    """
    if isinstance(value, Captured):
        return _whole(masked(raw(value)))
    if isinstance(value, Name):
        return _whole(masked(raw(value.text)))
    if isinstance(value, str):
        return _whole(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def complain(problem: str, *, remedy: str, rows: Sequence[str] = ()) -> None:
    """Print a problem and what to do about it on one line of stderr, and a line for each row.

    Any of them may hold a stranger's words: names of files, arguments, what a trace says. Rows are
    indented, so that none can be taken for a line of our own.
    """
    told = f"{cut(problem, PROBLEM_CHARS)}: {cut(remedy, PROBLEM_CHARS)}"
    print("ctxdiff-mcp:", told, file=sys.stderr)
    for row in rows:
        print(f"  {obeyed_by_nothing(row)}", file=sys.stderr)


def _whole(text: str) -> str:
    """The text with its halves of pairs as escapes; all else as it is."""
    return _HALVES.sub(lambda half: escape(half[0]), text)
