"""ctxdiff_cache: what the provider's cache did, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.tools.arguments import AGENT, CURSOR, RUN, Values, limit, turn
from ctxdiff_mcp.tools.cache_lines import (
    cause_line,
    offer_evidence,
    session_line,
    summary_lines,
    verdict_lines,
)
from ctxdiff_mcp.tools.lines import agent, call, number, plural, ranges, tokens
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import Context, Tool

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.cache import BreakRow, BreakRows, Cache
    from ctxdiff_mcp.answers.cache_verdict import VerdictRow


def answer(context: Context, values: Values) -> str:
    """The verdict, what the provider reports, then the causes with the turns they hold for."""
    from ctxdiff_mcp.answers.cache import cache  # noqa: PLC0415  the server starts without it

    # Blocks of redacted runs cannot be told alike.
    found = cache(
        context.source,
        values.word("run"),
        values.integer("turn"),
        agent=values.text("agent"),
        ask=context.ask,
        across=not context.policy.hides_names,
        positions=context.policy.hides_names,
    )
    context.check()
    env = context.envelope()
    if context.policy.hides_names:
        # Which block is at fault, and how, follows from the texts.
        _positions(env, found.by_identity(), values)
    elif found.verdict is not None:
        _turn(env, found, found.verdict)
    else:
        _run(env, found, values)
    return env.finish()


def _turn(env: Envelope, found: Cache, one: VerdictRow) -> None:
    for line in verdict_lines(env, one, _head(env, found)):
        env.say(line)
    offer_evidence(env, found, one)


def _run(env: Envelope, found: Cache, values: Values) -> None:
    assert found.verdicts is not None
    for line in (*summary_lines(env, found.verdicts, _head(env, found)), *_reported(env, found)):
        env.say(line)
    for one in found.sessions:
        session_line(env, one)
    list_rows(
        env,
        found.verdicts.causes,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="causes",
        show=lambda group, _: cause_line(env, found, group),
        more=lambda at: _more(env, found, at),
    )
    if not found.verdicts.causes:
        env.close(f"next: {call('ctxdiff_tokens', env, found.run)}")


def _positions(env: Envelope, found: Cache, values: Values) -> None:
    """Where the blocks of neighbouring turns part, without their words."""
    for line in [*_verdict(env, found), *_reported(env, found)]:
        env.say(line)
    list_rows(
        env,
        found.groups,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="kinds of break",
        show=lambda group, _: env.offer(_group_line(env, found, group)),
        more=lambda at: _more(env, found, at),
    )


def _more(env: Envelope, found: Cache, at: int) -> str:
    name = None if found.agent is None else env.name(found.agent)
    return call("ctxdiff_cache", env, found.run, turn=found.turn, agent=name, cursor=at)


def _head(env: Envelope, found: Cache) -> str:
    who = "all agents" if found.agent is None else f"agent {env.name(found.agent)}"
    where = "" if found.turn is None else f", turn {found.turn}"
    return f"run {env.name(found.run.name)}, {who}{where}: "


def _verdict(env: Envelope, found: Cache) -> list[str]:
    head = _head(env, found)
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
    return [
        (
            f"{head}prefix broke {plural(len(found.breaks), 'time')} in "
            f"{plural(found.pairs, 'pair')} of turns; "
            f"{tokens(env, found.rebilled_tokens, found.exact)} sent again behind the breaks; "
            f"shortest stable start {tokens(env, found.stable_prefix_tokens_min, found.exact)}"
        )
    ]


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
    kind = "reordered" if first.culprit == "reordered" else "changed"
    line = f"- {kind} at position {first.position}, agent {agent(env, first.agent)}"
    line += f": {group.count} of {plural(group.pairs, 'pair')}, "
    line += f"turn{'s' if group.count > 1 else ''} {ranges(group.turns)}"
    line += f"; stable before it {plural(first.stable_blocks, 'block')}, "
    line += tokens(env, first.stable_tokens, found.exact)
    line += f"; next: {_next_call(env, found, first)}"
    if first.culprit == "reordered":
        line += f"; moved {first.moved_from} -> {first.moved_to}"
    return line


def _next_call(env: Envelope, found: Cache, first: BreakRow) -> str:
    return call("ctxdiff_diff", env, found.run, turn_a=first.turn_before, turn_b=first.turn)


TOOL = Tool(
    name="ctxdiff_cache",
    title="Show what the prompt cache did, and why",
    description=(
        "Show what the provider's prompt cache did and why: at which turns it was broken, expired "
        "or unused, by the provider's own rules (render order, markers, minimum, life time) and "
        "checked against reported cache reads. Names the cause (clock in the prompt, reordered "
        "tools, lost marker, changed effort, ...), the place and first differing character, what "
        "is still reusable, the tokens paid again, what helps. Ask it when the cache hit rate is "
        "low or the cost is high. Without turn: the run, causes dearest first, and sessions of the "
        "same file that begin alike and share nothing."
    ),
    arguments=(
        RUN,
        turn("Only this turn, a number from 0 up. Absent: all turns."),
        AGENT,
        limit(15, 100, "causes"),
        CURSOR,
    ),
    answer=answer,
)
