"""What the provider's cache did, in lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from ctxdiff_mcp.gate.envelope import Envelope, Piece
from ctxdiff_mcp.tools.finding_lines import TOKEN_COUNTS
from ctxdiff_mcp.tools.lines import call, handle, number, plural, ranges

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.cache import Cache
    from ctxdiff_mcp.answers.cache_sessions import SessionBreak
    from ctxdiff_mcp.answers.cache_verdict import CauseRows, RunCache, TurnCache, VerdictRow

MOST_STRETCHES = 14
"""Stretches of turns that are listed."""
STATES = {
    "kept": "read what could be read",
    "lost": "lost their cache",
    "unused": "paid in full",
    "nothing": "had nothing to read",
    "unknown": "read less than expected, unexplained",
    "hidden": "hold context at the provider, so that no prefix is known",
    "failed": "failed",
}
"""What each state of a verdict says of turns."""
AGREEMENTS = {
    "agrees": "prediction and report agree",
    "reads_more": "more was read than the rules predict",
    "reads_less": "less was read than the rules predict",
    "not_reported": "the provider reports nothing to compare with",
}
SAME = {"could_have_been_read", "identical"}
"""Counts of a verdict that its lines say otherwise."""


def summary_lines(env: Envelope, verdicts: RunCache, head: str) -> Iterator[str]:
    """How many turns fared how, and whether the rules predict what is reported."""
    states = [row.state for row in verdicts.turns]
    fared = [
        f"{states.count(state):,} {words}" for state, words in STATES.items() if state in states
    ]
    rules = " and ".join(verdicts.providers)
    yield (
        f"{head}{plural(len(states), 'turn')} by the rules of {rules} "
        f"(read {verdicts.rules_read}): {', '.join(fared)}"
    )
    if verdicts.compared:
        compared = plural(verdicts.compared, "turn")
        yield f"prediction and report agree at {verdicts.agreed:,} of {compared}"
    stretches = [list(mine) for _, mine in groupby(verdicts.turns, _kind)]
    shown = [_stretch(env, mine) for mine in stretches[:MOST_STRETCHES]]
    if len(stretches) > MOST_STRETCHES:
        shown.append(f"{len(stretches) - MOST_STRETCHES:,} more stretches")
    if any(row.read is not None for row in verdicts.turns):
        yield f"turns, predicted/read/written: {'; '.join(shown)}"


def cause_line(env: Envelope, found: Cache, group: CauseRows) -> bool:
    """One cause with the turns it holds for; False when there is no room."""
    first = group.first
    parts = [f"- {_named(first)}: turn{'s' if len(group.turns) > 1 else ''} {ranges(group.turns)}"]
    if first.agent is not None:
        parts.append(f"agent {env.name(first.agent)}")
    if group.lost_tokens:
        mark = "" if group.lost_is_billed else "~"
        parts.append(f"{mark}{number(env, group.lost_tokens)} tokens paid again")
    parts += _evidence(env, first)
    line = ", ".join(parts)
    if first.remedy:
        line += f"; remedy: {first.remedy}"
    line += f"; next: {call('ctxdiff_cache', env, found.run, turn=first.turn)}"
    return env.offer(line, *_pieces(env, first))


def verdict_lines(env: Envelope, one: VerdictRow, head: str) -> Iterator[str]:
    """The verdict on one turn, its texts apart."""
    against = "" if one.against is None else f", compared with turn {one.against}"
    words = STATES[one.state] if one.code is None else f"{_named(one)}, {one.certainty}"
    yield f"{head}{words}{against}, by the rules of {one.provider}"
    figures = [
        f"{number(env, count)} {what}"
        for what, count in (
            ("could have been read", one.could_be_read),
            ("predicted to be read", one.predicted),
            ("read", one.read),
            ("written", one.written),
            ("prompt", one.prompt),
        )
        if count is not None
    ]
    if figures:
        yield f"tokens: {', '.join(figures)}; {AGREEMENTS[one.agreement]}"
    if one.lost_tokens:
        mark = "" if one.lost_is_billed else "~"
        yield f"paid again: {mark}{number(env, one.lost_tokens)} tokens"
    if one.vendor_reason is not None:
        missed = one.vendor_missed_tokens
        tokens = "" if missed is None else f", {number(env, missed)} tokens missed"
        yield f"the provider says: {one.vendor_reason}{tokens}"
    if one.since is not None:
        yield f"since turn {one.since}"


def offer_evidence(env: Envelope, found: Cache, one: VerdictRow) -> None:
    """The place with both texts, then why and what helps."""
    evidence = ", ".join(_evidence(env, one))
    if evidence:
        env.offer(f"- {evidence}", *_pieces(env, one))
    for word, text in (("why", one.why), ("source", one.source), ("remedy", one.remedy)):
        if text:
            env.offer(f"- {word}: {text}")
    if one.against is None:
        env.close(f"next: {call('ctxdiff_block', env, found.run, turn=one.turn)}")
    else:
        pair = {"turn_a": one.against, "turn_b": one.turn}
        env.close(f"next: {call('ctxdiff_diff', env, found.run, **pair)}")


def session_line(env: Envelope, one: SessionBreak) -> bool:
    """Two sessions that begin alike and part too early; False when there is no room."""
    parts = [f"- sessions {env.name(one.earlier.name)} and {env.name(one.later.name)} begin alike"]
    where = f" at {one.path}" if one.path else ""
    place = f"and part in the {one.section}{where}"
    if one.first_difference is not None and not env.policy.hides_text:
        place += f", character {one.first_difference:,}"
    parts.append(f"{place} ({one.cause})" if one.cause else place)
    parts.append(f"~{number(env, one.shared_tokens)} tokens of whole blocks shared")
    if one.reusable:
        parts.append(f"still reusable {' '.join(one.reusable)}")
    if one.gap_s is not None:
        parts.append(f"{one.gap_s:,} s apart")
    origins = () if env.policy.hides_text else one.origins()
    pieces = [Piece(text, (("of", "sessions"),), origins=origins) for text in one.excerpts]
    return env.offer(" ".join(parts[:2]) + "; " + ", ".join(parts[2:]), *pieces)


def _named(one: VerdictRow) -> str:
    return f"{one.code} ({one.cause})" if one.cause else f"{one.code}"


def _evidence(env: Envelope, one: VerdictRow) -> list[str]:
    parts = []
    if one.path is not None and not env.policy.hides_text:
        parts.append(f"at {one.path}")
    elif one.positions:
        parts.append(f"at position {one.positions[0]}")
    if one.first_difference is not None and not env.policy.hides_text:
        parts.append(f"first difference at character {one.first_difference:,}")
    if one.blocks:
        parts.append(f"block {' '.join(handle(env, block) for block in one.blocks)}")
    if one.names:
        origins = () if env.policy.hides_text else one.origins()
        parts.append(f"about {' '.join(env.word(name, origins=origins) for name in one.names[:5])}")
    if one.reusable:
        parts.append(f"still reusable {' '.join(one.reusable)}")
    for name, count in one.counts:
        if name not in SAME:
            spelled = number(env, count) if name in TOKEN_COUNTS else f"{count:,}"
            parts.append(f"{name} {spelled}")
    return parts


def _pieces(env: Envelope, one: VerdictRow) -> list[Piece]:
    origins = () if env.policy.hides_text else one.origins()
    sides = ("old", "new") if len(one.excerpts) == 2 else ("text",) * len(one.excerpts)
    return [
        Piece(text, (("turn", one.turn), ("side", side)), origins=origins)
        for side, text in zip(sides, one.excerpts, strict=True)
    ]


def _kind(row: TurnCache) -> tuple[object, ...]:
    return row.state, row.cause, row.agreement


def _stretch(env: Envelope, rows: list[TurnCache]) -> str:
    """A stretch of turns that fared alike, with their sums."""
    turns = ranges([row.turn for row in rows], 3)
    sums = [
        number(env, sum(known)) if (known := [one for one in column if one is not None]) else "-"
        for column in (
            [row.predicted for row in rows],
            [row.read for row in rows],
            [row.written for row in rows],
        )
    ]
    return f"{turns} {rows[0].state} {'/'.join(sums)}"
