"""What a program held before a turn against what it sent: ctxdiff_diff with `stage`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ctxdiff_mcp.answers.asking import Unanswerable
from ctxdiff_mcp.answers.refs import OTHER
from ctxdiff_mcp.gate.captured import Captured
from ctxdiff_mcp.gate.envelope import Envelope, Piece
from ctxdiff_mcp.tools.arguments import Values
from ctxdiff_mcp.tools.lines import agent, call, handle, number, plural, tokens
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import DETAILED, Context

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.stages import DecisionRow, StageChange, StageRow, Stages

_WHAT = {"evicted": "held and not sent", "added": "put in", "modified": "sent otherwise"}
_CHARS = {False: 160, True: 600}
"""Code points of a text, concise and detailed."""


def stages_answer(context: Context, values: Values, stage: str) -> str:
    """Each stage's sums, then every block that was not sent as it was held; then the decisions."""
    from ctxdiff_mcp.answers.stages import stages  # noqa: PLC0415  the server starts without it

    turn = values.number("turn_b")
    if values.number("turn_a") != turn or values.text("run_b") is not None:
        raise Unanswerable("stages_of_two_turns")
    detailed = values.word("response_format") == DETAILED
    found = stages(
        context.source,
        values.word("run"),
        turn,
        stage=stage,
        agent=values.text("agent"),
        ask=context.ask,
    )
    context.check()
    env = context.envelope(detailed=detailed)
    for line in _summary(env, found):
        env.say(line)
    rows = _rows(env, found, detailed=detailed)

    def more(at: int) -> str:
        return call(
            "ctxdiff_diff",
            env,
            found.run,
            turn_a=turn,
            turn_b=turn,
            stage="all" if len(found.stages) != 1 else str(found.stages[0].number),
            response_format=DETAILED if detailed else None,
            cursor=at,
        )

    list_rows(
        env,
        rows,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="rows",
        show=lambda show, _: show(),
        more=more,
    )
    env.close(f"next: {call('ctxdiff_explain', env, found.run, turn=turn)}")
    return env.finish()


def _summary(env: Envelope, found: Stages) -> list[str]:
    head = f"run {env.name(found.run.name)}: turn {found.turn} ({agent(env, found.agent)})"
    if not (found.stages or found.tool_results or found.decisions):
        nothing = "the program told nothing of it before it was sent"
        return [f"{head}: {nothing}; `tracer.snapshot` records what its optimiser is given"]
    lines = [f"{head}, what the program held before it, against what was sent"]
    for row in found.stages:
        counts = row.counts
        lines.append(
            f"{_named(env, row)}: {plural(counts.evicted, 'block')} held and not sent, "
            f"{counts.added} put in, {counts.modified} sent otherwise, {counts.unchanged} kept; "
            f"{tokens(env, row.tokens_evicted, row.exact)} out, "
            f"{tokens(env, row.tokens_added, row.exact)} in"
        )
    if found.tool_results:
        lines.append(f"{plural(len(found.tool_results), 'tool result')} changed on the way in")
    return lines


def _named(env: Envelope, row: StageRow) -> str:
    name = row.kind if row.kind != OTHER else env.word(row.name)
    return f"stage {row.number} ({name})"


def _rows(env: Envelope, found: Stages, *, detailed: bool) -> list[Callable[[], bool]]:
    """What adds each row; a row says whether it fitted."""
    chars = _CHARS[detailed]
    rows: list[Callable[[], bool]] = []
    for row in found.stages:
        rows += [_change_row(env, row, change, found.turn, chars) for change in row.changes]
    if not env.policy.hides_text:
        rows += [_result_row(env, text, chars) for text in found.tool_results]
        rows += [_decision_row(env, decision, chars) for decision in found.decisions]
    return rows


def _change_row(
    env: Envelope, row: StageRow, change: StageChange, turn: int, chars: int
) -> Callable[[], bool]:
    def show() -> bool:
        line = f"- stage {row.number}, {_WHAT[change.kind]}: {change.role} block"
        if change.block is not None:
            line += f" {handle(env, change.block)}"
        line += f", label {env.name(change.label)}, {tokens(env, change.tokens, change.exact)}"
        words: tuple[tuple[str, int | str], ...] = (("turn", turn), ("role", change.role))
        if change.before is None:
            return env.offer(line, Piece(change.text, words, max_chars=chars))
        held = Piece(change.before, (*words, ("edit", "held")), max_chars=chars)
        return env.offer(line, held, Piece(change.text, (*words, ("edit", "sent")), 0, chars))

    return show


def _result_row(env: Envelope, text: Captured, chars: int) -> Callable[[], bool]:
    line = "- a tool's result as the tool gave it"
    return lambda: env.offer(line, Piece(text, (("role", "tool"),), max_chars=chars))


def _decision_row(env: Envelope, decision: DecisionRow, chars: int) -> Callable[[], bool]:
    def show() -> bool:
        line = f"- the program's decision: {env.word(decision.disposition)}"
        if decision.rank is not None:
            line += f", rank {decision.rank:,}"
        if decision.tokens is not None:
            line += f", {number(env, decision.tokens)} tokens by its count"
        texts = [("candidate", decision.candidate), ("reason", decision.reason)]
        pieces = [
            Piece(text, (("decision", what),), max_chars=chars) for what, text in texts if text
        ]
        return env.offer(line, *pieces)

    return show
