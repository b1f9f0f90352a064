"""ctxdiff_explain: what the model saw at a turn, what had changed, what follows from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.tools.arguments import AGENT, CURSOR, RUN, WINDOW, Text, Values, limit, turn
from ctxdiff_mcp.tools.compare import offer_turn
from ctxdiff_mcp.tools.diff import offer_change
from ctxdiff_mcp.tools.finding_lines import offer_finding
from ctxdiff_mcp.tools.lines import agent, call, number, outcome_lines, plural, tokens
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import DETAILED, FORMAT, Context, Tool

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.explain import Explanation

_CHOSEN = {
    "asked": "",
    "failed": "; chosen because it is the first turn whose call failed",
    "refused": "; chosen because it is the first turn whose answer was refused",
    "context_lost": "; chosen because it is the first turn whose context lost or altered something",
    "cut_off": "; chosen because it is the first turn whose answer was cut off",
    "tagged_block_lost": "; chosen because it is the first turn that lost a tagged block",
    "tool_failed": "; chosen because it is the first turn at which a tool went wrong",
    "changed": "; chosen because it is the first turn that differs from the one before",
    "last": "; chosen because it is the last turn, and no turn speaks of a fault",
}
STRUCTURAL = frozenset(
    {"call_failed", "call_retried", "growth_spike", "window_pressure", "context_evicted"}
)
"""Findings that make sense without a text, and are shown in redact mode."""
MOST_CHANGES = {False: 2, True: 12}


def answer(context: Context, values: Values) -> str:
    """One turn: its facts, its findings, what had changed."""
    from ctxdiff_mcp.answers.explain import explain  # noqa: PLC0415  the server starts without it

    detailed = values.word("response_format") == DETAILED
    found = explain(
        context.source,
        values.word("run"),
        values.integer("turn"),
        agent=values.text("agent"),
        window=values.integer("context_window"),
        ask=context.ask,
    )
    context.check()
    if context.policy.hides_names and found.diff is not None:
        found = replace(found, diff=found.diff.by_identity())
    env = context.envelope(detailed=detailed)
    for line in _facts(env, found, detailed=detailed):
        env.say(line)
    if (good := values.text("run_b")) is not None and values.number("cursor") == 0:
        from ctxdiff_mcp.answers.compare import compare_turn  # noqa: PLC0415  see above

        asked = values.word("run"), found.turn, good
        offer_turn(env, compare_turn(context.source, *asked, ask=context.ask))
        context.check()
    rows = found.findings
    if env.policy.hides_names:
        rows = tuple(row for row in rows if row.code in STRUCTURAL)
        env.say(
            "redact mode: blocks are compared by identity, an edited one counts as evicted; "
            "findings that take a text are not told"
        )
    if rows:
        env.say(f"{plural(len(rows), 'finding')}, most telling first:")
    elif not env.policy.hides_names:
        env.say("no fault found at this turn: nothing in the record explains a wrong answer here")

    def more(at: int) -> str:
        return call(
            "ctxdiff_explain",
            env,
            found.run,
            turn=found.turn,
            response_format=DETAILED if detailed else None,
            cursor=at,
        )

    list_rows(
        env,
        rows,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="findings",
        show=lambda row, rank: offer_finding(env, found.run, row, rank, detailed=detailed),
        more=more,
    )
    if values.number("cursor") == 0:
        _removed(env, found)
        _changes(context, env, found, detailed=detailed)
    env.close(f"next: {_next_call(env, found)}")
    return env.finish()


def _facts(env: Envelope, found: Explanation, *, detailed: bool) -> list[str]:
    row = found.tokens
    step = "" if row.step is None else f", step {env.word(row.step)}"
    lines = [
        f"run {env.name(found.run.name)}, turn {found.turn}, agent {agent(env, row.agent)}{step}, "
        + plural(found.turns_total, "turn")
        + f" in the run{_CHOSEN[found.chosen_by]}"
    ]
    if found.also_broken:
        others = [f"{one.turn} {one.code}" for one in found.also_broken]
        lines.append(f"broke later too: turn {', turn '.join(others)}")
    lines += outcome_lines(env, found.outcome)
    blocks = sum(part.blocks for part in row.labels)
    line = f"context: {tokens(env, row.total_tokens, row.exact)} in {plural(blocks, 'block')}"
    if row.unmeasured_blocks:
        line += f", {plural(row.unmeasured_blocks, 'block')} of unknown size not counted"
    if found.window is not None:
        line += f", {found.window.pct} % of {found.window.window:,}"
    lines.append(line)
    most = len(row.labels) if detailed else 4
    shares = [
        f"{env.name(part.label)} {number(env, part.tokens)} ({part.pct} %)"
        for part in row.labels[:most][:20]
    ]
    if shares:
        lines.append(f"by label: {', '.join(shares)}")
    if found.diff is None:
        lines.append("first turn of this agent: nothing to compare with")
    else:
        counts = found.diff.counts
        lines.append(
            f"since turn {found.diff.turn_a}: {counts.added} added, {counts.evicted} evicted, "
            f"{counts.modified} modified, {counts.unchanged} unchanged, "
            f"net {number(env, found.diff.net_tokens, '+')} tokens"
        )
    return lines


def _removed(env: Envelope, found: Explanation) -> None:
    """What the program's own optimiser took out, which no turn before shows."""
    if found.removed is None:
        return
    lost = found.removed
    told = call("ctxdiff_diff", env, found.run, turn_a=found.turn, turn_b=found.turn, stage="all")
    env.offer(
        f"your optimiser removed {plural(lost.blocks, 'block')} before this turn was sent, "
        f"{tokens(env, lost.tokens, lost.exact)}; next: {told}"
    )


def _changes(context: Context, env: Envelope, found: Explanation, *, detailed: bool) -> None:
    """The largest changes that no finding tells of, as far as there is room."""
    if found.diff is None:
        return
    if found.findings and not detailed:
        return
    told: set[int] = set()
    if not env.policy.hides_names:
        told = {block.ordinal for row in found.findings for block in row.blocks}
    changes = [
        one
        for one in found.diff.changes
        if one.kind != "unchanged" and one.block.ordinal not in told
    ]
    largest = sorted(changes, key=lambda one: -one.block.tokens)
    for change in largest[: MOST_CHANGES[detailed]]:
        context.check()
        if not offer_change(env, found.diff, change, detailed=detailed):
            return


def _next_call(env: Envelope, found: Explanation) -> str:
    if found.diff is not None:
        return call("ctxdiff_diff", env, found.run, turn_a=found.diff.turn_a, turn_b=found.turn)
    return call("ctxdiff_block", env, found.run, turn=found.turn)


TOOL = Tool(
    name="ctxdiff_explain",
    title="Explain why a turn broke",
    description=(
        "Explain why an agent's turn broke: what the model saw, what was lost, cut, edited or "
        "failed since the turn before, how the answer ended, and what follows, as ranked findings "
        "with evidence. Ask it first for 'why did turn 8 fail', 'why did the agent forget', 'why "
        "is this slow or expensive'. Without turn it takes the turn that most likely broke first. "
        "Findings say how certain they are and name the next call. context_window makes pressure "
        "on the window visible. With run_b, a run that went well, it says where the two part."
    ),
    arguments=(
        RUN,
        turn("The turn to explain, from 0 up. Absent: the one that most likely broke first."),
        AGENT,
        Text("run_b", "A run that went well, to set the turn beside."),
        WINDOW,
        FORMAT,
        limit(5, 100, "findings"),
        CURSOR,
    ),
    answer=answer,
)
