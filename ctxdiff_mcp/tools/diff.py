"""ctxdiff_diff: what changed between two turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxdiff_mcp.gate.envelope import Envelope, Piece
from ctxdiff_mcp.tools.arguments import CURSOR, RUN, BadArguments, Text, Values, limit, turn
from ctxdiff_mcp.tools.compare import compare_answer
from ctxdiff_mcp.tools.lines import agent, block_piece, call, handle, number, tokens
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.stages import stages_answer
from ctxdiff_mcp.tools.tool import DETAILED, FORMAT, Context, Tool

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.diff import Change, Diff

EDIT_CHARS = {False: 320, True: 1_200}
"""Code points of an edited text, concise and detailed."""
_EDITS = {"equal": "kept", "delete": "removed", "insert": "added"}


def answer(context: Context, values: Values) -> str:
    """The difference of two turns: sums, then every change that is one."""
    stage = values.text("stage")
    turns = values.integer("turn_a"), values.integer("turn_b")
    if turns == (None, None) and stage is None:
        return compare_answer(context, values)
    for name, given in zip(("turn_a", "turn_b"), turns, strict=True):
        if given is None:
            raise BadArguments([f"`{name}` is missing: give both turns, or none for whole runs"])
    if values.text("agent_b") is not None:
        raise BadArguments(["`agent_b` is for whole runs: leave `turn_a` and `turn_b` out"])
    if stage is not None:
        return stages_answer(context, values, stage)
    from ctxdiff_mcp.answers.diff import diff  # noqa: PLC0415  the server starts without it

    detailed = values.word("response_format") == DETAILED
    found = diff(
        context.source,
        values.word("run"),
        values.number("turn_a"),
        values.number("turn_b"),
        agent=values.text("agent"),
        run_b=values.text("run_b"),
        ask=context.ask,
    )
    context.check()
    if context.policy.hides_names:
        found = found.by_identity()
    env = context.envelope(detailed=detailed)
    for line in summary_lines(env, found):
        env.say(line)
    changes = [one for one in found.changes if one.kind != "unchanged" or one.is_moved]
    if not changes:
        env.say("no block was added, evicted, modified or moved")

    def more(at: int) -> str:
        run_b = None if found.run_b == found.run_a else env.name(found.run_b.name)
        return call(
            "ctxdiff_diff",
            env,
            found.run_a,
            turn_a=found.turn_a,
            turn_b=found.turn_b,
            run_b=run_b,
            response_format=DETAILED if detailed else None,
            cursor=at,
        )

    def show(change: Change, _: int) -> bool:
        context.check()
        return offer_change(env, found, change, detailed=detailed)

    list_rows(
        env,
        changes,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="changes",
        show=show,
        more=more,
    )
    return env.finish()


def summary_lines(env: Envelope, found: Diff) -> list[str]:
    """Which turns are compared, and the sums."""
    counts = found.counts
    where = "" if found.run_b == found.run_a else f" of run {env.name(found.run_b.name)}"
    moved = f" ({counts.unchanged_moved} moved)" if counts.unchanged_moved else ""
    lines = [
        (
            f"run {env.name(found.run_a.name)}: turn {found.turn_a} ({agent(env, found.agent_a)}) "
            f"-> turn {found.turn_b}{where} ({agent(env, found.agent_b)})"
        ),
        (
            f"{counts.added} added, {counts.evicted} evicted, {counts.modified} modified, "
            f"{counts.unchanged} unchanged{moved}"
        ),
        (
            f"{tokens(env, found.tokens_added, found.exact)} in, "
            f"{tokens(env, found.tokens_evicted, found.exact)} out, "
            f"net {number(env, found.net_tokens, '+')}; "
            f"{tokens(env, found.unchanged_tokens, found.exact)} unchanged"
        ),
    ]
    if found.crosses_agents:
        line = "these turns belong to different agents: a difference here is not a change"
        if found.same_agent_before is not None:
            same = call(
                "ctxdiff_diff",
                env,
                found.run_b,
                turn_a=found.same_agent_before,
                turn_b=found.turn_b,
            )
            line += f"; same agent: {same}"
        lines.append(line)
    return lines


def offer_change(env: Envelope, found: Diff, change: Change, *, detailed: bool) -> bool:
    """Add one change with its text; False when there is no room."""
    line = f"- {_what(change)}: {change.block.role} {change.block.kind}"
    line += f" block {handle(env, change.block)}"
    if change.before is not None:
        line += f" (was {handle(env, change.before)})"
    line += (
        f", label {env.name(change.label)}, {tokens(env, change.block.tokens, change.block.exact)}"
    )
    if change.kind == "modified" and change.before is not None:
        line += f", before {tokens(env, change.before.tokens, change.before.exact)}"
    if change.kind == "unchanged" or env.policy.hides_text:
        return env.offer(line)
    if change.kind == "modified":
        return _offer_edit(env, found, change, line, detailed=detailed)
    seq = found.turn_a if change.kind == "evicted" else found.turn_b
    chars = 600 if detailed else 160
    piece = block_piece(env, change.block, found.text(change), seq, max_chars=chars)
    return env.offer(line, piece)


def _offer_edit(env: Envelope, found: Diff, change: Change, line: str, *, detailed: bool) -> bool:
    edit = found.edit(change, EDIT_CHARS[detailed], env.policy.masked)
    line += f"; -{edit.deleted_chars:,} +{edit.inserted_chars:,} characters"
    if edit.first_diff_char is not None:
        line += f", first at {edit.first_diff_char:,}"
    if edit.granularity != "characters":
        line += f", compared by {edit.granularity}"
    if edit.truncated:
        line += ", later changes not shown"
    pieces = [
        Piece(piece.text, (("edit", _EDITS[piece.op]),), max_chars=EDIT_CHARS[detailed])
        for piece in edit.pieces
    ]
    most = 12 if detailed else 6
    if len(pieces) > most and not edit.truncated:
        line += ", later changes not shown"
    return env.offer(line, *pieces[:most])


def _what(change: Change) -> str:
    if change.kind == "added":
        return f"added at {change.position_new}"
    if change.kind == "evicted":
        return f"evicted from {change.position_old}"
    if change.position_old == change.position_new:
        return f"{change.kind} at {change.position_new}"
    verb = "moved" if change.kind == "unchanged" else change.kind
    return f"{verb} {change.position_old} -> {change.position_new}"


TOOL = Tool(
    name="ctxdiff_diff",
    title="Diff the context of two turns",
    description=(
        "Show what changed in an agent's context between two turns: which messages, tool results "
        "or schemas were added, evicted (dropped), modified or moved, with tokens and the edited "
        "text. Ask it when an answer went wrong at a turn and you want to see what the model no "
        "longer saw. Without turns it compares a good run with a bad one (run_b) or two agents "
        "(agent_b) turn by turn and names where they first part: model, parameters, system, "
        "tools, input, tool result or answer. With stage it tells what the agent's own optimiser, "
        "trimmer or compactor removed before one turn was sent, and its planner's decisions. "
        "ctxdiff_block shows a block whole."
    ),
    arguments=(
        RUN,
        turn(
            "The turn to start from, a number from 0 up. Absent with turn_b: whole runs.",
            name="turn_a",
        ),
        turn("The turn to compare with it, a number from 0 up.", name="turn_b"),
        Text("agent", "Both turns must be this agent's: its name or handle. Absent: any agent."),
        Text("run_b", "The second run; turn_b is taken from it. Absent: the same run."),
        Text("agent_b", "Without turns: compare `agent` with this one. Absent: with itself."),
        Text(
            "stage",
            "What the program held before the turn was sent, against what was sent: `all`, or the "
            "number of a stage. turn_a and turn_b are then the same turn.",
            max_chars=100,
        ),
        FORMAT,
        limit(20, 100, "changes"),
        CURSOR,
    ),
    answer=answer,
)
