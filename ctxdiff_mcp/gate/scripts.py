"""Which characters hide, and where a joiner or a variation selector is ordinary spelling."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

ZWNJ, ZWJ, VS16, KEYCAP = "\u200c", "\u200d", "\ufe0f", "\u20e3"

_ALPHABET = 8_192
"""Characters of which it is remembered what they are: those of the texts at hand."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})

# Letters and marks by their category, and yet nothing is drawn for them.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159"
)

# Source: Unicode 17, emoji-data.txt and emoji-variation-sequences.txt, widened to whole runs.
_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff]"
)
_KEYCAP_BASE = frozenset("0123456789#*")

# Scripts whose letters join, or whose conjuncts are steered, so that ZWJ and ZWNJ are spelling:
# Arabic, Syriac, N'Ko and their kin; the Indic scripts to Sinhala; Tibetan, Myanmar, Khmer,
# Mongolian; Arabic presentation forms. Source: Unicode 17, chapters 9, 12, 13 and 23.2.
_JOINING = re.compile(
    "[\u0620-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua840-\ua87f\ua8e0-\ua8ff"
    "\ufb50-\ufdff\ufe70-\ufefc]"
)


@lru_cache(_ALPHABET)
def is_hidden(char: str) -> bool:
    """True for a character that controls, directs or shows nothing, TAB and LF excepted."""
    if char in "\t\n":
        return False
    if unicodedata.category(char) in _HIDDEN_CATEGORIES or char in _BLANK:
        return True
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


@lru_cache(_ALPHABET)
def is_mark(char: str) -> bool:
    """True for a combining mark."""
    return unicodedata.category(char)[0] == "M"


def is_spelling(text: str, at: int) -> bool:
    """True when the joiner or selector at `at` belongs to an emoji or to a word."""
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if text[at] == VS16:
        if before in _KEYCAP_BASE:
            return after == KEYCAP
        return _EMOJI.fullmatch(before) is not None
    if _is_joining_letter(before) and _is_joining_letter(after):
        return True
    if text[at] == ZWNJ:
        return False
    base = text[at - 2] if before == VS16 and at >= 2 else before
    return _EMOJI.fullmatch(base) is not None and _EMOJI.fullmatch(after) is not None


def _is_joining_letter(char: str) -> bool:
    return (
        _JOINING.fullmatch(char) is not None
        and unicodedata.category(char)[0] in "LM"
        and not is_hidden(char)
    )
