"""What a renderer gives: lines with a style, without any escape sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Style: TypeAlias = Literal["plain", "added", "evicted", "modified", "dim", "good", "bad", "warn"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a terminal, safe to print. Its style adds colour and nothing else."""

    text: str
    style: Style = "plain"
