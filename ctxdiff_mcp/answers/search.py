"""The answer to "in which turns does this text stand, when did it enter and leave?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ctxdiff_analyzers.departures import Departure, Way, departure
from ctxdiff_analyzers.search import Event, appearances
from ctxdiff_analyzers.timeline import Turn

from ctxdiff_mcp.answers.asking import OPEN, Ask, Unanswerable
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import BlockRef, RunRef
from ctxdiff_mcp.answers.select import find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.captured import Captured, Name

BEFORE, AFTER = 60, 140
"""Code points shown before the text that was found, and from its start on."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a block around the text that was found."""

    text: Captured
    start: int
    """Offset of its first code point in the block."""
    total: int
    """Code points of the block."""


@dataclass(frozen=True, slots=True)
class Match:
    """One block that holds the text, in one agent's turns."""

    block: BlockRef
    agent: Name | None
    label: Name | None
    """None when it never stands in an input."""
    first_seen: int
    last_seen: int
    input_turns: int
    """How many turns have it in the input."""
    output_turns: tuple[int, ...]
    """Turns whose answer it is."""
    events: tuple[Event, ...]
    """When it entered and left the input, ascending."""
    positions: tuple[tuple[int, int], ...]
    """(turn, position) of each entry."""


@dataclass(frozen=True, slots=True)
class Left:
    """How a block left an agent's input."""

    turn: int
    """The first turn that does not have it."""
    way: Way
    successor: BlockRef | None
    """What stands for it now: its edited form, or a summary."""


@dataclass(frozen=True, slots=True)
class AtTurn:
    """Where the text is at one turn."""

    turn: int
    agent: Name | None
    places: tuple[tuple[BlockRef, int], ...]
    """(block, position) of the blocks in the turn's input that have it."""
    last: BlockRef | None
    """Where it is not there: the block in which the agent had it last before. None: never."""
    last_seen: int | None
    left: Left | None


@dataclass(frozen=True, slots=True)
class Search:
    """Where a text stands."""

    run: RunRef
    agent: Name | None
    """The agent asked about; None for all."""
    last_turn: int
    """The last turn of the scope: what was not left by then is still there."""
    matches: tuple[Match, ...]
    """Ascending by first turn."""
    without: tuple[Name | None, ...]
    """Agents of the scope that never had the text, where others had it."""
    at: AtTurn | None
    """Of the turn that was asked about."""
    _query: str = field(repr=False)
    _run: OpenRun = field(repr=False, compare=False)

    def left(self, match: Match, event: Event) -> Left | None:
        """How the block left at an event of kind `left`; None where that cannot be told."""
        if event.kind != "left":
            return None
        run = self._run
        with run.lock:
            block = run.index_of(run.stored_hash(match.block))
            return left_of(run, departure(run.timeline, block, event.seq))

    def text(self, match: Match) -> Captured:
        """The block's text, whole."""
        return self._run.text_of(match.block)

    def start(self, match: Match) -> int:
        """Where an excerpt of the block begins: a little before the first place of the text."""
        at = self._run.text(self._run.stored_hash(match.block)).find(self._query)
        return max(at - BEFORE, 0)

    def excerpt(self, match: Match) -> Excerpt:
        """The block around the first place where the text stands; credentials are not masked."""
        text = self._run.text(self._run.stored_hash(match.block))
        start = self.start(match)
        return Excerpt(Captured(text[start : start + BEFORE + AFTER]), start, len(text))


def left_of(run: OpenRun, found: Departure | None) -> Left | None:
    """An analyzer's result as an answer."""
    if found is None:
        return None
    successor = None if found.successor is None else run.block(found.successor)
    return Left(found.seq, found.way, successor)


def search(
    source: Source,
    run: str,
    query: str,
    *,
    agent: str | None = None,
    turn: int | None = None,
    ask: Ask = OPEN,
) -> Search:
    """Every block whose text contains `query`, literally and case-sensitively.

    With `turn` also whether the text is in that turn's input, and if not, when it left.

    Raises:
        Unanswerable: a selector fits nothing or several things, or names may not be asked for.
        StoreError: the file went away or cannot be read.
        ValueError: `query` is empty.
    """
    if not query:
        raise ValueError("the query is empty")
    if not ask.by_text:
        raise Unanswerable("not_in_redact_mode")
    opened = find_run(source, run, ask)
    with opened.lock:
        scope = find_scope(opened, agent, ask)
        this = None if turn is None else find_turn(opened, turn, scope)
        hashes = opened.find_text(query)
        found = appearances(scope, hashes)
        had = {one.agent for one in found}
        matches = [
            Match(
                block=opened.block(one.content_hash),
                agent=opened.agent(one.agent),
                label=None if one.label is None else opened.label(one.label),
                first_seen=one.first_seen,
                last_seen=one.last_seen,
                input_turns=one.input_turns,
                output_turns=one.output_turns,
                events=one.events,
                positions=one.positions,
            )
            for one in found
        ]
        return Search(
            run=opened.ref,
            agent=None if agent is None else opened.agent(scope.turns[0].agent),
            last_turn=scope.turns[-1].seq,
            matches=tuple(sorted(matches, key=lambda one: (one.first_seen, one.block.ordinal))),
            without=tuple(opened.agent(one) for one in scope.agents() if found and one not in had),
            at=None if this is None else _at(opened, this, hashes),
            _query=query,
            _run=opened,
        )


def _at(run: OpenRun, turn: Turn, hashes: Sequence[str]) -> AtTurn:
    """Where the blocks with these hashes are at one turn."""
    blocks = {run.index_of(one) for one in hashes}
    places = [
        (run.block_at(block), position)
        for block, position in zip(turn.inputs, turn.positions, strict=True)
        if block in blocks
    ]
    agent = run.agent(turn.agent)
    if places:
        return AtTurn(turn.seq, agent, tuple(places), None, None, None)
    mine = run.timeline.of_agent(turn.agent).turns
    before = [one for one in mine if one.seq < turn.seq]
    for old in reversed(before):
        block = next((b for b in reversed(old.inputs) if b in blocks), None)
        if block is not None:
            at = next(one.seq for one in mine if one.seq > old.seq)
            left = left_of(run, departure(run.timeline, block, at))
            return AtTurn(turn.seq, agent, (), run.block_at(block), old.seq, left)
    return AtTurn(turn.seq, agent, (), None, None, None)
