"""Where the values of a tool call came from, and whether their source was still in context."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ctxdiff_analyzers.exchanges import call_at
from ctxdiff_analyzers.timeline import Timeline, Turn

SHORTEST, LONGEST = 3, 200
"""Code points of a text that is looked for; shorter ones stand everywhere, longer ones are
composed."""
FEWEST_DIGITS = 2
MOST_VALUES = 40
"""Of one turn."""

Find: TypeAlias = Callable[[str], Collection[str]]
"""A text to the content hashes of the blocks that contain it."""
Where: TypeAlias = Literal["in_context", "left", "nowhere"]


@dataclass(frozen=True, slots=True)
class Argument:
    """One value of a tool call. Captured text."""

    tool: str
    path: str
    """`order.items[0].sku`"""
    value: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an argument's value stands before the call."""

    argument: Argument
    where: Where
    """`in_context`: in the input of the call's turn. `left`: in an earlier input of the agent, not
    any more in this one. `nowhere`: in nothing that the agent was given or said."""
    content_hash: str | None = None
    """The latest block that has it; what the model itself said only where nothing else does."""
    role: str | None = None
    position: int | None = None
    """In the turn's input, where it is there."""
    first_seen: int | None = None
    last_seen: int | None = None
    left_at: int | None = None
    """The agent's first turn without the block after `last_seen`, up to the call's turn."""


def origins(timeline: Timeline, turn: Turn, find: Find | None = None) -> tuple[Origin, ...]:
    """Where the values of the tool calls in the turn's answer came from.

    Args:
        timeline: all turns of the session.
        turn: the turn whose answer calls tools; where answers are not recorded they are read from
            the agent's next turn.
        find: a faster way to find texts than to read every block.
    """
    mine = timeline.of_agent(turn.agent)
    return tuple(origin_of(mine, turn, argument, find) for argument in arguments(mine, turn))


def arguments(mine: Timeline, turn: Turn) -> tuple[Argument, ...]:
    """The values that can be looked for, in order; the first `MOST_VALUES`, each once."""
    found: dict[Argument, None] = {}
    for block in _said(mine, turn):
        call = call_at(mine, block)
        if call is None or not call.is_json:
            continue
        for path, value in _values(json.loads(call.arguments), ""):
            found.setdefault(Argument(call.name, path, value))
    return tuple(found)[:MOST_VALUES]


def origin_of(mine: Timeline, turn: Turn, argument: Argument, find: Find | None = None) -> Origin:
    """Where one value stands in the agent's turns up to `turn`."""
    spellings = _spellings(argument.value.strip())
    pattern = _pattern(spellings)

    def has(block: int) -> bool:
        text = mine.text_of(mine.blocks[block].content_hash)
        return any(one in text for one in spellings) and pattern.search(text) is not None

    places = dict(zip(turn.inputs, range(len(turn.inputs)), strict=True))
    latest_first = sorted(places, key=lambda block: -places[block])
    for block in _given_first(mine, latest_first):
        if has(block):
            return _origin(mine, turn, argument, block, turn.positions[places[block]])
    last = {block: one.seq for one in mine.turns if one.seq < turn.seq for block in one.inputs}
    if find is not None:
        hashes = {one for spelling in spellings for one in find(spelling)}
        last = {b: seq for b, seq in last.items() if mine.blocks[b].content_hash in hashes}
    for block in _given_first(mine, sorted(last, key=lambda block: (-last[block], block))):
        if block not in places and has(block):
            return _origin(mine, turn, argument, block, None)
    return Origin(argument, "nowhere")


def _given_first(mine: Timeline, blocks: Sequence[int]) -> Iterator[int]:
    """What the model was given, then what it said itself; a schema is no source of a value."""
    for is_said in (False, True):
        for block in blocks:
            head = mine.blocks[block]
            if (head.role == "assistant") is is_said and head.kind != "tool_schema":
                yield block


def _origin(
    mine: Timeline, turn: Turn, argument: Argument, block: int, position: int | None
) -> Origin:
    seen = [one.seq for one in mine.turns if one.seq <= turn.seq and block in one.inputs]
    left = None
    if position is None:
        left = next(one.seq for one in mine.turns if one.seq > seen[-1])
    head = mine.blocks[block]
    return Origin(
        argument,
        "left" if position is None else "in_context",
        head.content_hash,
        head.role,
        position,
        seen[0],
        seen[-1],
        left,
    )


def _said(mine: Timeline, turn: Turn) -> list[int]:
    """The blocks of the turn's answer, or of what the next turn has of it."""
    if turn.outputs or mine.has_outputs:
        return list(turn.outputs)
    after = next((one for one in mine.turns if one.seq > turn.seq), None)
    if after is None:
        return []
    before = frozenset(turn.inputs)
    return [b for b in after.inputs if b not in before and mine.blocks[b].role == "assistant"]


def _values(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Paths and values that can be looked for: texts and numbers, no flags."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _values(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _values(inner, f"{path}[{at}]")
    elif isinstance(value, str):
        if SHORTEST <= len(value.strip()) <= LONGEST:
            yield path, value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        spelled = json.dumps(value)
        if sum(map(str.isdigit, spelled)) >= FEWEST_DIGITS:
            yield path, spelled


def _spellings(value: str) -> tuple[str, ...]:
    """The value as it may stand in a text: plain, inside JSON, a number with separators."""
    inside = json.dumps(value, ensure_ascii=False)[1:-1]
    found = [value, inside]
    if re.fullmatch(r"\d{4,15}", value):
        found.append(f"{int(value):,}")
    return tuple(dict.fromkeys(found))


def _pattern(spellings: Sequence[str]) -> re.Pattern[str]:
    """Finds a value where it is no part of a longer word or number."""
    options = "|".join(map(re.escape, spellings))
    is_word = spellings[0][:1].isalnum()
    return re.compile(rf"(?<!\w)(?:{options})(?!\w)" if is_word else f"(?:{options})")
