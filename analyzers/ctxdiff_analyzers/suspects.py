"""The turns of a run that broke first, found without looking at every turn in full.

Signs that cost little are looked for at every turn; what they point to is then looked at by all
detectors, the earliest first, and few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise, zip_longest
from statistics import median

from ctxdiff_capture.model import BlockHead

from ctxdiff_analyzers.calling import BARE_ROLES
from ctxdiff_analyzers.content import part_type
from ctxdiff_analyzers.counts import turn_totals
from ctxdiff_analyzers.detectors.answers import declines_in_words
from ctxdiff_analyzers.detectors.arguments import fault_of
from ctxdiff_analyzers.evictions import evictions
from ctxdiff_analyzers.exchanges import (
    call_at,
    may_be_result,
    offered_names,
    result_at,
    schemas_met,
)
from ctxdiff_analyzers.explain import findings_at
from ctxdiff_analyzers.failures.failure import failure
from ctxdiff_analyzers.findings import Finding
from ctxdiff_analyzers.finish import is_cut_off, was_declined
from ctxdiff_analyzers.ranking import HABIT, NEEDED, TERMS, tier
from ctxdiff_analyzers.timeline import Timeline, Turn

MOST_GRAVE, MOST_CHANGED = 6, 8
"""Turns with a grave sign, and with any change, that are looked at in full."""
SHORT_RESULT = 150
"""Tokens up to which a tool's result may be an error message and is read."""
LONG_RESULT, MOST_LONG = 4_000, 100
"""Tokens up to which a longer result is read, whose end may tell of an error, and how many are."""
MOST_ANSWERS = 300
"""Newest answers that are read in search of a refusal in words."""
MOST_READ = 600
"""Results that are read, and calls that are checked, in search of one."""
GROWTH, GROWTH_TOKENS = 4, 500
"""Growth of a turn, in the agent's usual ones and in tokens, from which it is looked at."""
EMPTY_PART = 12
"""Tokens of a part whose text is empty, at most."""
ALARMING = 0.8
"""Share of the stated window from which a turn is looked at."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A turn that broke, with the most telling of its findings."""

    turn: int
    finding: Finding


def broken_turns(whole: Timeline, scope: Timeline, window: int | None = None) -> list[Suspect]:
    """The turns of `scope` that broke, earliest first; empty where nothing speaks of a fault.

    A turn at which something was lost comes before the later one that failed for the lack of it.
    Changes of settings count only where nothing worse is found.

    Args:
        whole: the session, all agents.
        scope: the turns that are asked about.
        window: size of the model's context window in tokens, as the user states it.
    """
    return scope.remembered(f"broken {window}", lambda: _broken_turns(whole, scope, window))


def _broken_turns(whole: Timeline, scope: Timeline, window: int | None) -> list[Suspect]:
    chosen = {*islice(_grave(scope, window), MOST_GRAVE), *islice(_changed(scope), MOST_CHANGED)}
    found = []
    for seq in sorted(chosen):
        turn = scope.turn(seq)
        findings = () if turn is None else findings_at(whole, turn, window)
        # What became true earlier and still is, is told at its own turn.
        own = [one for one in findings if one.turn == seq]
        if own:
            found.append(Suspect(seq, own[0]))
    levels = ([s for s in found if _level(s.finding) <= level] for level in (0, 1, 2))
    return next(filter(None, levels), [])


def _level(finding: Finding) -> int:
    """0 for what breaks an answer, 1 for what may, 2 for what costs or leaves facts as they are."""
    told = tier(finding)
    if told == NEEDED:
        return 0 if finding.severity != "low" else 1
    if told == TERMS and finding.severity != "low":
        return 1
    return 2 if told < HABIT else 3


def _grave(scope: Timeline, window: int | None) -> Iterator[int]:
    """Turns at which a call, its answer, a tagged block or a tool's result speaks of a fault."""
    told = {event.evicted_turn for event in evictions(scope).events}
    told.update(_repeated_calls(scope), _strange_calls(scope), _refusals(scope))
    failed = set(_failed_results(scope))
    for turn, after in zip_longest(scope.turns, scope.turns[1:]):
        # What a tool was asked for may be why it failed.
        asked = after is not None and after.seq in failed
        if asked or turn.seq in told or turn.seq in failed or _went_wrong(scope, turn, window):
            yield turn.seq


def _went_wrong(scope: Timeline, turn: Turn, window: int | None) -> bool:
    """What a call's own record says against it."""
    call = turn.call
    if call.error is not None or is_cut_off(call) or was_declined(call) or call.refusal:
        return True
    said = [scope.blocks[block] for block in turn.outputs]
    if scope.has_outputs and call.finish_reason is not None and all(map(_may_be_empty, said)):
        return True
    return window is not None and (turn.usage.prompt_tokens or 0) >= ALARMING * window


