"""ctxdiff_diff without turns: where two runs, or two agents, part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxdiff_mcp.answers.words import DIFFERENCES
from ctxdiff_mcp.gate.captured import Name
from ctxdiff_mcp.gate.envelope import Envelope, Piece
from ctxdiff_mcp.tools.arguments import Values
from ctxdiff_mcp.tools.lines import agent, call, handle, plural
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import DETAILED, Context

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.compare import Compared, ComparedTurn, DifferenceRow, SideRow

EXCERPT_CHARS = {False: 200, True: 500}
MOST_AGENTS = 6


def compare_answer(context: Context, values: Values) -> str:
    """The first difference with both sides, then the later ones, counted and listed."""
    from ctxdiff_mcp.answers.compare import compare_runs  # noqa: PLC0415  the server starts without

    detailed = values.word("response_format") == DETAILED
    found = compare_runs(
        context.source,
        values.word("run"),
        values.text("run_b"),
        agent=values.text("agent"),
        agent_b=values.text("agent_b"),
        ask=context.ask,
    )
    context.check()
    env = context.envelope(detailed=detailed)
    for line in _summary(env, found):
        env.say(line)
    cursor = values.number("cursor")
    # The first is told with all that is known; on later pages it was told before.
    if not cursor and found.first is not None:
        _offer_first(env, "they part at", found.first, detailed=detailed)
        if found.first_given is not None:
            told = "the first difference in what the model was given:"
            _offer_first(env, told, found.first_given, detailed=detailed)

    def more(at: int) -> str:
        run_b = None if found.run_b == found.run_a else env.name(found.run_b.name)
        return call(
            "ctxdiff_diff",
            env,
            found.run_a,
            run_b=run_b,
            agent=_spelled(env, found.asked_a),
            agent_b=_spelled(env, found.asked_b),
            response_format=DETAILED if detailed else None,
            cursor=at,
        )

    def show(row: DifferenceRow, _: int) -> bool:
        context.check()
        return env.offer(f"- {difference_line(env, row)}", *pieces(env, row, EXCERPT_CHARS[False]))

    list_rows(
        env,
        found.differences,
        cursor=cursor,
        limit=values.number("limit"),
        noun="differences",
        show=show,
        more=more,
    )
    first = found.first_given or found.first
    if first is not None and first.turn_old is not None and first.turn_new is not None:
        run_b = None if found.run_b == found.run_a else env.name(found.run_b.name)
        turns = {"turn_a": first.turn_old, "turn_b": first.turn_new}
        env.close(f"next: {call('ctxdiff_diff', env, found.run_a, **turns, run_b=run_b)}")
    return env.finish()


def offer_turn(env: Envelope, found: ComparedTurn) -> None:
    """How a turn stands beside the run that went well."""
    other = env.name(found.other.name)
    if found.counterpart is None:
        env.say(f"beside run {other}: that run has no such turn")
    else:
        env.say(f"beside run {other}: its turn {found.counterpart} stands for this one")
    if found.first is None:
        env.say("the two runs agree up to here")
        return
    _offer_first(env, "they part at", found.first, detailed=False)
    kinds = dict.fromkeys(DIFFERENCES[row.kind] for row in found.here if row != found.first)
    if kinds:
        env.say(f"new at this turn: {', '.join(kinds)}")
    if found.counterpart is not None:
        turns = {"turn_a": found.counterpart, "turn_b": found.turn}
        run_b = env.name(found.run.name)
        env.say(f"both turns: {call('ctxdiff_diff', env, found.other, **turns, run_b=run_b)}")


def difference_line(env: Envelope, row: DifferenceRow) -> str:
    """What differs and where, without the texts."""
    if row.turn_old is None:
        where = f"turn {row.turn_new} of the second"
    elif row.turn_new is None:
        where = f"turn {row.turn_old} of the first"
    elif row.turn_old == row.turn_new:
        where = f"turn {row.turn_old}"
    else:
        where = f"turn {row.turn_old} / turn {row.turn_new}"
    line = f"{where} ({agent(env, row.agent)}): {DIFFERENCES[row.kind]}"
    if row.name is not None:
        line += f" {env.word(row.name)}"
    if row.first_difference is not None:
        line += f", first at character {row.first_difference:,}"
    blocks = [handle(env, side.block) for side in (row.old, row.new) if side and side.block]
    if blocks:
        line += f"; block{'s' if len(blocks) > 1 else ''} {' / '.join(blocks)}"
    return line


def pieces(env: Envelope, row: DifferenceRow, chars: int) -> list[Piece]:
    """The texts of both sides, framed."""
    sides = (("first", row.old), ("second", row.new))
    return [_piece(env, word, side, chars) for word, side in sides if side is not None]


def _offer_first(env: Envelope, words: str, row: DifferenceRow, *, detailed: bool) -> None:
    line = f"{words} {difference_line(env, row)}"
    env.offer(line, *pieces(env, row, EXCERPT_CHARS[detailed]))


def _piece(env: Envelope, word: str, side: SideRow, chars: int) -> Piece:
    words: list[tuple[str, int | str]] = [("run", word)]
    if side.block is not None:
        words.append(("block", handle(env, side.block)))
    return Piece(side.text, tuple(words), start=side.start, max_chars=chars)


def _summary(env: Envelope, found: Compared) -> list[str]:
    names = [f"run {env.name(found.run_a.name)}"]
    if found.run_b != found.run_a:
        names.append(f"run {env.name(found.run_b.name)}")
    who = " and ".join(names)
    pairs = [
        f"{agent(env, one.old)}{_renamed(env, one.old, one.new)} "
        f"{one.turns_old} and {plural(one.turns_new, 'turn')}, {one.alike} alike"
        for one in found.agents[:MOST_AGENTS]
    ]
    rest = len(found.agents) - MOST_AGENTS
    if rest > 0:
        pairs.append(f"{rest} more agents")
    lines = [f"{who} side by side: {'; '.join(pairs) or 'no agent of one is in the other'}"]
    for word, names_of in (("first", found.only_old), ("second", found.only_new)):
        if names_of:
            listed = ", ".join(agent(env, one) for one in names_of[:MOST_AGENTS])
            lines.append(f"only the {word} has {listed}")
    if found.total:
        counts = ", ".join(f"{kind} {count:,}" for kind, count in found.counts.items())
        lines.append(f"{plural(found.total, 'difference')}: {counts}")
    else:
        lines.append("no difference in what was sent and answered")
    if found.volatile:
        lines.append(f"{plural(found.volatile, 'block')} differ in ids, dates or times only")
    return lines


def _renamed(env: Envelope, old: Name | None, new: Name | None) -> str:
    return "" if old == new else f" / {agent(env, new)}"


def _spelled(env: Envelope, name: Name | None) -> str | None:
    return None if name is None else env.name(name)
