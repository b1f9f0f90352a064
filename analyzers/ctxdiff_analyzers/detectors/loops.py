"""The same tool call over and over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import TypeAlias

from ctxdiff_analyzers.calling import Asked
from ctxdiff_analyzers.detectors.scene import Scene, excerpt
from ctxdiff_analyzers.exchanges import answered, call_at, given_at, is_models
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.lineage import predecessor
from ctxdiff_analyzers.timeline import Timeline, Turn

IN_A_ROW = 3
MOST_ROUNDS = 50
"""Rounds that are looked back at."""

Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Round:
    """The calls of one answer."""

    seq: int
    """The turn whose answer it is, or whose history tells of it."""
    calls: tuple[tuple[int, Asked], ...]
    holder: Turn
    behind: range
    """Indices into the holder's inputs: what stands between this answer and the next."""


@dataclass(frozen=True, slots=True)
class _Chain:
    count: int
    first_turn: int
    results: frozenset[bytes]
    """Digests of what came back, without the ids."""
    is_nudged: bool


def loop(scene: Scene) -> Iterator[Finding]:
    """A call that this turn's answer makes for the third time or more, no other call between."""
    newest = next(_rounds(scene), None)
    asked = {_key(call): (block, call) for block, call in newest.calls} if newest else {}
    for key, (block, call) in asked.items():
        chain = _chain(scene.mine, _rounds(scene), key)
        if chain.count >= IN_A_ROW:
            yield _finding(scene, block, call, chain)


def _finding(scene: Scene, block: int, call: Asked, chain: _Chain) -> Finding:
    counts = [("repeats", chain.count)]
    if chain.results:
        counts.append(("distinct_results", len(chain.results)))
    digest = scene.mine.blocks[block].content_hash
    # Who waits for something gets another answer each time, who is stuck gets the same one.
    changing = len(chain.results) > 1
    return scene.finding(
        "tool_loop",
        "low" if changing else "medium" if chain.is_nudged else "high",
        since=chain.first_turn if chain.first_turn < scene.turn.seq else None,
        why="the tool and its arguments are the same, and no other call stands between",
        evidence=Evidence(
            content_hashes=(digest,),
            names=(excerpt(call.name),),
            excerpts=(excerpt(call.arguments),),
            counts=tuple(counts),
        ),
        next=NextCall("ctxdiff_block", (("content_hash", digest),)),
    )


def _chain(mine: Timeline, rounds: Iterator[_Round], key: Key) -> _Chain:
    """The identical calls at the newest end of a conversation."""
    count, first, results = 0, 0, set[bytes]()
    asked: int | None = None
    between: int | None = None
    for found in islice(rounds, MOST_ROUNDS):
        text = _user_text(mine, found)
        if text is not None:
            # A user who asks something else wants it looked up again.
            if asked is not None and asked != text:
                break
            asked = text
        if not found.calls:
            continue
        same = sum(_key(call) == key for _, call in found.calls)
        if not same:
            break
        count += same
        first = found.seq
        between = asked
        results |= _results(mine, found, key)
    return _Chain(count, first, frozenset(results), between is not None)


def _results(mine: Timeline, found: _Round, key: Key) -> set[bytes]:
    """What came back for the call."""
    alone = len({_key(call) for _, call in found.calls}) == 1
    results = set[bytes]()
    for index in found.behind:
        given = given_at(mine, found.holder, index)
        if given is not None and (alone if given.call is None else _key(given.call) == key):
            said = json.dumps(given.result.content, sort_keys=True).encode()
            results.add(blake2b(said, digest_size=16).digest())
    return results


def _user_text(mine: Timeline, found: _Round) -> int | None:
    """What the user said behind an answer; what stands beside a tool's result is no question."""
    inputs = found.holder.inputs
    if any(given_at(mine, found.holder, index) for index in found.behind):
        return None
    said = (inputs[index] for index in reversed(found.behind))
    return next((block for block in said if mine.blocks[block].role == "user"), None)


def _rounds(scene: Scene) -> Iterator[_Round]:
    """The answers of the conversation, newest first: those recorded, then those in its history."""
    mine, turn = scene.mine, scene.turn
    if not mine.has_outputs:
        # The newest answer that is known is the last one of the history, if this turn brings it.
        old = set[int]() if scene.previous is None else set(scene.previous.inputs)
        newest = next(_history(mine, turn), None)
        if newest is not None and not old.issuperset(block for block, _ in newest.calls):
            yield from _history(mine, turn)
        return
    later, behind = turn, range(0)
    earlier: Turn | None = turn
    while earlier is not None:
        yield _Round(earlier.seq, _calls(mine, earlier.outputs), later, behind)
        later, behind = earlier, range(answered(mine, earlier), len(earlier.inputs))
        earlier = scene.previous if earlier is turn else predecessor(mine, earlier)
    yield from _history(mine, later)


def _history(mine: Timeline, turn: Turn) -> Iterator[_Round]:
    """The answers that the turn's inputs hold, newest first."""
    end = len(turn.inputs)
    while end:
        stop = answered(mine, turn, end)
        start = stop
        while start and is_models(mine, turn.inputs[start - 1]):
            start -= 1
        if start == stop:
            return
        yield _Round(turn.seq, _calls(mine, turn.inputs[start:stop]), turn, range(stop, end))
        end = start


def _calls(mine: Timeline, blocks: Sequence[int]) -> tuple[tuple[int, Asked], ...]:
    found = ((block, call_at(mine, block)) for block in blocks)
    return tuple((block, call) for block, call in found if call is not None)


def _key(call: Asked) -> Key:
    return call.name, call.arguments
