"""The answer to "in which turns does this text stand, when did it enter and leave?"."""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxdiff_analyzers.search import Event, appearances

from ctxdiff_mcp.answers.asking import OPEN, Ask, Unanswerable
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import BlockRef, RunRef
from ctxdiff_mcp.answers.select import find_run, find_scope
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
class Search:
    """Where a text stands."""

    run: RunRef
    agent: Name | None
    """The agent asked about; None for all."""
    last_turn: int
    """The last turn of the scope: what was not left by then is still there."""
    matches: tuple[Match, ...]
    """Ascending by first turn."""
    _query: str = field(repr=False)
    _run: OpenRun = field(repr=False, compare=False)

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


def search(
    source: Source, run: str, query: str, *, agent: str | None = None, ask: Ask = OPEN
) -> Search:
    """Every block whose text contains `query`, literally and case-sensitively.

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
        found = appearances(scope, opened.find_text(query))
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
            _query=query,
            _run=opened,
        )
