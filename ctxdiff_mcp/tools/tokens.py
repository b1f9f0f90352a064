"""ctxdiff_tokens: where the tokens go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.tools import lines
from ctxdiff_mcp.tools.arguments import AGENT, CURSOR, RUN, WINDOW, Text, Values, limit, turn
from ctxdiff_mcp.tools.ledger import bill_lines, money_lines, reconciliation_lines, row_line
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import Context, Tool

if TYPE_CHECKING:
    from ctxdiff_analyzers.ledger import By
    from ctxdiff_analyzers.window import Fill

    from ctxdiff_mcp.answers.tokens import LostBlock, Tokens
    from ctxdiff_mcp.answers.turns import TurnRow

TURN = "turn"
BY: dict[str, By] = {
    TURN: "run",
    "call": "call",
    "agent": "agent",
    "step": "step",
    "model": "model",
}
"""The argument's words, and how the ledger is grouped under each."""
MOST_LABELS = 5
MOST_ALL_LABELS = 30
MOST_AGENTS = 8
MOST_TOOLS = 8
MOST_LOST = 5


def answer(context: Context, values: Values) -> str:
    """Sums first, then the turns, newest first."""
    from ctxdiff_mcp.answers.tokens import tokens  # noqa: PLC0415  the server starts without it

    by = values.word("by")
    found = tokens(
        context.source,
        values.word("run"),
        values.integer("turn"),
        agent=values.text("agent"),
        window=values.integer("context_window"),
        by=BY[by],
        prices=context.prices,
        ask=context.ask,
    )
    context.check()
    env = context.envelope()
    for line in [*_sums(env, found), *_schema_lines(env, found), *_lost_lines(env, found)]:
        env.say(line)

    def more(at: int) -> str:
        name = None if found.agent is None else env.name(found.agent)
        grouped = None if by == TURN else by
        return lines.call("ctxdiff_tokens", env, found.run, agent=name, by=grouped, cursor=at)

    page: dict[str, Any] = {
        "cursor": values.number("cursor"),
        "limit": values.number("limit"),
        "more": more,
    }
    if by == TURN:
        list_rows(
            env,
            found.turns[::-1],
            noun="turns, newest first",
            show=lambda row, _: env.offer(
                _turn_line(env, row, found.fill(row), whole=found.turn is not None)
            ),
            **page,
        )
    else:
        list_rows(
            env,
            found.bill.rows[::-1] if by == "call" else found.bill.rows,
            noun="calls, newest first" if by == "call" else f"{by}s",
            show=lambda row, _: env.offer(row_line(env, found.bill, row)),
            **page,
        )
    top = found.peak.turn if found.turn is None else found.turn
    env.close(f"next: {lines.call('ctxdiff_explain', env, found.run, turn=top)}")
    return env.finish()


def _sums(env: Envelope, found: Tokens) -> list[str]:
    who = "all agents" if found.agent is None else f"agent {env.name(found.agent)}"
    peak = found.peak
    rows = [
        (
            f"run {env.name(found.run.name)}, {who}: "
            f"{lines.plural(found.turn_count, 'turn')}; "
            f"peak {lines.tokens(env, peak.total_tokens, peak.exact)} at turn {peak.turn}"
        ),
        *bill_lines(env, found.bill),
        *reconciliation_lines(env, found.reconciliation),
        *money_lines(env, found.bill.total.money),
    ]
    # What was asked for follows from parameters.
    if found.streamed_without_usage and not env.policy.hides_names:
        rows.append(
            f"{lines.plural(found.streamed_without_usage, 'streamed call')} did not ask for usage "
            "(stream_options.include_usage)"
        )
    if found.by_agent:
        shares = [
            f"{lines.agent(env, one.agent)} {lines.number(env, one.tokens)}"
            for one in found.by_agent[:MOST_AGENTS]
        ]
        rest = f" +{len(found.by_agent) - MOST_AGENTS}" if len(found.by_agent) > MOST_AGENTS else ""
        rows.append(f"tokens sent by agent: {', '.join(shares)}{rest}")
    return rows


