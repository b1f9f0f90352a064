"""How a question may be put, and what is said when it does not fit the record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_capture.errors import SelectionError

from ctxdiff_mcp.answers.refs import BlockRef
from ctxdiff_mcp.gate.captured import Name

Problem: TypeAlias = Literal[
    "no_runs",
    "unknown_run",
    "ambiguous_run",
    "still_reading",
    "unknown_turn",
    "turn_of_another_agent",
    "unknown_agent",
    "ambiguous_agent",
    "unknown_block",
    "ambiguous_block",
    "hash_too_short",
    "unknown_position",
    "unknown_stage",
    "stages_of_two_turns",
    "empty_run",
    "nothing_to_compare",
    "not_in_redact_mode",
]

_WORDS: dict[Problem, tuple[str, str]] = {
    "no_runs": ("no readable trace is there", "record one, or start with another runs folder"),
    "unknown_run": ("no run has this handle", "use a handle of the list, or `latest`"),
    "ambiguous_run": ("several runs fit this handle", "use one of these exact handles"),
    "still_reading": ("no run fits, of the files that are read so far", "ask again in a moment"),
    "unknown_turn": ("the run has no such turn", "use one of its turns"),
    "turn_of_another_agent": ("this turn belongs to another agent", "leave `agent` out"),
    "unknown_agent": ("the run has no such agent", "use one of its agents, or leave `agent` out"),
    "ambiguous_agent": ("several agents fit", "use one of these exact names"),
    "unknown_block": ("the run has no such block", "list a turn's blocks by giving only `turn`"),
    "ambiguous_block": ("several blocks fit", "give more characters of the hash"),
    "hash_too_short": ("the hash is too short", "give at least 6 hex digits"),
    "unknown_position": ("the turn has no block there", "use one of its positions"),
    "unknown_stage": ("the turn has no such stage", "use one of its stages' numbers, or `all`"),
    "stages_of_two_turns": (
        "stages are compared with what the same turn sent",
        "give one turn as `turn_a` and `turn_b`, and no `run_b`",
    ),
    "empty_run": ("the run has no turns", "use another run"),
    "nothing_to_compare": (
        "a comparison has two sides",
        "give two turns, another run, or two agents of one run",
    ),
    "not_in_redact_mode": ("this is off in redact mode", "start the server without --redact"),
}


@dataclass(frozen=True, slots=True)
class Choices:
    """What would have fitted, nearest first."""

    names: tuple[Name, ...] = ()
    blocks: tuple[BlockRef, ...] = ()
    numbers: tuple[int, ...] = ()
    """Turns or positions, ascending."""


class Unanswerable(SelectionError):
    """The question does not fit the record. Problem and remedy are fixed words.

    Args:
        code: what is wrong; a closed set.
        choices: what would have fitted.
    """

    def __init__(self, code: Problem, choices: Choices | None = None) -> None:
        problem, remedy = _WORDS[code]
        super().__init__(problem, remedy=remedy)
        self.code = code
        self.choices = choices or Choices()


def _any_name(name: str) -> bool:
    del name
    return True


@dataclass(frozen=True, slots=True)
class Ask:
    """How selectors are read. What may not be shown may not be asked for: that would be a guess."""

    by_name: bool = True
    by_text: bool = True
    """Content hashes and searches are accepted."""
    may_name: Callable[[str], bool] = _any_name
    """Whether a name that the record has may be asked for, whole or by its start."""


OPEN = Ask()
