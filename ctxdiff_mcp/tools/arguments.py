"""What a tool takes: declared once, for the schema that clients see and for the check of a call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ctxdiff_capture.errors import SelectionError

Json: TypeAlias = Any

_DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number. Bounds and default stand in the description, for clients that drop them."""

    name: str
    description: str
    minimum: int
    maximum: int
    default: int | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A text, or one of a few words."""

    name: str
    description: str
    max_chars: int = 500
    choices: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False


Argument: TypeAlias = Integer | Text

TURN_MAX = 999_999_999
RUN = Text(
    "run",
    "Handle from ctxdiff_runs, any unambiguous prefix of it, or `latest`.",
    required=True,
)
AGENT = Text("agent", "Only this agent's turns: its name or handle. Absent: all agents.")
CURSOR = Integer(
    "cursor", "Rows to skip, 0 or more; default 0. Answers print the next value.", 0, TURN_MAX, 0
)
WINDOW = Integer(
    "context_window",
    "Size of the model's context window in tokens, when you know it; 1 or more.",
    1,
    TURN_MAX,
)


def limit(default: int, most: int, rows: str) -> Integer:
    """The argument that bounds a list."""
    return Integer("limit", f"How many {rows}, 1 to {most}; default {default}.", 1, most, default)


def turn(description: str, *, required: bool = False, name: str = "turn") -> Integer:
    """An argument that names a turn."""
    return Integer(name, description, 0, TURN_MAX, required=required)


class BadArguments(SelectionError):  # names what is wrong, like the other errors here
    """Arguments that do not fit.

    Args:
        lines: what is wrong and what would fit, in our own words; the caller's are not repeated.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("the arguments do not fit", remedy="; ".join(lines))
        self.lines = tuple(lines)


class Values:
    """Checked arguments."""

    def __init__(self, values: Mapping[str, int | str]) -> None:
        self._values = values

    def integer(self, name: str) -> int | None:
        """A whole number, or None when it is absent and has no default."""
        value = self._values.get(name)
        return value if isinstance(value, int) else None

    def number(self, name: str) -> int:
        """A whole number that is required or has a default."""
        value = self._values[name]
        if not isinstance(value, int):
            raise TypeError(f"{name!r} is no integer argument")
        return value

    def text(self, name: str) -> str | None:
        """A text, or None when it is absent and has no default."""
        value = self._values.get(name)
        return value if isinstance(value, str) else None

    def word(self, name: str) -> str:
        """A text that is required or has a default."""
        value = self._values[name]
        if not isinstance(value, str):
            raise TypeError(f"{name!r} is no text argument")
        return value


def schema(arguments: Sequence[Argument]) -> dict[str, Json]:
    """A flat JSON schema: one type each, no unions, nothing beyond the named properties."""
    found: dict[str, Json] = {
        "type": "object",
        "properties": {argument.name: _property(argument) for argument in arguments},
    }
    required = [argument.name for argument in arguments if argument.required]
    if required:
        found["required"] = required
    found["additionalProperties"] = False
    return found


def checked(arguments: Sequence[Argument], given: Mapping[str, Json]) -> Values:
    """The call's arguments with defaults filled in; null counts as absent.

    Raises:
        BadArguments: something is missing, unknown, of the wrong type or out of range.
    """
    names = [argument.name for argument in arguments]
    present = {name: value for name, value in given.items() if value is not None}
    wrong: list[str] = []
    strangers = sum(1 for name in present if name not in names)
    if strangers:
        wrong.append(f"{strangers} unknown argument{'s' if strangers > 1 else ''}")
    values: dict[str, int | str] = {}
    for argument in arguments:
        if argument.name in present:
            value = _fitting(argument, present[argument.name])
            if value is None:
                wrong.append(f"`{argument.name}` must be {_wanted(argument)}")
            else:
                values[argument.name] = value
        elif argument.required:
            wrong.append(f"`{argument.name}` is missing: {_wanted(argument)}")
        elif argument.default is not None:
            values[argument.name] = argument.default
    if wrong:
        raise BadArguments([*wrong, f"arguments are: {', '.join(names) or 'none'}"])
    return Values(values)


def _property(argument: Argument) -> dict[str, Json]:
    found: dict[str, Json] = {
        "type": "integer" if isinstance(argument, Integer) else "string",
        "description": argument.description,
    }
    if isinstance(argument, Integer):
        found |= {"minimum": argument.minimum, "maximum": argument.maximum}
    elif argument.choices:
        found["enum"] = list(argument.choices)
    if argument.default is not None:
        found["default"] = argument.default
    return found


def _fitting(argument: Argument, value: Json) -> int | str | None:
    if isinstance(argument, Integer):
        number = _whole(value)
        fits = number is not None and argument.minimum <= number <= argument.maximum
        return number if fits else None
    if not isinstance(value, str) or not 0 < len(value) <= argument.max_chars:
        return None
    return value if not argument.choices or value in argument.choices else None


def _whole(value: Json) -> int | None:
    """Integers, and what clients make of them: `3.0`, `"3"`. Booleans are no numbers."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else None
    if isinstance(value, str):
        return int(value) if _DIGITS.fullmatch(value) else None
    return value if isinstance(value, int) else None


def _wanted(argument: Argument) -> str:
    if isinstance(argument, Integer):
        return f"a whole number from {argument.minimum} to {argument.maximum}"
    if argument.choices:
        return f"one of {', '.join(argument.choices)}"
    return f"a text of 1 to {argument.max_chars} characters"
