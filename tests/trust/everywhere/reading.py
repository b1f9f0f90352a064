"""An answer as a careful reader takes it apart, and what it may not hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from tests.trust.frames.reading import Unbalanced, taken_apart

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
WORDS = re.compile("[\n -~]*")
"""What the server's own lines are made of."""


def faults(text: str, names: Sequence[str] = (), most: int = 20_000) -> list[str]:
    """What is wrong with an answer to a question about a trace full of canaries.

    Args:
        names: canaries that are short plain names, and so may stand among the server's words.
        most: bytes of an answer.
    """
    try:
        answer = taken_apart(text)
    except (Unbalanced, ValueError) as problem:
        return [f"boundary: {problem}"]
    found = []
    own = answer.own
    for name in names:
        own = own.replace(name, "")
    if "CNRY" in own:
        found.append("captured text among the server's words")
    if WORDS.fullmatch(answer.own) is None:
        found.append("a character that is none of the server's")
    if any(unicodedata.category(char) in HIDDEN for char in set(text) - {"\n", "\t"}):
        found.append("a raw character that hides or acts")
    if "<|im_start|>" in text:
        found.append("a raw control token")
    if len(text.encode()) > most:
        found.append("above the cap")
    if max(map(len, answer.own.split("\n"))) > 4_000:
        found.append("a line without end")
    return found
