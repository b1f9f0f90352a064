"""Calls that were recorded twice: by a handler and by a tap, or from two logs of one program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from ctxdiff_analyzers.timeline import Timeline, Turn

SLACK = timedelta(milliseconds=50)
"""How far two clocks may be apart that saw the same call."""


class _Run(NamedTuple):
    """A call with the time it took."""

    start: datetime
    end: datetime
    turn: Turn


def doubles(timeline: Timeline) -> Mapping[int, int]:
    """Turns (`seq`) that are a second record of a call, to the turn that is its first.

    Two records are one call when the provider gave both the same response id; or when only one
    has an id, as a handler above the SDK sees none, and it lies within the other's time. Either
    way model, billed tokens and answer are the same. Calls without times are never doubles: equal
    questions that are asked in turn, or at once, are calls of their own.
    """
    return timeline.remembered("doubles", lambda: dict(_doubles(timeline)))


def _doubles(timeline: Timeline) -> Iterator[tuple[int, int]]:
    alike: defaultdict[object, list[Turn]] = defaultdict(list)
    for turn in timeline.turns:
        usage = turn.usage
        if turn.call.started_at and usage.prompt_tokens is not None:
            alike[_model(turn), usage.prompt_tokens, usage.output_tokens].append(turn)
    repeated: set[int] = set()
    for turns in alike.values():
        if len(turns) < 2:
            continue
        for one, other in _at_once(turns):
            if one.seq not in repeated and other.seq not in repeated and _is_one(one, other):
                repeated.add(max(one.seq, other.seq))
                yield max(one.seq, other.seq), min(one.seq, other.seq)


def _at_once(turns: Sequence[Turn]) -> Iterator[tuple[Turn, Turn]]:
    """Pairs of which one ran within the other's time, in order of start."""
    runs = [_Run(*span, turn) for turn in turns if (span := _span(turn)) is not None]
    runs.sort(key=lambda run: (run.start, run.turn.seq))
    running: list[_Run] = []
    for run in runs:
        running = [earlier for earlier in running if earlier.end + SLACK >= run.start]
        for earlier in running:
            within = run.end <= earlier.end + SLACK
            around = run.start - earlier.start <= SLACK
            if within or around:
                yield earlier.turn, run.turn
        running.append(run)


def _is_one(one: Turn, other: Turn) -> bool:
    ids = one.call.response_id, other.call.response_id
    if ids[0] is not None and ids[1] is not None:
        return ids[0] == ids[1] and _answers_agree(one, other)
    return ids != (None, None) and _answers_agree(one, other)


def _answers_agree(one: Turn, other: Turn) -> bool:
    """The same answer, or one record has none."""
    return not one.outputs or not other.outputs or list(one.outputs) == list(other.outputs)


def _model(turn: Turn) -> object:
    return turn.call.params.get("model") or turn.call.response_model


def _span(turn: Turn) -> tuple[datetime, datetime] | None:
    """When the call began and ended; None where that is not told."""
    told, latency = turn.call.started_at, turn.call.latency_ms
    if not told or latency is None or len(told) > 40:
        return None
    try:
        start = datetime.fromisoformat(told[:-1] + "+00:00" if told.endswith("Z") else told)
        start = start.replace(tzinfo=start.tzinfo or timezone.utc)
        return start, start + timedelta(milliseconds=latency)
    except (ValueError, OverflowError):
        return None
