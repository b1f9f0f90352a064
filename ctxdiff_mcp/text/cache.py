"""What the provider's prompt cache did, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ctxdiff_mcp.answers.cache import Cache
from ctxdiff_mcp.answers.cache_sessions import SessionBreak
from ctxdiff_mcp.answers.cache_verdict import CauseRows, RunCache, TurnCache, VerdictRow
from ctxdiff_mcp.text.lines import Line, Style
from ctxdiff_mcp.text.shown import approx, cut, masked_excerpt, name, snippet

MOST_STRETCHES = 40
STATES: dict[str, str] = {
    "kept": "read what could be read",
    "lost": "lost their cache",
    "unused": "paid in full",
    "nothing": "had nothing to read",
    "unknown": "read less than expected, unexplained",
    "hidden": "hold context at the provider",
    "failed": "failed",
}
_STYLES: dict[str, Style] = {"lost": "warn", "unused": "warn", "kept": "good"}


def cache_lines(answer: Cache) -> list[Line]:
    """The verdict on a turn or on all turns, its causes, and where the prefix moved by position."""
    if answer.verdict is not None:
        return [*_verdict(answer.verdict), *_prefix(answer)]
    assert answer.verdicts is not None
    return [
        *_summary(answer.verdicts),
        *(line for one in answer.sessions for line in _session(one)),
        *(line for group in answer.verdicts.causes for line in _cause(group)),
        *_prefix(answer),
    ]


def _summary(verdicts: RunCache) -> Iterator[Line]:
    states = [row.state for row in verdicts.turns]
    rules = ", ".join(verdicts.providers)
    yield Line(f"── {len(states)} turns by the rules of {rules} (read {verdicts.rules_read}) ──")
    for state, words in STATES.items():
        if state in states:
            yield Line(f"{states.count(state):>6} {words}", _STYLES.get(state, "plain"))
    if verdicts.compared:
        agreed = f"{verdicts.agreed} of {verdicts.compared}"
        yield Line(f"prediction and report agree at {agreed} turns")
    if not verdicts.reported:
        yield Line("the provider reports nothing of its cache", "dim")
        return
    yield Line("")
    yield Line(f"{'turns':>12}  {'predicted':>10} {'read':>10} {'written':>10}  cache", "dim")
    stretches = [list(mine) for _, mine in groupby(verdicts.turns, _kind)]
    for mine in stretches[:MOST_STRETCHES]:
        yield _stretch(mine)
    if len(stretches) > MOST_STRETCHES:
        yield Line(f"{'…':>12}  {len(stretches) - MOST_STRETCHES} more", "dim")
    yield Line("")


def _kind(row: TurnCache) -> tuple[object, ...]:
    return row.state, row.cause, row.agreement


def _stretch(rows: list[TurnCache]) -> Line:
    first, last = rows[0].turn, rows[-1].turn
    turns = f"{first}" if first == last else f"{first}-{last}"
    columns = (
        [row.predicted for row in rows],
        [row.read for row in rows],
        [row.written for row in rows],
    )
    sums = [
        f"{sum(known):,}" if (known := [one for one in column if one is not None]) else "-"
        for column in columns
    ]
    state = rows[0].cause or rows[0].state
    text = f"{turns:>12}  {sums[0]:>10} {sums[1]:>10} {sums[2]:>10}  {state}"
    return Line(text, _STYLES.get(rows[0].state, "plain"))


def _cause(group: CauseRows) -> Iterator[Line]:
    first = group.first
    agent = f"[agent:{name(first.agent)}] " if first.agent else ""
    turns = ", ".join(str(turn) for turn in group.turns[:12])
    more = f", … ({len(group.turns)})" if len(group.turns) > 12 else ""
    yield Line(f"⚠ {agent}{_named(first)} · turns {turns}{more}", "warn")
    if group.lost_tokens:
        exact = approx(exact=group.lost_is_billed)
        yield Line(f"  paid again: {group.lost_tokens:,} tokens{exact}")
    yield from _evidence(first)
    yield Line(f"  ctxdiff-mcp cache --turn {first.turn}", "dim")
    yield Line("")


def _verdict(one: VerdictRow) -> Iterator[Line]:
    who = f" · {name(one.agent)}" if one.agent else ""
    words = f"{_named(one)} · {one.certainty}" if one.code else STATES[one.state]
    head = f"── turn {one.turn}{who} · {words} ──"
    yield Line(head, _STYLES.get(one.state, "plain"))
    against = "" if one.against is None else f"compared with turn {one.against}, "
    yield Line(f"{against}by the rules of {one.provider}", "dim")
    figures = [
        f"{what} {count:,}"
        for what, count in (
            ("could be read", one.could_be_read),
            ("predicted", one.predicted),
            ("read", one.read),
            ("written", one.written),
            ("prompt", one.prompt),
        )
        if count is not None
    ]
    if figures:
        yield Line(f"tokens: {', '.join(figures)} · {one.agreement.replace('_', ' ')}")
    if one.lost_tokens:
        yield Line(f"paid again: {one.lost_tokens:,} tokens{approx(exact=one.lost_is_billed)}")
    if one.vendor_reason is not None:
        yield Line(f"the provider says: {one.vendor_reason}")
    yield from _evidence(one)
    if one.against is not None:
        yield Line(f"  next: ctxdiff-mcp diff --turn {one.against} --turn {one.turn}", "dim")
    yield Line("")


def _evidence(one: VerdictRow) -> Iterator[Line]:
    parts = [f"at {one.path}"] if one.path else []
    if one.first_difference is not None:
        parts.append(f"first difference at character {one.first_difference}")
    if one.names:
        origins = one.origins()
        parts.append(", ".join(cut(masked_excerpt(text, origins)) for text in one.names))
    parts += [f"{what}={count}" for what, count in one.counts]
    if one.reusable:
        parts.append(f"still reusable: {', '.join(one.reusable)}")
    if parts:
        yield Line(f"  {' · '.join(parts)}")
    for text in one.excerpts:
        yield Line(f"  {snippet(masked_excerpt(text, one.origins()), 100)}")
    if one.why:
        yield Line(f"  why: {one.why}")
    if one.source:
        yield Line(f"  source: {one.source}", "dim")
    if one.remedy:
        yield Line(f"  remedy: {one.remedy}")


def _session(one: SessionBreak) -> Iterator[Line]:
    where = f" at {one.path}" if one.path else ""
    yield Line(
        f"⚠ sessions {name(one.earlier.name)} and {name(one.later.name)} begin alike and part "
        f"in the {one.section}{where} ({one.cause})",
        "warn",
    )
    if one.first_difference is not None:
        yield Line(f"  first difference at character {one.first_difference}")
    for text in one.excerpts:
        yield Line(f"  {snippet(masked_excerpt(text, one.origins()), 100)}")
    yield Line("")


def _named(one: VerdictRow) -> str:
    return f"{one.code} ({one.cause})" if one.cause else f"{one.code}"


def _prefix(answer: Cache) -> Iterator[Line]:
    """The prefix by position alone, and what the provider reports in all."""
    mark = approx(exact=answer.exact)
    if answer.pairs:
        broke = f"{len(answer.breaks)} breaks in {answer.pairs} pairs of turns"
        stable = f"shortest stable start {answer.stable_prefix_tokens_min:,} tokens{mark}"
        yield Line(f"prefix by position: {broke}, {stable}", "dim")
    use = answer.use
    if use.calls_with_usage:
        reported = f"({use.calls_with_usage}/{use.calls_total} calls reported usage)"
        amounts = f"{use.read_tokens:,} read, {use.write_tokens:,} written"
        yield Line(f"provider's cache: {amounts} of {use.prompt_tokens:,} prompt tokens {reported}")
