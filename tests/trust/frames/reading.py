"""An answer as a strict reader takes it apart, who knows the published rules and no more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

OPENING = re.compile(
    r"⟦captured ([2-9a-hjkmnp-tv-z]{10}) ([1-9][0-9]*)/([1-9][0-9]*)((?: [a-z]+=[A-Za-z0-9/-]+)*)⟧"
)
INVERSE = re.compile(r"⟦(?:x([0-9A-F]{2})|([0-9A-F]{2,6}))⟧")
"""The one published expression that undoes the escapes."""
MARK = "| "


class Unbalanced(Exception):
    """A boundary is forged, missing or out of order."""


@dataclass(frozen=True)
class Frame:
    """What stands between an opening and a closing line."""

    nonce: str
    number: int
    total: int
    attributes: Mapping[str, str]
    shown: str
    cost: int
    """Characters of both lines, line ends included."""

    @property
    def original(self) -> str:
        """The text that was captured, by the published inverse."""
        shown = self.shown
        if self.attributes.get("mark") == "lines":
            lines = shown.split("\n")
            if not all(line.startswith(MARK) for line in lines):
                raise Unbalanced("a line without its mark")
            shown = "\n".join(line[len(MARK) :] for line in lines)
        return INVERSE.sub(
            lambda found: chr(0xDC00 + int(found[1], 16)) if found[1] else chr(int(found[2], 16)),
            shown,
        )

    @property
    def place(self) -> tuple[int, int, int] | None:
        """`chars=0-160/9120` as three numbers."""
        found = re.fullmatch(r"([0-9]+)-([0-9]+)/([0-9]+)", self.attributes.get("chars", ""))
        return (int(found[1]), int(found[2]), int(found[3])) if found else None


@dataclass(frozen=True)
class Parts:
    """The server's own lines, then the frames."""

    own: str
    frames: tuple[Frame, ...]


def taken_apart(text: str) -> Parts:
    """The parts of an answer.

    Raises:
        Unbalanced: the answer is not its own lines and then whole frames, numbered in order.
    """
    lines = text.split("\n")
    if lines.pop() != "":
        raise Unbalanced("the answer does not end with its last line")
    first = next((at for at, line in enumerate(lines) if "⟦" in line or "⟧" in line), len(lines))
    frames: list[Frame] = []
    at = first
    while at < len(lines):
        opening = OPENING.fullmatch(lines[at])
        if opening is None:
            raise Unbalanced(f"line {at} stands outside a frame")
        nonce, number, total, words = opening.groups()
        closing = f"⟦end {nonce} {number}⟧"
        if closing not in lines[at + 2 :]:
            raise Unbalanced(f"frame {number} does not end")
        end = lines.index(closing, at + 2)
        shown = "\n".join(lines[at + 1 : end])
        if set(INVERSE.sub("", shown)) & set("⟦⟧〚〛"):
            raise Unbalanced(f"a bracket in frame {number} is no escape")
        attributes = dict(word.split("=") for word in words.split())
        cost = len(lines[at]) + len(closing) + 3
        frames.append(Frame(nonce, int(number), int(total), attributes, shown, cost))
        at = end + 1
    if [(one.number, one.total) for one in frames] != [
        (number, len(frames)) for number in range(1, len(frames) + 1)
    ]:
        raise Unbalanced("the frames are not numbered in order")
    if len({one.nonce for one in frames}) > 1:
        raise Unbalanced("two words in one answer")
    return Parts("\n".join(lines[:first]), tuple(frames))