def _refusals(scope: Timeline) -> Iterator[int]:
    """Turns whose answer refuses in a part of its own, or, among the newest, in a set phrase."""
    for turn in scope.turns:
        parts = (b for b in turn.outputs if scope.blocks[b].opens_json)
        if any(scope.fact("part type", block, part_type) == "refusal" for block in parts):
            yield turn.seq
    yield from (turn.seq for turn in scope.turns[-MOST_ANSWERS:] if declines_in_words(scope, turn))


def _may_be_empty(block: BlockHead) -> bool:
    """True for a block without a text, or a part that has room for none."""
    return block.is_empty or (block.opens_json and block.token_count <= EMPTY_PART)


def _changed(scope: Timeline) -> Iterator[int]:
    """Turns that differ from the agent's turn before by more than what was added at the end."""
    changed = set[int]()
    for mine in scope.groups().values():
        last = {block: at for at, turn in enumerate(mine.turns) for block in turn.inputs}
        changed.update(mine.turns[at + 1].seq for at in last.values() if at + 1 < len(mine.turns))
        schemas = schemas_met(mine)
        offered = [[b for b in turn.inputs if b in schemas] for turn in mine.turns]
        totals = turn_totals(mine)
        usual = median([new - old for old, new in pairwise(totals)]) if len(totals) > 1 else 0
        for at, (old, new) in enumerate(pairwise(mine.turns)):
            if (
                offered[at] != offered[at + 1]
                or old.call.params != new.call.params
                or old.call.response_model != new.call.response_model
                or totals[at + 1] - totals[at] > max(GROWTH * usual, GROWTH_TOKENS)
                or _repeats(new) > _repeats(old)
                or (new.call.attempts or 1) > 1
                or old.call.error is not None
                or (new.usage.cache_read_tokens or 0) < (old.usage.cache_read_tokens or 0)
            ):
                changed.add(new.seq)
    yield from sorted(changed)


def _repeats(turn: Turn) -> int:
    return len(turn.inputs) - len(set(turn.inputs))


def _strange_calls(scope: Timeline) -> Iterator[int]:
    """Turns whose answer calls a tool that is not offered, or with arguments that do not fit."""
    checked = 0
    for mine in scope.groups().values():
        schemas = schemas_met(mine)
        names: dict[tuple[int, ...], frozenset[str]] = {}
        for turn in mine.turns:
            calls = [call for block in turn.outputs if (call := call_at(mine, block)) is not None]
            asked = {call.name for call in calls if not call.is_hosted}
            if asked:
                offered = tuple(block for block in turn.inputs if block in schemas)
                known = names.get(offered)
                if known is None:
                    known = names[offered] = offered_names(mine, turn)
                checked += len(calls)
                if asked - known or (
                    checked <= MOST_READ and any(fault_of(mine, turn, call) for call in calls)
                ):
                    yield turn.seq


def _failed_results(scope: Timeline) -> Iterator[int]:
    """Turns that show a result for the first time which reports a failure."""
    results = scope.known(
        "results to read",
        lambda: frozenset(
            i
            for i, block in enumerate(scope.blocks)
            if 0 < block.token_count <= LONG_RESULT
            and may_be_result(scope, i)
            and (block.role in BARE_ROLES or block.kind == "content_part")
        ),
    )
    met = sorted(scope.present(results).items(), key=lambda item: item[1])
    short = [item for item in met if scope.blocks[item[0]].token_count <= SHORT_RESULT]
    long = [item for item in met if scope.blocks[item[0]].token_count > SHORT_RESULT]
    for block, seq in (*short[:MOST_READ], *long[:MOST_LONG]):
        if scope.known(f"fails {block}", partial(_fails, scope, block)):
            yield seq


def _fails(scope: Timeline, block: int) -> bool:
    result = result_at(scope, block)
    if result is None:
        return False
    return result.flag is not None or failure(result.content) is not None


def _repeated_calls(scope: Timeline) -> Iterator[int]:
    """Turns whose answer asks what the two answers before it asked."""
    for mine in scope.groups().values():
        for one, two, three in zip(mine.turns, mine.turns[1:], mine.turns[2:], strict=False):
            sizes = [_size(mine, turn) for turn in (one, two, three)]
            # Ids differ, and with them a few tokens.
            if sizes[0] and max(sizes) - min(sizes) <= 20 and _asks_the_same(mine, one, two, three):
                yield three.seq


def _asks_the_same(mine: Timeline, *turns: Turn) -> bool:
    asked = []
    for turn in turns:
        calls = (call_at(mine, block) for block in turn.outputs)
        asked.append({(call.name, call.arguments) for call in calls if call is not None})
    return bool(set.intersection(*asked))


def _size(mine: Timeline, turn: Turn) -> int:
    return sum(
        mine.blocks[block].token_count
        for block in turn.outputs
        if mine.blocks[block].kind == "content_part" and mine.blocks[block].opens_json
    )
