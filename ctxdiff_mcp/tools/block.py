"""ctxdiff_block: one block's text in pages, or the list of a turn's blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxdiff_mcp.gate.clean import LINE_MARK
from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.tools.arguments import (
    CURSOR,
    RUN,
    TURN_MAX,
    BadArguments,
    Integer,
    Text,
    Values,
    limit,
    turn,
)
from ctxdiff_mcp.tools.lines import agent, call, handle, outcome_lines, plural, ranges, tokens
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import Context, Tool

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.block import BlockText, Placed, TurnBlocks

DEFAULT_CHARS = 4_000
MOST_CHARS = 16_000
NO_MARK, MARK_LINES = "none", "lines"


def answer(context: Context, values: Values) -> str:
    """The text of a block, or the blocks of a turn."""
    from ctxdiff_mcp.answers.block import block  # noqa: PLC0415  the server starts without it

    content_hash, seq = values.text("content_hash"), values.integer("turn")
    position = values.integer("position")
    if content_hash is None and seq is None:
        raise BadArguments(["give `content_hash`, or `turn`, or `turn` and `position`"])
    if content_hash is None and seq is not None and position is None:
        return _listed(context, values, seq)
    if content_hash is None and seq is None:
        raise BadArguments(["`position` needs `turn`"])
    found = block(
        context.source,
        values.word("run"),
        content_hash,
        turn=seq,
        position=position,
        ask=context.ask,
    )
    context.check()
    return _text(context, values, found)


def _text(context: Context, values: Values, found: BlockText) -> str:
    offset, chars = values.number("offset"), values.number("max_chars")
    env = context.envelope(detailed=chars > DEFAULT_CHARS)
    ref = found.block
    line = f"run {env.name(found.run.name)}, block {handle(env, ref)}: {ref.role} {ref.kind}"
    if found.label is not None:
        line += f", label {env.name(found.label)}"
    env.say(f"{line}, {tokens(env, ref.tokens, ref.exact)}")
    if ref.content_hash and not env.policy.hides_text:
        env.say(f"content hash {ref.content_hash}")
    for word, spelled in (("role", found.role_in_file), ("kind", found.kind_in_file)):
        if spelled is not None:
            env.say(f"{word} in the file: {env.word(spelled)}")
    env.say(_where(found))
    if env.policy.hides_text:
        env.say("its text is withheld: the server runs in redact mode")
        return env.finish()
    words: list[tuple[str, int | str]] = [("block", handle(env, ref)), ("role", ref.role)]
    if found.turn is not None:
        words.append(("turn", found.turn))
    mark = values.word("mark")
    page = env.page(found.text, offset, chars, words, mark_lines=mark == MARK_LINES)
    if offset > page.total or (offset == page.total and page.total):
        env.close(f"no text from offset {offset:,} on: the block has {page.total:,} characters")
    elif page.end < page.total:
        rest = call(
            "ctxdiff_block",
            env,
            found.run,
            content_hash=handle(env, ref),
            offset=page.end,
            max_chars=None if chars == DEFAULT_CHARS else chars,
            mark=mark if mark == MARK_LINES else None,
        )
        env.close(f"characters {page.start:,}-{page.end:,} of {page.total:,}; next: {rest}")
    else:
        env.close(f"characters {page.start:,}-{page.end:,} of {page.total:,}; that is the end")
    return env.finish()


def _where(found: BlockText) -> str:
    parts = []
    if found.input_turns:
        count = plural(len(found.input_turns), "turn")
        parts.append(f"in the input of {count}: {ranges(found.input_turns)}")
    if found.output_turns:
        parts.append(f"answer of turn {ranges(found.output_turns)}")
    return "; ".join(parts) or "in no turn of this run"


def _listed(context: Context, values: Values, seq: int) -> str:
    from ctxdiff_mcp.answers.block import turn_blocks  # noqa: PLC0415  likewise

    found = turn_blocks(context.source, values.word("run"), seq, ask=context.ask)
    context.check()
    env = context.envelope()
    inputs = sum(1 for one in found.blocks if one.side == "input")
    env.say(
        f"run {env.name(found.run.name)}, turn {seq}, agent {agent(env, found.agent)}: "
        f"{plural(inputs, 'input block')}, {plural(len(found.blocks) - inputs, 'output block')}"
    )
    for line in outcome_lines(env, found.outcome):
        env.say(line)
    if not found.has_outputs:
        env.say("this file holds no answers")
    list_rows(
        env,
        found.blocks,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="blocks",
        show=lambda row, _: env.offer(_row(env, row)),
        more=lambda at: call("ctxdiff_block", env, found.run, turn=seq, cursor=at),
    )
    first = _first_text(env, found)
    if first:
        env.close(f"next: {first}")
    return env.finish()


def _row(env: Envelope, row: Placed) -> str:
    line = f"- {row.side} {row.position}: {row.block.role} {row.block.kind} "
    line += f"{handle(env, row.block)}"
    if row.label is not None:
        line += f", label {env.name(row.label)}{' (tagged)' if row.tagged else ''}"
    return f"{line}, {tokens(env, row.block.tokens, row.block.exact)}"


def _first_text(env: Envelope, found: TurnBlocks) -> str:
    if not found.blocks:
        return ""
    last = found.blocks[-1].block
    return call("ctxdiff_block", env, found.run, content_hash=handle(env, last))


TOOL = Tool(
    name="ctxdiff_block",
    title="Read a block, or list a turn's blocks",
    description=(
        "Read one block of recorded context in full (a message, tool result, answer or tool "
        "schema), in pages, or list every input and output block of a turn. Ask it with "
        "content_hash as other answers print it, or with turn and position; with only turn it "
        "lists that turn's blocks, including what the model answered. Offsets and max_chars count "
        "characters of the original text; the pages join without gap or overlap."
    ),
    arguments=(
        RUN,
        Text("content_hash", "Start of a block's hash, 6 hex digits or more, or its handle.", 100),
        turn("The turn to list, or with position to read from; a number from 0 up."),
        Integer("position", "Position of an input block in the turn, from 0 up.", 0, TURN_MAX),
        Integer("offset", "First character to show, 0 or more; default 0.", 0, TURN_MAX, 0),
        Integer(
            "max_chars",
            f"Characters to show, 1 to {MOST_CHARS}; default {DEFAULT_CHARS}. Above the default "
            "the answer may pass 8,000 bytes.",
            1,
            MOST_CHARS,
            DEFAULT_CHARS,
        ),
        Text(
            "mark",
            f"`{NO_MARK}` (default), or `{MARK_LINES}`: each line of the text begins with "
            f"`{LINE_MARK}`, so that a copy still says that it is recorded data.",
            choices=(NO_MARK, MARK_LINES),
            default=NO_MARK,
        ),
        limit(40, 200, "blocks of a turn"),
        CURSOR,
    ),
    answer=answer,
)
