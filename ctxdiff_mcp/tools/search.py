"""ctxdiff_search: where a text stands, when it entered and left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxdiff_mcp.gate.envelope import Envelope, Piece
from ctxdiff_mcp.tools.arguments import AGENT, CURSOR, RUN, Text, Values, limit
from ctxdiff_mcp.tools.lines import agent, call, handle, plural, ranges, tokens
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import Context, Tool

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.search import Match, Search

MOST_EVENTS = 6
EXCERPT_CHARS = 200


def answer(context: Context, values: Values) -> str:
    """The blocks that hold the text, by first turn."""
    from ctxdiff_mcp.answers.search import search  # noqa: PLC0415  the server starts without it

    found = search(
        context.source,
        values.word("run"),
        values.word("query"),
        agent=values.text("agent"),
        ask=context.ask,
    )
    context.check()
    env = context.envelope()
    who = "all agents" if found.agent is None else f"agent {env.name(found.agent)}"
    count = plural(len({one.block.ordinal for one in found.matches}), "block")
    env.say(f"run {env.name(found.run.name)}, {who}: the text stands in {count}")
    if not found.matches:
        env.say("the search is literal and case-sensitive; try a shorter piece")

    def show(match: Match, _: int) -> bool:
        context.check()
        return _offer(env, found, match)

    def more(at: int) -> str:
        # The query is the caller's own text and is not repeated here.
        return f"the same call with cursor={at}"

    list_rows(
        env,
        found.matches,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="places",
        show=show,
        more=more,
    )
    if found.matches:
        first = found.matches[0]
        env.close(
            f"next: {call('ctxdiff_block', env, found.run, content_hash=handle(env, first.block))}"
        )
    return env.finish()


def _offer(env: Envelope, found: Search, match: Match) -> bool:
    block = match.block
    line = f"- block {handle(env, block)}: {block.role} {block.kind}, "
    line += f"{tokens(env, block.tokens, block.exact)}, agent {agent(env, match.agent)}"
    if match.label is not None:
        line += f", label {env.name(match.label)}"
    if match.output_turns:
        line += f"; answer of turn {ranges(match.output_turns, 6)}"
    if match.input_turns:
        line += f"; in the input of {plural(match.input_turns, 'turn')}"
    if match.events:
        line += f": {_history(match)}"
    piece = Piece(
        found.text(match),
        (("block", handle(env, block)), ("role", block.role)),
        start=found.start(match),
        max_chars=EXCERPT_CHARS,
    )
    return env.offer(line, piece)


def _history(match: Match) -> str:
    places = dict(match.positions)
    words = []
    for event in match.events[:MOST_EVENTS]:
        at = f" (position {places[event.seq]})" if event.kind == "entered" else ""
        words.append(f"{event.kind} at turn {event.seq}{at}")
    if len(match.events) > MOST_EVENTS:
        words.append(f"{len(match.events) - MOST_EVENTS} more changes")
    if match.events[-1].kind == "entered":
        words.append(f"still there at turn {match.last_seen}")
    return ", ".join(words)


TOOL = Tool(
    name="ctxdiff_search",
    title="Find when a text entered or left the context",
    description=(
        "Find where a text stands in a run's context: in which blocks, when it entered the input, "
        "at which turn it left again, and in which answer it was given. Ask it with an exact piece "
        "of a fact, instruction or tool result that the agent seems to have lost or never seen. "
        "Literal and case-sensitive. ctxdiff_block then shows a block whole."
    ),
    arguments=(
        RUN,
        Text("query", "The exact text, 1 to 500 characters.", 500, required=True),
        AGENT,
        limit(10, 50, "places"),
        CURSOR,
    ),
    answer=answer,
)
