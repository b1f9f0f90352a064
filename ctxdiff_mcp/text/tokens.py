"""Where tokens go, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_analyzers.window import Fill

from ctxdiff_mcp.answers.tokens import LostBlock, Schemas, Tokens
from ctxdiff_mcp.answers.turns import TurnRow
from ctxdiff_mcp.text.ledger import bill_lines, money_lines, parts_lines, reconciliation_line
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import approx, block_name, cut, name

BAR = 30


def token_lines(answer: Tokens) -> list[Line]:
    """What was billed, each turn by label, tagged blocks that were lost, tools never used."""
    sections = [list(_billed(answer)), list(_agents(answer))]
    sections.append([] if answer.bill.by == "run" else list(bill_lines(answer.bill)))
    sections += [list(_turn(turn, answer.fill(turn))) for turn in answer.turns]
    sections += [list(_lost(lost)) for lost in answer.lost]
    sections.append(list(_schemas(answer.schemas)))
    lines: list[Line] = []
    for section in filter(None, sections):
        lines += [Line(""), *section] if lines else section
    return lines


def _billed(answer: Tokens) -> Iterator[Line]:
    tally = answer.bill.total.tally
    total = "run total" if answer.agent is None else f"{name(answer.agent)} total"
    if not tally.reported:
        yield Line(f"{total} · no usage was reported (0/{tally.calls} calls)", "dim")
    else:
        parts = [f"in {tally.prompt:,} tok", f"out {tally.output:,} tok"]
        if tally.cache_read or tally.cache_write:
            parts.append(f"cache {tally.cache_read:,} read, {tally.cache_write:,} written")
        reported = f"({tally.reported}/{tally.calls} calls reported usage)"
        yield Line(f"{total} · {' · '.join(parts)} {reported}")
    yield from parts_lines(tally)
    if answer.streamed_without_usage:
        count = answer.streamed_without_usage
        yield Line(f"  {count} streamed calls did not ask for usage (include_usage)", "dim")
    for share in answer.by_agent:
        if share.input_tokens is not None:
            usage = f"in {share.input_tokens:,} · out {share.output_tokens or 0:,}"
            yield Line(f"  {name(share.agent)} · {usage}")
    yield from reconciliation_line(answer.reconciliation)
    if answer.bill.total.money is not None:
        yield from money_lines(answer.bill.total.money)


def _agents(answer: Tokens) -> Iterator[Line]:
    if answer.by_agent:
        shares = (f"{name(share.agent)} · {share.tokens:,} tok" for share in answer.by_agent)
        yield Line(f"agents: {'   '.join(shares)}")


def _turn(turn: TurnRow, fill: Fill | None) -> Iterator[Line]:
    who = [name(turn.agent)] if turn.agent else []
    who += [cut(turn.step)] if turn.step else []
    scope = f" [{'·'.join(who)}]" if who else ""
    mark = approx(exact=turn.exact)
    if fill is None:
        yield Line(f"turn {turn.turn} · {turn.total_tokens:,} tokens{mark}{scope}")
    else:
        alarm = "⚠ " if fill.alarm else ""
        share = f"{fill.tokens:,} / {fill.window:,} tok · {alarm}{fill.pct:.1f}%"
        line = f"turn {turn.turn} · {share}{mark}{scope}"
        yield Line(line, "warn" if fill.alarm else "plain")
    if turn.unmeasured_blocks:
        yield Line(f"  at least: {turn.unmeasured_blocks} blocks are of unknown cost", "warn")
    for part in turn.labels:
        bar = "█" * round(part.pct / 100 * BAR)
        label = f"{name(part.label):12}"
        yield Line(f"  {bar:{BAR}} {label} {part.tokens:8} tok {part.pct:5.1f}%")
    if turn.usage.prompt_tokens is not None and turn.usage_delta is not None:
        billed = f"provider reports {turn.usage.prompt_tokens:,} prompt tokens"
        yield Line(f"  {billed} · Δ {turn.usage_delta:+d}", "dim")


def _lost(lost: LostBlock) -> Iterator[Line]:
    agent = f"[agent:{name(lost.agent)}] " if lost.agent else ""
    tagged = f"tagged {name(lost.label)} at turn {lost.tagged_turn}"
    yield Line(f"⚠ {agent}{tagged}, evicted at turn {lost.evicted_turn}", "warn")
    facts = [
        f"{name(lost.label)}·{lost.block.role}",
        f"{lost.block.tokens} tok{approx(exact=lost.block.exact)}",
        f"entered at turn {lost.entered_turn}",
        f"last present at turn {lost.last_seen_turn}",
        "never returned",
    ]
    yield Line(f"  {' · '.join(facts)}")
    yield Line(f"  ctxdiff-mcp block {block_name(lost.block)}", "dim")


def _schemas(schemas: Schemas) -> Iterator[Line]:
    if schemas.unused:
        names = ", ".join(cut(tool.name) for tool in schemas.unused)
        count = f"{len(schemas.unused)} of {schemas.registered} tools are never called"
        cost = f"{schemas.unused_tokens_per_call} tok per call{approx(exact=schemas.exact)}"
        share = f"{schemas.pct_of_avg_context:.1f}% of the average context"
        yield Line(f"⚠ schema bloat: {names} · {count} · {cost} · {share}", "warn")
        if schemas.unanswered_final_turn:
            yield Line("  the last answer is not in the record: it may have called them", "dim")