def _schema_lines(env: Envelope, found: Tokens) -> list[str]:
    use = found.schemas
    # Which tool was called follows from names.
    if env.policy.hides_names or use.verdict in ("no_schemas", "all_used"):
        return []
    if use.verdict == "no_names":
        return [f"{lines.plural(use.unreadable, 'tool schema')}: names could not be read"]
    spelled = [env.word(tool.name) for tool in use.unused[:MOST_TOOLS]]
    rest = f" +{len(use.unused) - MOST_TOOLS}" if len(use.unused) > MOST_TOOLS else ""
    names = f": {' '.join(spelled)}{rest}"
    note = (
        "; the last answer was not recorded and may call one" if use.unanswered_final_turn else ""
    )
    return [
        (
            f"{len(use.unused)} of {lines.plural(use.registered, 'offered tool')} never called, "
            f"{lines.tokens(env, use.unused_tokens_per_call, use.exact)} per call "
            f"({use.pct_of_avg_context} % of the average context){names}{note}"
        )
    ]


def _lost_lines(env: Envelope, found: Tokens) -> list[str]:
    rows = [_lost_line(env, one) for one in found.lost[:MOST_LOST]]
    if len(found.lost) > MOST_LOST:
        rows.append(f"{len(found.lost) - MOST_LOST:,} more tagged blocks were lost")
    return rows


def _lost_line(env: Envelope, one: LostBlock) -> str:
    return (
        f"lost tagged block {lines.handle(env, one.block)}: label {env.name(one.label)}, "
        f"agent {lines.agent(env, one.agent)}, last seen turn {one.last_seen_turn}, gone at "
        f"turn {one.evicted_turn}, {lines.tokens(env, one.block.tokens, one.block.exact)}"
    )


def _turn_line(env: Envelope, row: TurnRow, fill: Fill | None, *, whole: bool) -> str:
    line = f"- turn {row.turn}, {lines.agent(env, row.agent)}"
    line += f": {lines.tokens(env, row.total_tokens, row.exact)}"
    if row.unmeasured_blocks:
        line += f" + {lines.plural(row.unmeasured_blocks, 'block')} of unknown size"
    if fill is not None:
        line += f", {fill.pct} % of the window{' (alarm)' if fill.alarm else ''}"
    if row.usage.prompt_tokens is not None:
        line += f", billed {lines.number(env, row.usage.prompt_tokens)}"
    if row.usage_delta:
        line += f" ({lines.number(env, row.usage_delta, '+')})"
    most = MOST_ALL_LABELS if whole else MOST_LABELS
    shares = [
        f"{env.name(part.label)} {lines.number(env, part.tokens)} ({part.pct} %)"
        for part in row.labels[:most]
    ]
    rest = f" +{len(row.labels) - most}" if len(row.labels) > most else ""
    return f"{line}; {', '.join(shares)}{rest}" if shares else line


TOOL = Tool(
    name="ctxdiff_tokens",
    title="Show where the tokens go",
    description=(
        "Show where an agent's tokens go: context size per turn by label (system, history, tool "
        "output, rag, schemas), the peak, what the provider billed, tool schemas that are sent and "
        "never used, tagged blocks that were lost. by lists what each call, agent, step or model "
        "was billed. Ask it when a run is slow, expensive or near the context window limit. With "
        "turn, only that turn. Counts marked ~ are estimates. context_window adds the share of "
        "the window."
    ),
    arguments=(
        RUN,
        turn("Only this turn, a number from 0 up. Absent: all turns, newest first."),
        AGENT,
        WINDOW,
        Text(
            "by",
            "Rows: `turn` (default) is context by label; the others list what was billed.",
            choices=tuple(BY),
            default=TURN,
        ),
        limit(15, 200, "rows"),
        CURSOR,
    ),
    answer=answer,
)
