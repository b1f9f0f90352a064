"""Captured text made harmless: visibly, reversibly, and without deleting anything.

What hides, directs, or looks like a boundary becomes `⟦HEX⟧`, its code point in hex digits; a byte
that was not UTF-8 becomes `⟦xFF⟧`. `restore` and `INVERSE` undo it exactly. Ordinary prose and
code in any script passes unchanged.
"""

from __future__ import annotations

import re

from ctxdiff_mcp.gate.chat_tokens import token_places
from ctxdiff_mcp.gate.scripts import VS16, ZWJ, ZWNJ, is_hidden, is_mark, is_spelling

INVERSE = re.compile(r"⟦(?:x([0-9A-F]{2})|([0-9A-F]{2,6}))⟧")
"""Matches every escape: group 1 is a byte that was not UTF-8, group 2 a code point, both hex."""

LINE_MARK = "| "
"""Stands in front of every line of a marked text; `unmarked` takes it away."""

BRACKETS = "⟦⟧〚〛"
MAX_MARKS = 8
"""Combining marks in a row that are shown; the rest is escaped."""

_QUIET = re.compile(r"[\t\n -~]*")
"""Printable ASCII: nothing in it hides."""


def escape(char: str) -> str:
    """One character as an escape."""
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # `surrogateescape` put an undecodable byte here
        return f"⟦x{code - 0xDC00:02X}⟧"
    return f"⟦{code:02X}⟧"


def restore(shown: str) -> str:
    """The original of a text that `clean` made."""

    def original(found: re.Match[str]) -> str:
        byte, code = found.groups()
        return chr(0xDC00 + int(byte, 16)) if byte else chr(int(code, 16))

    return INVERSE.sub(original, shown)


def marked(shown: str) -> str:
    """A cleaned text with a mark in front of each of its lines, for readers who copy."""
    return LINE_MARK + shown.replace("\n", f"\n{LINE_MARK}")


def unmarked(shown: str) -> str:
    """The cleaned text that `marked` was given.

    Raises:
        ValueError: a line has no mark.
    """
    lines = shown.split("\n")
    if not all(line.startswith(LINE_MARK) for line in lines):
        raise ValueError("a line has no mark")
    return "\n".join(line[len(LINE_MARK) :] for line in lines)


def clean(text: str) -> str:
    """The text with everything that hides or misleads shown as escapes."""
    at = unsafe_places(text)
    if not at:
        return text
    parts = []
    done = 0
    for place in at:
        parts += [text[done:place], escape(text[place])]
        done = place + 1
    parts.append(text[done:])
    return "".join(parts)


def unsafe_places(text: str) -> list[int]:
    """Offsets of the characters that `clean` escapes, ascending. Linear in the text."""
    tokens = token_places(text)
    if _QUIET.fullmatch(text):
        return tokens
    alphabet = set(text)
    unsafe = {char for char in alphabet if is_hidden(char)} | (alphabet & set(BRACKETS))
    places = set(tokens)
    if unsafe:
        places.update(
            at
            for at, char in enumerate(text)
            if char in unsafe and not (char in _CONDITIONAL and is_spelling(text, at))
        )
    marks = {char for char in alphabet if is_mark(char)}
    if marks:
        places.update(_loose_marks(text, marks, places))
    return sorted(places)


_CONDITIONAL = frozenset((VS16, ZWJ, ZWNJ))


def _loose_marks(text: str, marks: set[str], escaped: set[int]) -> list[int]:
    """Marks beyond the eighth in a row, and those with nothing shown to stand on."""
    loose: list[int] = []
    for run in re.finditer(f"[{''.join(marks)}]+", text):  # no mark is special in a class
        start, end = run.span()
        stands = start > 0 and text[start - 1] not in "\n\t" and start - 1 not in escaped
        shown = next((at for at in range(start, end) if at in escaped), end) if stands else start
        loose.extend(range(min(shown, start + MAX_MARKS), end))
    return loose
