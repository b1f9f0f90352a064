"""What two runs may differ in, as one difference says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "model",
    "params",
    "system",
    "tools",
    "context",
    "user_input",
    "tool_result",
    "order",
    "tool_call",
    "answer",
    "outcome",
    "extra_turn",
    "missing_turn",
]
"""What differs. `context`: something that one model still saw and the other did not any more, or
saw in another form. `order`: the same blocks in another order. `outcome`: an error or a finish
reason. `extra_turn`, `missing_turn`: only the new run has it, or only the old one."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one run has where the other has something else."""

    excerpt: str
    """Of a block what stands around the first difference; a value whole. Captured text."""
    content_hash: str | None = None
    """None for what is no block: a parameter, a model."""
    position: int | None = None
    """In the turn's input; None in an answer."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference, at the first turn that has it."""

    kind: Kind
    turn_old: int | None
    turn_new: int | None
    agent: str | None
    """Of the old run, or of the new one where only that has the turn."""
    old: Side | None
    """None where the old run has nothing in its place."""
    new: Side | None
    name: str | None = None
    """Of a parameter or tool. Captured text."""
    first_difference: int | None = None
    """Code points that both texts begin with; None where one is missing."""
