"""What a redacted answer may depend on: the shape of a folder of recordings, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ROLES = ("system", "developer", "user", "assistant", "tool", "function", "model", None)
"""None is a word outside the known list; likewise below."""
KINDS = ("message", "message", "message", "content_part", "tool_schema", "image", None)
AGENTS, LABELS = 3, 4
"""Distinct names of a session, at most."""


@dataclass(frozen=True)
class Place:
    """A block in a turn or at a stage, by the numbers of its words."""

    block: int
    label: int
    is_tagged: bool


@dataclass(frozen=True)
class Turn:
    """One call. Of what is a word only whether it is there."""

    inputs: Sequence[Place]
    outputs: Sequence[int]
    agent: int | None
    has_step: bool
    has_finish: bool
    has_error: bool
    status: int | None
    usage: dict[str, Any] | None
    """Counters that are whole numbers."""
    started_at: str | None
    """A time, or None: none that parses."""
    latency_ms: int | None
    first_byte_ms: int | None
    attempts: int
    stages: Sequence[tuple[bool, Sequence[Place]]]
    """Whether it is a tool's raw result, and what was held."""


@dataclass(frozen=True)
class Session:
    """One run."""

    started_at: str | None
    blocks: Sequence[tuple[str | None, str | None, int]]
    """Role, kind, tokens of each distinct block."""
    turns: Sequence[Turn]


@dataclass(frozen=True)
class Structure:
    """A folder: the sessions of each file; none is a file that is no trace."""

    files: Sequence[Sequence[Session]]
    is_bucketed: bool
    """Whether counts are rounded, so that contents differ in their last digits too."""


def structure(chance: random.Random) -> Structure:
    """One folder with mostly one run, and what may be beside it."""
    files = [[session(chance) for _ in range(chance.choice([1, 1, 1, 2, 3]))]]
    files += [[session(chance, 2)] for _ in range(chance.choice([0, 0, 0, 1, 2]))]
    files += [[] for _ in range(chance.choice([0, 0, 0, 1]))]
    chance.shuffle(files)
    return Structure(files, chance.random() < 0.3)


def session(chance: random.Random, most_turns: int = 6) -> Session:
    """A run whose turns mostly go on from one another."""
    blocks = [
        (chance.choice(ROLES), chance.choice(KINDS), chance.choice([0, 3, 40, 40, 731, 12_345]))
        for _ in range(chance.randint(2, 12))
    ]
    held: list[Place] = []
    turns = []
    for at in range(chance.randint(1, most_turns)):
        held = [place for place in held if chance.random() < 0.8]
        held += [_place(chance, blocks) for _ in range(chance.randint(0, 4))]
        if chance.random() < 0.2:
            chance.shuffle(held)
        turns.append(_turn(chance, at, tuple(held), blocks))
    return Session(_time(chance, chance.randint(0, 2)), blocks, turns)


def _turn(chance: random.Random, at: int, held: tuple[Place, ...], blocks: Sequence[Any]) -> Turn:
    has_error = chance.random() < 0.2
    return Turn(
        inputs=held,
        outputs=chance.choices(range(len(blocks)), k=chance.randint(0, 2)),
        agent=chance.choice([None, 0, 0, 1, 2]),
        has_step=chance.random() < 0.5,
        has_finish=chance.random() < 0.7,
        has_error=has_error,
        status=chance.choice([None, 400, 429]) if has_error else None,
        usage=_usage(chance),
        started_at=_time(chance, at),
        latency_ms=chance.choice([None, 0, 100, 30_000]),
        first_byte_ms=chance.choice([None, 5]),
        attempts=chance.choice([0, 1, 3]),
        stages=[
            (chance.random() < 0.3, _held_before(chance, held, blocks))
            for _ in range(chance.choice([0, 0, 0, 1, 2]))
        ],
    )


def _held_before(
    chance: random.Random, held: Sequence[Place], blocks: Sequence[Any]
) -> Sequence[Place]:
    kept = [place for place in held if chance.random() < 0.7]
    return [*kept, *(_place(chance, blocks) for _ in range(chance.randint(0, 2)))]


def _place(chance: random.Random, blocks: Sequence[Any]) -> Place:
    return Place(chance.randrange(len(blocks)), chance.randrange(LABELS), chance.random() < 0.3)


def _time(chance: random.Random, minute: int) -> str | None:
    if chance.random() < 0.2:
        return None
    return f"2026-11-30T10:{minute:02d}:{chance.randint(0, 59):02d}.000000+00:00"


def _usage(chance: random.Random) -> dict[str, Any] | None:
    read, written = chance.randint(0, 3) * 1_111, chance.randint(0, 2) * 1_024
    return chance.choice(
        [
            None,
            {"prompt_tokens": 9_001, "completion_tokens": 31},
            {"prompt_tokens": 9_001, "prompt_tokens_details": {"cached_tokens": read}},
            {
                "input_tokens": 57,
                "output_tokens": 8,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": written,
                "cache_creation": {"ephemeral_5m_input_tokens": written},
            },
            {"promptTokenCount": 812, "candidatesTokenCount": 5, "thoughtsTokenCount": 77},
            {
                "inputTokens": 5,
                "cacheWriteInputTokens": written,
                "cacheDetails": [{"ttl": "1h", "inputTokens": written}],
            },
        ]
    )
