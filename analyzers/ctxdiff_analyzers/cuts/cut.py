"""Whether a text breaks off before its own end."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ctxdiff_analyzers.cuts.ends import CLOSERS, OPENERS, open_end, shape
from ctxdiff_analyzers.cuts.marks import cut_mark, flagged

Sign: TypeAlias = Literal[
    "mark", "json", "markup", "fence", "table", "length", "line", "sentence", "word"
]
"""How a cut shows: a mark says so; or a value, a tag, a fence, a row, a line, a sentence or a word
does not end; or a length is a round number."""
LEAST_CUT = 40
LEAST_JSON = 20
_LITERALS = ("true", "false", "null", "True", "False", "None", "NaN", "-", "Infinity")
_VOID = frozenset(
    ("html", "body", "p", "li", "br", "hr", "img", "input", "meta", "link", "td", "tr", "th", "dt")
)
_ROOT = re.compile(r"\s*(?:<\?xml[^>]*\?>\s*)?<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")


@dataclass(frozen=True, slots=True)
class Cut:
    """A text that is not whole."""

    sign: Sign
    mark: str
    """What says so, or the last words before the end. Captured text."""


def broken_off(text: str) -> Cut | None:
    """How `text` shows that it is not whole; None for a text that may well be whole."""
    value, state = json_state(text)
    if state == "whole":
        found = flagged(value)
        return None if found is None else Cut("mark", found)
    mark = cut_mark(text)
    if mark is not None:
        return Cut("mark", mark)
    last = text.rstrip()[-80:]
    if state == "broken":
        return Cut("json", last)
    if _is_open_markup(text):
        return Cut("markup", last)
    if _is_open_fence(text):
        return Cut("fence", last)
    if _is_broken_row(text):
        return Cut("table", last)
    sign = open_end(text)
    return None if sign is None else Cut(sign, last)


def is_start_of(text: str, whole: str) -> bool:
    """True when `whole` goes on where `text` ends."""
    return LEAST_CUT <= len(text) < len(whole) and whole.startswith(text.rstrip("\n"))


def json_state(text: str) -> tuple[Any, Literal["whole", "broken", "none"]]:
    """The value, and whether the text is JSON that ends too early. Also lines of JSON."""
    start = text.lstrip()
    if not start.startswith(("{", "[")):
        return None, "none"
    if start.startswith(("{'", "['", "[{'", "[('", "{('")):
        return None, "broken" if _is_open_literal(start) else "none"
    try:
        return json.loads(start, strict=False), "whole"
    except RecursionError:
        return None, "none"
    except ValueError as error:
        if not isinstance(error, json.JSONDecodeError):
            return None, "none"
        if error.msg == "Extra data":
            return None, _json_lines(start)
        return None, "broken" if _ends_early(start, error) else "none"


def _ends_early(text: str, error: json.JSONDecodeError) -> bool:
    rest = text[error.pos :].strip()
    if len(text) < LEAST_JSON:
        return False
    if error.msg.startswith("Unterminated string"):
        return True
    if error.pos < LEAST_JSON // 2:
        return False
    if not rest:
        return True
    if error.msg.startswith("Invalid \\"):
        return len(rest) <= 6
    if any(literal.startswith(rest) for literal in _LITERALS):
        return True
    # What follows is no JSON and closes nothing: a mark in a language that we do not know.
    return error.pos >= 20 and len(rest) <= 120 and rest[-1] not in "}]" and '":' not in rest


def _json_lines(text: str) -> Literal["broken", "none"]:
    lines = text.rstrip("\n").split("\n")
    if len(lines) < 2 or not lines[-1].startswith("{") or not lines[0].startswith("{"):
        return "none"
    try:
        json.loads(lines[0], strict=False)
        json.loads(lines[-2], strict=False)
    except (ValueError, RecursionError):
        return "none"
    return "broken" if json_state(lines[-1])[1] == "broken" else "none"


def _is_open_literal(text: str) -> bool:
    """True for a Python value, as `repr` writes it, whose brackets do not close."""
    depth, quote, escaped = 0, "", False
    for sign in text:
        if quote:
            if escaped:
                escaped = False
            elif sign == "\\":
                escaped = True
            elif sign == quote:
                quote = ""
        elif sign in "'\"":
            quote = sign
        elif sign in OPENERS:
            depth += 1
        elif sign in CLOSERS:
            depth -= 1
            if depth <= 0:
                return False
    return depth > 0


def _is_open_markup(text: str) -> bool:
    root = _ROOT.match(text)
    if root is None or root[0].rstrip().endswith("/>") or root[1].lower() in _VOID:
        return False
    name = root[1]
    if len(text) < LEAST_CUT or f"</{name}" in text[root.end() :]:
        return False
    # A tag that stands alone in front of a prose is a label; markup goes on with other tags.
    return re.search(r"</[A-Za-z]", text) is not None or re.search(r"<[^<>]*\Z", text) is not None


def _is_open_fence(text: str) -> bool:
    start = text.lstrip()
    fence = re.match(r"(`{3,}|~{3,})[^\n]*\n", start)
    return fence is not None and not re.search(
        rf"^\s*{re.escape(fence[1])}", start[fence.end() :], re.MULTILINE
    )


def _is_broken_row(text: str) -> bool:
    if text.endswith("\n"):
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 4:
        return False
    *rows, last = lines
    if all(row.strip().startswith("|") and row.rstrip().endswith("|") for row in rows):
        return last.strip().startswith("|") and not last.rstrip().endswith("|")
    for sign in "\t;,|":
        columns = Counter(row.count(sign) for row in rows)
        if len(columns) == 1 and (width := next(iter(columns))) >= 2 and len(rows) >= 5:
            first = {shape(row.split(sign)[0]) for row in rows[1:]}
            return last.count(sign) < width and shape(last.split(sign)[0]) in first
    return False
