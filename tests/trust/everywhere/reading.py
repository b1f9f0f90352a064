"""An answer as a careful reader takes it apart, and what it may not hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

OPENING = re.compile(
    r"\u27e6captured ([2-9a-z]{10}) ([0-9]+)/([0-9]+)((?: [a-z_]+=[A-Za-z0-9_./-]+)*)\u27e7"
)
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
WORDS = re.compile("[\n -~]*")
"""What the server's own lines are made of."""


@dataclass(frozen=True)
class Answer:
    """The server's own lines, and what stands in each frame."""

    own: str
    frames: tuple[str, ...]


def taken_apart(text: str) -> Answer:
    """The answer's parts.

    Raises:
        AssertionError: a boundary is forged, unbalanced or out of order.
    """
    own: list[str] = []
    frames: list[str] = []
    nonces: set[str] = set()
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        found = OPENING.fullmatch(lines[at])
        if found is None:
            own.append(lines[at])
            at += 1
            continue
        nonce, number, total, _ = found.groups()
        end = lines.index(f"\u27e6end {nonce} {number}\u27e7", at)
        frames.append("\n".join(lines[at + 1 : end]))
        nonces.add(nonce)
        assert int(number) == len(frames)
        assert int(total) == text.count("\u27e6captured ")
        at = end + 1
    assert "\u27e6" not in "\n".join(own)
    assert len(frames) == text.count("\u27e6captured ") == text.count("\u27e6end ")
    assert len(nonces) <= 1
    return Answer("\n".join(own), tuple(frames))


def faults(text: str, names: Sequence[str] = (), most: int = 20_000) -> list[str]:
    """What is wrong with an answer to a question about a trace full of canaries.

    Args:
        names: canaries that are short plain names, and so may stand among the server's words.
        most: bytes of an answer.
    """
    try:
        answer = taken_apart(text)
    except (AssertionError, ValueError) as problem:
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
