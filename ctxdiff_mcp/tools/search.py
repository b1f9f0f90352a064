"""ctxdiff_search: where a text stands, when it came and left; where a tool's values came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxdiff_mcp.answers.words import WAYS
from ctxdiff_mcp.gate.envelope import Envelope, Piece
from ctxdiff_mcp.tools.arguments import AGENT, CURSOR, RUN, BadArguments, Text, Values, limit, turn
from ctxdiff_mcp.tools.lines import agent, call, handle, plural, ranges, tokens
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import Context, Tool

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.provenance import OriginRow
    from ctxdiff_mcp.answers.search import AtTurn, Left, Match, Search

MOST_EVENTS = 6
MOST_AGENTS = 8
EXCERPT_CHARS = 200


def answer(context: Context, values: Values) -> str:
    """The blocks that hold the text, by first turn; without a text the values of a turn's calls."""
    query = values.text("query")
    if query is None:
        return _values_answer(context, values)
    from ctxdiff_mcp.answers.search import search  # noqa: PLC0415  the server starts without it

    found = search(
        context.source,
        values.word("run"),
        query,
        agent=values.text("agent"),
        turn=values.integer("turn"),
        ask=context.ask,
    )
    context.check()
    env = context.envelope()
    who = "all agents" if found.agent is None else f"agent {env.name(found.agent)}"
    count = plural(len({one.block.ordinal for one in found.matches}), "block")
    env.say(f"run {env.name(found.run.name)}, {who}: the text stands in {count}")
    if not found.matches:
        env.say("the search is literal and case-sensitive; try a shorter piece")
    elif found.without:
        names = ", ".join(agent(env, one) for one in found.without[:MOST_AGENTS])
        rest = len(found.without) - MOST_AGENTS
        env.say(f"never given to: {names}{f' +{rest}' if rest > 0 else ''}")
    if found.at is not None:
        env.say(_at_line(env, found.at))

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
        line += f": {_history(env, found, match)}"
    piece = Piece(
        found.text(match),
        (("block", handle(env, block)), ("role", block.role)),
        start=found.start(match),
        max_chars=EXCERPT_CHARS,
    )
    return env.offer(line, piece)


def _history(env: Envelope, found: Search, match: Match) -> str:
    places = dict(match.positions)
    words = []
    for number, event in enumerate(match.events[:MOST_EVENTS]):
        if event.kind == "entered":
            verb = "came back" if number else "entered"
            words.append(f"{verb} at turn {event.seq} (position {places[event.seq]})")
        else:
            way = _way(env, found.left(match, event))
            words.append(f"left at turn {event.seq}{way}")
    if len(match.events) > MOST_EVENTS:
        words.append(f"{len(match.events) - MOST_EVENTS} more changes")
    if match.events[-1].kind == "entered":
        words.append(f"still there at turn {match.last_seen}")
    return ", ".join(words)


def _way(env: Envelope, left: Left | None) -> str:
    if left is None:
        return ""
    into = "" if left.successor is None else f" {handle(env, left.successor)}"
    return f" ({WAYS[left.way]}{into})"


def _at_line(env: Envelope, at: AtTurn) -> str:
    if at.places:
        listed = ", ".join(
            f"block {handle(env, block)} at {position}"
            for block, position in at.places[:MOST_EVENTS]
        )
        return f"at turn {at.turn} it is in context: {listed}"
    if at.last is None:
        return f"at turn {at.turn} it is not in context, and the agent never had it before"
    line = f"at turn {at.turn} it is not in context: last in turn {at.last_seen}"
    left = "" if at.left is None else f", left at turn {at.left.turn}{_way(env, at.left)}"
    return f"{line} as block {handle(env, at.last)}{left}"


def _values_answer(context: Context, values: Values) -> str:
    from ctxdiff_mcp.answers.provenance import provenance  # noqa: PLC0415  see above

    turn_asked = values.integer("turn")
    if turn_asked is None:
        raise BadArguments(["`query` is missing: give a text, or `turn` for its tool arguments"])
    found = provenance(
        context.source,
        values.word("run"),
        turn_asked,
        agent=values.text("agent"),
        ask=context.ask,
    )
    context.check()
    env = context.envelope()
    env.say(
        f"run {env.name(found.run.name)}, turn {found.turn} ({agent(env, found.agent)}): "
        f"{plural(len(found.rows), 'value')} in the arguments of its tool calls"
    )

    def more(at: int) -> str:
        return call("ctxdiff_search", env, found.run, turn=found.turn, cursor=at)

    list_rows(
        env,
        found.rows,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="values",
        show=lambda row, _: env.offer(_value_line(env, row)),
        more=more,
    )
    return env.finish()


def _value_line(env: Envelope, row: OriginRow) -> str:
    line = f"- {env.word(row.tool)} {env.word(row.path)} = {env.word(row.value)}: "
    if row.block is None:
        return f"{line}in nothing that the agent was given or said before"
    said = "the model's own words in " if row.block.role == "assistant" else ""
    line += f"{said}block {handle(env, row.block)} ({row.block.role} {row.block.kind})"
    if row.left is None and row.position is not None:
        return f"{line}, in context at {row.position} since turn {row.first_seen}"
    gone = "" if row.left is None else f", left at turn {row.left.turn}{_way(env, row.left)}"
    return f"{line}, not in context any more: last in turn {row.last_seen}{gone}"


TOOL = Tool(
    name="ctxdiff_search",
    title="Find when a text entered or left the context",
    description=(
        "Find where a text stands in a run's context: in which blocks, when it entered the input, "
        "at which turn it left again, and in which answer it was given. Ask it with an exact piece "
        "of a fact, instruction or tool result that the agent seems to have lost or never seen: it "
        "says how the text left (edited, compacted, trimmed, dropped) and which agents never got "
        "it. With turn, also whether it is in context there. With turn and no query: where each "
        "argument of that turn's tool calls came from, and whether its source was still in "
        "context. Literal and case-sensitive. ctxdiff_block then shows a block whole."
    ),
    arguments=(
        RUN,
        Text("query", "The exact text, 1 to 500 characters. Absent: needs turn.", 500),
        turn("Is it in context at this turn? Without query: the turn whose tool calls are traced."),
        AGENT,
        limit(10, 50, "places"),
        CURSOR,
    ),
    answer=answer,
)
