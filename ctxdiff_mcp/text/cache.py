"""Where the prompt prefix broke, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_mcp.answers.cache import BreakRow, BreakRows, Cache
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import approx, block_name, name


def cache_lines(answer: Cache) -> list[Line]:
    """Each way in which the prefix broke, what stayed stable, and what the provider reports."""
    if not answer.pairs:
        return [Line("fewer than two calls of one agent: nothing to compare", "dim")]
    return [*_verdict(answer), *_sums(answer)]


def _verdict(answer: Cache) -> Iterator[Line]:
    if not answer.groups:
        scope = "" if answer.turn is None else f" at turn {answer.turn}"
        pairs = f"{answer.pairs} pairs of turns"
        yield Line(f"the prefix is stable{scope}: no break in {pairs}", "good")
    for group in answer.groups:
        yield from _group(group)
        yield Line("")


def _group(group: BreakRows) -> Iterator[Line]:
    first = group.first
    agent = f"[agent:{name(first.agent)}] " if first.agent else ""
    often = (
        f"on every turn ({group.count}/{group.pairs} pairs)"
        if group.count == group.pairs
        else f"on {group.count}/{group.pairs} turn pairs"
    )
    place = f"[{name(first.label)}·{first.block.kind}] {first.culprit} at position {first.position}"
    yield Line(f"⚠ {agent}{place} breaks the prefix {often}", "warn")
    turns = ", ".join(str(turn) for turn in group.turns[:12])
    more = ", …" if len(group.turns) > 12 else ""
    yield Line(f"  {_detail(first)}")
    yield Line(f"  turns {turns}{more} · ctxdiff-mcp block {block_name(first.block)}", "dim")


def _detail(row: BreakRow) -> str:
    if row.moved_from is not None:
        return f"moved from position {row.moved_from} to {row.moved_to}"
    if row.first_diff_char is not None:
        kind = " (a small part of a longer text)" if row.is_dynamic else ""
        return f"first difference at character {row.first_diff_char}{kind}"
    return f"{row.stable_blocks} blocks, {row.stable_tokens} tok before it are stable"


def _sums(answer: Cache) -> Iterator[Line]:
    mark = approx(exact=answer.exact)
    if answer.agents_analyzed is not None:
        yield Line(f"agents: {answer.agents_analyzed}, each compared with its own turns", "dim")
    yield Line(f"stable prefix (min): {answer.stable_prefix_tokens_min:,} tokens{mark}")
    yield Line(f"re-billed: {answer.rebilled_tokens:,} tokens over {answer.pairs} pairs{mark}")
    use = answer.use
    if use.calls_with_usage:
        reported = f"({use.calls_with_usage}/{use.calls_total} calls reported usage)"
        amounts = f"{use.read_tokens:,} read, {use.write_tokens:,} written"
        yield Line(f"provider's cache: {amounts} of {use.prompt_tokens:,} prompt tokens {reported}")
    if answer.fix_hint:
        hint = "one changing value in an early system block: put it behind the stable blocks"
        yield Line(f"hint: {hint}", "dim")
