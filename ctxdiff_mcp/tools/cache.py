"""ctxdiff_cache: where the reusable prefix stopped matching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.tools.arguments import AGENT, CURSOR, RUN, Values, limit, turn
from ctxdiff_mcp.tools.lines import agent, call, handle, number, plural, ranges, tokens
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import Context, Tool

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.cache import BreakRow, BreakRows, Cache


def answer(context: Context, values: Values) -> str:
    """The verdict, what the provider reports, then the breaks in groups."""
    from ctxdiff_mcp.answers.cache import cache  # noqa: PLC0415  the server starts without it

    found = cache(
        context.source,
        values.word("run"),
        values.integer("turn"),
        agent=values.text("agent"),
        ask=context.ask,
    )
    context.check()
    if context.policy.hides_names:
        found = found.by_identity()
    env = context.envelope()
    for line in [*_verdict(env, found), *_reported(env, found)]:
        env.say(line)

    def more(at: int) -> str:
        name = None if found.agent is None else env.name(found.agent)
        return call("ctxdiff_cache", env, found.run, turn=found.turn, agent=name, cursor=at)

    list_rows(
        env,
        found.groups,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="kinds of break",
        show=lambda group, _: env.offer(_group_line(env, found, group)),
        more=more,
    )
    return env.finish()


def _verdict(env: Envelope, found: Cache) -> list[str]:
    who = "all agents" if found.agent is None else f"agent {env.name(found.agent)}"
    where = "" if found.turn is None else f", turn {found.turn}"
    head = f"run {env.name(found.run.name)}, {who}{where}: "
    if not found.pairs:
        return [f"{head}no agent has two turns, so no prefix can break"]
    if not found.breaks:
        calm = f"prefix stable over {plural(found.pairs, 'pair')} of turns"
        if found.turn is not None:
            calm = "the context starts like the same agent's turn before"
        return [
            (
                f"{head}{calm}; shortest stable start "
                f"{tokens(env, found.stable_prefix_tokens_min, found.exact)}"
            )
        ]
    rows = [
        (
            f"{head}prefix broke {plural(len(found.breaks), 'time')} in "
            f"{plural(found.pairs, 'pair')} of turns; "
            f"{tokens(env, found.rebilled_tokens, found.exact)} sent again behind the breaks; "
            f"shortest stable start {tokens(env, found.stable_prefix_tokens_min, found.exact)}"
        )
    ]
    if found.fix_hint and not env.policy.hides_names:
        rows.append(
            "one changing value in an early system block explains every break: move it behind "
            "the stable blocks"
        )
    return rows


def _reported(env: Envelope, found: Cache) -> list[str]:
    use = found.use
    if not use.calls_with_usage:
        return ["the provider reported no usage"]
    share = round(use.read_tokens / use.prompt_tokens * 100, 1) if use.prompt_tokens else 0.0
    return [
        (
            f"reported by {use.calls_with_usage} of {use.calls_total} calls: "
            f"{number(env, use.prompt_tokens)} prompt tokens, {number(env, use.read_tokens)} read "
            f"from cache ({share} %), {number(env, use.write_tokens)} written"
        )
    ]


def _group_line(env: Envelope, found: Cache, group: BreakRows) -> str:
    first = group.first
    if env.policy.hides_names:
        # Which block is at fault, and how, follows from the texts.
        kind = "reordered" if first.culprit == "reordered" else "changed"
        line = f"- {kind} at position {first.position}"
    else:
        line = f"- {first.culprit} at position {first.position}, label {env.name(first.label)}, "
        line += f"{first.block.role} {first.block.kind} block {handle(env, first.block)}"
        if first.before is not None:
            line += f" (was {handle(env, first.before)})"
    line += f", agent {agent(env, first.agent)}"
    line += f": {group.count} of {plural(group.pairs, 'pair')}, "
    line += f"turn{'s' if group.count > 1 else ''} {ranges(group.turns)}"
    line += f"; stable before it {plural(first.stable_blocks, 'block')}, "
    line += tokens(env, first.stable_tokens, found.exact)
    line += f"; next: {_next_call(env, found, first)}"
    return line + _detail(env, first)


def _detail(env: Envelope, first: BreakRow) -> str:
    if first.culprit == "reordered":
        return f"; moved {first.moved_from} -> {first.moved_to}"
    if first.first_diff_char is None or env.policy.hides_text:
        return ""
    dynamic = ", a small changing part" if first.is_dynamic else ""
    return f"; first difference at character {first.first_diff_char:,}{dynamic}"


def _next_call(env: Envelope, found: Cache, first: BreakRow) -> str:
    return call("ctxdiff_diff", env, found.run, turn_a=first.turn_before, turn_b=first.turn)


TOOL = Tool(
    name="ctxdiff_cache",
    title="Show where prompt caching broke",
    description=(
        "Show where the prompt cache prefix broke: at which turn and position an agent's context "
        "stopped starting like its turn before, and which block did it (modified, added, evicted, "
        "reordered). Ask it when the cache hit rate is low or the cost is high. Breaks are grouped "
        "by cause, most frequent first; each names the ctxdiff_diff call that shows it. Also gives "
        "what the provider reported as read from and written to its cache."
    ),
    arguments=(
        RUN,
        turn("Only the break at this turn, a number from 0 up. Absent: all turns."),
        AGENT,
        limit(15, 100, "kinds of break"),
        CURSOR,
    ),
    answer=answer,
)
