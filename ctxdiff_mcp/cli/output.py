"""Everything that a command prints, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from io import TextIOWrapper
from typing import Any

from ctxdiff_mcp.gate.captured import Captured, Name
from ctxdiff_mcp.gate.raw import raw
from ctxdiff_mcp.text.lines import Line, Style
from ctxdiff_mcp.text.shown import masked, shown

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
    """Print lines, coloured on a terminal unless `NO_COLOR` is set."""
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for line in lines:
        code = _CODES.get(line.style) if colour else None
        print(f"\x1b[{code}m{line.text}\x1b[0m" if code else line.text)


def write_json(answer: object) -> None:
    """Print one JSON document: strict, and in ASCII, so that a terminal obeys nothing in it."""
    text = json.dumps(plain(answer), ensure_ascii=True, allow_nan=False, indent=2)
    print(text.replace("\x7f", "\\u007f"))


def plain(value: object) -> Any:
    """A value that JSON can spell: dataclasses by field name, captured text as text.

    Credentials in captured text are tags. NaN and the infinities, for which JSON has no word,
    become null.
    """
    if isinstance(value, Captured):
        return masked(raw(value))
    if isinstance(value, Name):
        return masked(raw(value.text))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def complain(problem: str, *, remedy: str) -> None:
    """Print a problem and what to do about it on stderr. Both may hold names from a trace."""
    lines = [shown(line) for line in f"{problem}: {remedy}".split("\n")]
    print("ctxdiff-mcp:", "\n".join(lines), file=sys.stderr)
