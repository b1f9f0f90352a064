"""The answer to "what does this block say, and which blocks does that turn have?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ctxdiff_analyzers.timeline import Turn

from ctxdiff_mcp.answers.asking import OPEN, Ask, Choices, Unanswerable
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import OTHER, BlockRef, RunRef
from ctxdiff_mcp.answers.select import find_block, find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.answers.turns import Outcome, outcome
from ctxdiff_mcp.gate.captured import Captured, Name


@dataclass(frozen=True, slots=True)
class BlockText:
    """One block whole."""

    run: RunRef
    block: BlockRef
    label: Name | None
    """Where it first stands in an input; None when it never does."""
    role_in_file: Captured | None
    """The role as the file spells it, when it is outside the known ones."""
    kind_in_file: Captured | None
    turn: int | None
    """The turn asked about; None when the block was asked for by hash."""
    position: int | None
    text: Captured
    input_turns: tuple[int, ...]
    """Turns that have it in the input, ascending."""
    output_turns: tuple[int, ...]
    """Turns whose answer it is, ascending."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A block at its place in a turn."""

    side: Literal["input", "output"]
    position: int
    block: BlockRef
    label: Name | None
    """None for an answer's blocks."""
    tagged: bool
    """True when the program gave the label."""


@dataclass(frozen=True, slots=True)
class TurnBlocks:
    """All blocks of one turn, input before output, in order."""

    run: RunRef
    turn: int
    agent: Name | None
    outcome: Outcome
    blocks: tuple[Placed, ...]
    has_outputs: bool
    """False when the file holds no answers at all."""


def block(
    source: Source,
    run: str,
    content_hash: str | None = None,
    *,
    turn: int | None = None,
    position: int | None = None,
    ask: Ask = OPEN,
) -> BlockText:
    """One block, by hash or by its place in a turn's input.

    Raises:
        Unanswerable: a selector fits nothing or several things.
        StoreError: the file went away or cannot be read.
        ValueError: neither a hash nor a place was given.
    """
    opened = find_run(source, run, ask)
    with opened.lock:
        find_scope(opened, None, ask)
        if content_hash is not None:
            return _text(opened, find_block(opened, content_hash, ask), turn, position)
        if turn is None or position is None:
            raise ValueError("give content_hash, or turn and position")
        this = find_turn(opened, turn)
        places = list(this.positions)
        if position not in places:
            raise Unanswerable("unknown_position", Choices(numbers=tuple(places)))
        found = opened.block_at(this.inputs[places.index(position)])
        return _text(opened, found, turn, position)


def turn_blocks(source: Source, run: str, turn: int, *, ask: Ask = OPEN) -> TurnBlocks:
    """The blocks of one turn.

    Raises:
        Unanswerable: a selector fits nothing or several things.
        StoreError: the file went away or cannot be read.
    """
    opened = find_run(source, run, ask)
    with opened.lock:
        find_scope(opened, None, ask)
        this = find_turn(opened, turn)
        return TurnBlocks(
            run=opened.ref,
            turn=turn,
            agent=opened.agent(this.agent),
            outcome=outcome(this),
            blocks=(*_inputs(opened, this), *_outputs(opened, this)),
            has_outputs=opened.timeline.has_outputs,
        )


def _inputs(run: OpenRun, turn: Turn) -> list[Placed]:
    rows = []
    for at, label_at, position in zip(turn.inputs, turn.labels, turn.positions, strict=True):
        label, source = run.timeline.label_table[label_at]
        tagged = source == "tagged"
        rows.append(Placed("input", position, run.block_at(at), run.label(label), tagged))
    return rows


def _outputs(run: OpenRun, turn: Turn) -> list[Placed]:
    return [
        Placed("output", position, run.block_at(at), None, tagged=False)
        for position, at in enumerate(turn.outputs)
    ]


def _text(run: OpenRun, ref: BlockRef, turn: int | None, position: int | None) -> BlockText:
    digest = run.stored_hash(ref)
    at = run.index_of(digest)
    head = run.recording.blocks[at]
    inputs = [one for one in run.timeline.turns if at in one.inputs]
    return BlockText(
        run=run.ref,
        block=ref,
        label=_first_label(run, inputs, at),
        role_in_file=Captured(head.role) if ref.role == OTHER else None,
        kind_in_file=Captured(head.kind) if ref.kind == OTHER else None,
        turn=turn,
        position=position,
        text=run.text_of(ref),
        input_turns=tuple(one.seq for one in inputs),
        output_turns=tuple(one.seq for one in run.timeline.turns if at in one.outputs),
    )


def _first_label(run: OpenRun, inputs: Sequence[Turn], at: int) -> Name | None:
    if not inputs:
        return None
    first = inputs[0]
    label, _ = run.timeline.label_table[first.labels[list(first.inputs).index(at)]]
    return run.label(label)
