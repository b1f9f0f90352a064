"""One turn explained, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_analyzers.findings import NextCall

from ctxdiff_mcp.answers.explain import ChosenBy, Explanation
from ctxdiff_mcp.answers.findings import FindingRow
from ctxdiff_mcp.answers.turns import Outcome
from ctxdiff_mcp.text.lines import Line, Style
from ctxdiff_mcp.text.shown import approx, block_name, cut, masked_excerpt, name, snippet

CHOSEN: dict[ChosenBy, str] = {
    "asked": "",
    "failed": " (chosen: the first that failed)",
    "cut_off": " (chosen: the first whose answer was cut off)",
    "refused": " (chosen: the first that was refused)",
    "tool_failed": " (chosen: the first at which a tool went wrong)",
    "changed": " (chosen: the first that differs from the one before)",
    "tagged_block_lost": " (chosen: the first that lost a tagged block)",
    "context_lost": " (chosen: the first whose context lost or altered something)",
    "last": " (chosen: the last; no turn speaks of a fault)",
}
MOST_FINDINGS, MOST_EXCERPTS = 5, 2
"""What is shown unless all is asked for."""
_STYLES: dict[str, Style] = {"high": "bad", "medium": "warn", "low": "plain"}


def explain_lines(answer: Explanation, *, detailed: bool = True) -> list[Line]:
    """The turn's facts, then its findings, most telling first; unless `detailed` the first few."""
    lines = [*_facts(answer), Line("")]
    if not answer.findings:
        lines.append(Line("no findings: nothing in the record speaks of a fault here", "good"))
    shown = answer.findings if detailed else answer.findings[:MOST_FINDINGS]
    for number, finding in enumerate(shown, 1):
        lines += _finding(number, finding, detailed=detailed)
    if rest := len(answer.findings) - len(shown):
        lines.append(Line(f"{rest} more: --detailed", "dim"))
    return lines


def _facts(answer: Explanation) -> Iterator[Line]:
    row = answer.tokens
    who = f" · {name(row.agent)}" if row.agent else ""
    total = f"{row.total_tokens:,} tokens{approx(exact=row.exact)}"
    turn = f"turn {answer.turn} of {answer.turns_total}"
    yield Line(f"── {turn}{who} · {total} ──{CHOSEN[answer.chosen_by]}")
    if answer.window is not None:
        alarm = "⚠ " if answer.window.alarm else ""
        share = f"{alarm}{answer.window.pct:.1f}% of {answer.window.window:,}"
        yield Line(f"window: {share}", "warn" if answer.window.alarm else "plain")
    yield Line(f"answer: {_outcome(answer.outcome)}")
    if answer.also_broken:
        others = ", ".join(f"turn {one.turn} {one.code}" for one in answer.also_broken)
        yield Line(f"broke later too: {others}", "warn")
    if answer.removed is not None:
        lost = answer.removed
        size = f"{lost.tokens:,} tok{approx(exact=lost.exact)}"
        blocks = f"{lost.blocks} block{'s' * (lost.blocks != 1)}"
        yield Line(
            f"your optimiser removed {blocks} ({size}): ctxdiff-mcp stages --turn {answer.turn}",
            "warn",
        )
    if answer.diff is None:
        yield Line("the agent's first turn: nothing to compare with")
        return
    counts = answer.diff.counts
    changes = f"{counts.added} added, {counts.evicted} evicted, {counts.modified} modified"
    tokens = f"+{answer.diff.tokens_added} −{answer.diff.tokens_evicted} tokens"
    yield Line(f"since turn {answer.diff.turn_a}: {changes}, {counts.unchanged} kept · {tokens}")


def _outcome(outcome: Outcome) -> str:
    parts = []
    if outcome.error is not None:
        status = f" {outcome.error_status}" if outcome.error_status is not None else ""
        message = f" {snippet(outcome.error_message, 200)}" if outcome.error_message else ""
        parts.append(f"failed with {cut(outcome.error)}{status}{message}")
    if outcome.finish_reason is not None:
        parts.append(f"finish reason {cut(outcome.finish_reason)}")
    if outcome.model is not None:
        parts.append(cut(outcome.model))
    if outcome.attempts is not None and outcome.attempts > 1:
        parts.append(f"{outcome.attempts} attempts")
    if outcome.latency_ms is not None:
        parts.append(f"{outcome.latency_ms:,} ms")
    return " · ".join(parts) or "not in the record"


def _finding(number: int, finding: FindingRow, *, detailed: bool) -> Iterator[Line]:
    cause = f" ({finding.cause})" if finding.cause else ""
    since = f", since turn {finding.since}" if finding.since is not None else ""
    head = f"{number}. {finding.code}{cause} · {finding.severity} · {finding.certainty}"
    yield Line(f"{head} · turn {finding.turn}{since}", _STYLES[finding.severity])
    if evidence := _evidence(finding):
        yield Line(f"   {evidence}")
    origins = finding.origins()
    for excerpt in finding.excerpts[: None if detailed else MOST_EXCERPTS]:
        yield Line(f"   {snippet(masked_excerpt(excerpt, origins), 160)}")
    if finding.why:
        yield Line(f"   why: {finding.why}")
    if finding.next is not None:
        yield Line(f"   next: {command(finding.next)}", "dim")


def _evidence(finding: FindingRow) -> str:
    origins = finding.origins() if finding.names else ()
    names = (cut(masked_excerpt(text, origins)) for text in finding.names)
    parts = [", ".join(names)] if finding.names else []
    if finding.tokens is not None:
        parts.append(f"{finding.tokens} tok{approx(exact=finding.tokens_method == 'exact')}")
    if finding.blocks:
        blocks = [block_name(block) for block in finding.blocks[:4]]
        parts.append(f"blocks {', '.join(blocks)}{', …' if len(finding.blocks) > 4 else ''}")
    if finding.positions:
        positions = ", ".join(str(position) for position in finding.positions[:8])
        parts.append(f"at {positions}{', …' if len(finding.positions) > 8 else ''}")
    if finding.path is not None:
        parts.append(f"in {finding.path}")
    if finding.first_difference is not None:
        parts.append(f"first difference at character {finding.first_difference}")
    if finding.reusable:
        parts.append(f"still reusable: {', '.join(finding.reusable)}")
    parts += [f"{what}={count}" for what, count in finding.counts]
    return " · ".join(parts)


def command(call: NextCall) -> str:
    """The same question on the command line."""
    flags = {"turn_a": "--turn", "turn_b": "--turn", "content_hash": ""}
    words = ["ctxdiff-mcp", call.tool.removeprefix("ctxdiff_")]
    for argument, value in call.arguments:
        words += [flags.get(argument, f"--{argument.replace('_', '-')}"), str(value)]
    return " ".join(word for word in words if word)
