"""From what a caller wrote to a run, a turn, an agent, a block; or to what would have fitted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NoReturn

from ctxdiff_analyzers.timeline import Timeline, Turn

from ctxdiff_mcp.answers.asking import OPEN, Ask, Choices, Problem, Unanswerable
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import BlockRef
from ctxdiff_mcp.answers.source import Listed, Listing, Source

LATEST = "latest"
MIN_HASH_CHARS = 6
MIN_SESSION_CHARS = 4


def find_run(
    source: Source, run: str, ask: Ask = OPEN, only: Sequence[int] | None = None
) -> OpenRun:
    """The run that `run` names, ready to be asked.

    That is an exact handle, any unambiguous prefix of a handle or session id, or `latest`.
    With `only`, a run that is not open yet has just those turns.

    Raises:
        Unanswerable: none or several fit.
        StoreError: the file went away or cannot be read.
    """
    return source.open(find_listed(source.listing(), run, ask), only)


def find_listed(listing: Listing, run: str, ask: Ask = OPEN) -> Listed:
    """The one listed run that `run` names.

    Raises:
        Unanswerable: none or several fit.
    """
    try:
        return _fitting(listing.runs, run, ask)
    except Unanswerable as problem:
        if listing.is_read or problem.code == "ambiguous_run":
            raise
        raise Unanswerable("still_reading", problem.choices) from None


def _fitting(runs: Sequence[Listed], run: str, ask: Ask) -> Listed:
    """The one that `run` names; `runs` are newest first."""
    if not runs:
        raise Unanswerable("no_runs")
    wanted = run.strip()
    if wanted == LATEST:
        return runs[0]
    by_ordinal = [listed for listed in runs if listed.ref.name.handle == wanted]
    steps = _spellings(runs, wanted, ask) if ask.by_name and wanted else []
    # A handle first: an answer that printed it must be taken at its word.
    for fits in (by_ordinal, *steps):
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise Unanswerable("ambiguous_run", Choices(tuple(one.ref.name for one in fits)))
    nearest = _nearest(runs, wanted, ask) if ask.by_name else list(runs)
    raise Unanswerable("unknown_run", Choices(tuple(one.ref.name for one in nearest)))


def find_agent(run: OpenRun, agent: str, ask: Ask = OPEN) -> str:
    """The exact name of the agent that `agent` spells: its name, its handle, or a prefix.

    Raises:
        Unanswerable: none or several fit.
    """
    wanted = agent.strip()
    named = {text: name for text, name in run.agents.items() if text is not None}
    by_handle = [text for text, name in named.items() if name.handle == wanted]
    may_be = [text for text in named if ask.by_name and ask.may_name(text)]
    exact = [text for text in may_be if text == agent]
    prefixed = [text for text in may_be if wanted and text.startswith(wanted)]
    for fits in (by_handle, exact, prefixed):
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise Unanswerable("ambiguous_agent", Choices(tuple(named[text] for text in fits)))
    raise Unanswerable("unknown_agent", Choices(tuple(named.values())))


def find_scope(run: OpenRun, agent: str | None, ask: Ask = OPEN) -> Timeline:
    """The turns of the agent that `agent` spells; all turns for None.

    Raises:
        Unanswerable: no such agent, or nothing was recorded.
    """
    if not run.timeline.turns:
        raise Unanswerable("empty_run")
    if agent is None:
        return run.timeline
    return run.timeline.of_agent(find_agent(run, agent, ask))


def find_turn(run: OpenRun, seq: int, scope: Timeline | None = None) -> Turn:
    """Turn `seq`, which must be in `scope` when that is given.

    Raises:
        Unanswerable: there is none, or it is another agent's.
    """
    scope = scope or run.timeline
    turn = scope.turn(seq)
    if turn is not None:
        return turn
    code: Problem = "unknown_turn" if run.timeline.turn(seq) is None else "turn_of_another_agent"
    raise Unanswerable(code, Choices(numbers=tuple(one.seq for one in scope.turns)))


def find_block(run: OpenRun, content_hash: str, ask: Ask = OPEN) -> BlockRef:
    """The block whose hash starts with `content_hash`, or whose handle (`b7`) it is.

    Raises:
        Unanswerable: none or several fit, or fewer than 6 digits are given.
    """
    wanted = content_hash.strip().lower()
    ordinal = re.fullmatch(r"b([1-9][0-9]{0,8})", wanted, re.ASCII)
    found = run.with_ordinal(int(ordinal[1])) if ordinal else None
    if not ask.by_text:
        return found or _no_block("unknown_block")
    if re.fullmatch(r"[0-9a-f]+", wanted, re.ASCII) and len(wanted) >= MIN_HASH_CHARS:
        fits = run.starting_with(wanted)
        if len(fits) > 1:
            raise Unanswerable("ambiguous_block", Choices(blocks=tuple(fits)))
        found = fits[0] if fits else found
    return found or _no_block("hash_too_short" if len(wanted) < MIN_HASH_CHARS else "unknown_block")


def _no_block(code: Problem) -> NoReturn:
    raise Unanswerable(code)


def _spellings(runs: Sequence[Listed], wanted: str, ask: Ask) -> list[list[Listed]]:
    """Runs that fit, by ever looser readings; the first reading with a fit decides."""
    label = wanted.removesuffix(".ctrace")
    shown = [one for one in runs if _may_be_named(one, ask)]
    return [
        [one for one in shown if one.handle == wanted],
        [one for one in shown if one.label == label],
        [one for one in shown if one.label.rpartition("/")[2] == label],
        [one for one in shown if ask.by_text and _has_session(one, wanted)],
        [one for one in shown if one.handle.startswith(wanted)],
        [one for one in shown if one.label.rpartition("/")[2].startswith(wanted)],
    ]


def _may_be_named(run: Listed, ask: Ask) -> bool:
    start = run.handle[len(run.label) + 1 :]
    return ask.may_name(run.label) and (not start or ask.may_name(start))


def _has_session(run: Listed, wanted: str) -> bool:
    label, mark, start = wanted.rpartition("#")
    if len(start) < MIN_SESSION_CHARS or (mark and label not in (run.label, "")):
        return False
    return run.session.id.startswith(start)


def _nearest(runs: Sequence[Listed], wanted: str, ask: Ask) -> list[Listed]:
    """Runs whose handle shares most of its start with `wanted` first; newest first among equals."""

    def shared(run: Listed) -> int:
        if not _may_be_named(run, ask):
            return 0
        pairs = zip(run.handle.lower(), wanted.lower(), strict=False)
        return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))

    return sorted(runs, key=shared, reverse=True)
