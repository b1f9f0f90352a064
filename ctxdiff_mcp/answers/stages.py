"""The answer to "what did the program hold before this turn, and what became of it?"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ctxdiff_analyzers.diff import Counts, Entry, EntryKind
from ctxdiff_analyzers.stages import stage_diff
from ctxdiff_analyzers.timeline import Turn
from ctxdiff_capture.model import Decision, Placement, Stage

from ctxdiff_mcp.answers.asking import OPEN, Ask, Choices, Unanswerable
from ctxdiff_mcp.answers.open_run import EXACT, OpenRun
from ctxdiff_mcp.answers.refs import ROLES, STAGE_WORDS, TOOL_RESULT, BlockRef, RunRef, known
from ctxdiff_mcp.answers.select import find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.captured import Captured, Name, captured

ALL = "all"
"""Stands for every stage of a turn."""


@dataclass(frozen=True, slots=True)
class StageChange:
    """A block that was held and not sent, put in, or sent otherwise."""

    kind: EntryKind
    role: str
    """One of `ROLES`, or `other`."""
    label: Name
    tokens: int
    exact: bool
    text: Captured
    """Of the block that was held for `evicted`, otherwise of the one that was sent."""
    before: Captured | None
    """What was held where a block was sent otherwise."""
    block: BlockRef | None
    """The same block in the run; None where no turn ever sent it."""


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage against what was sent."""

    number: int
    """1, 2, ... in the order in which the program told of them."""
    name: Captured
    kind: str
    """The name where it is one of `STAGE_WORDS`, otherwise `other`."""
    counts: Counts
    """`evicted` were held and not sent, `added` were put in."""
    tokens_evicted: int
    tokens_added: int
    exact: bool
    changes: tuple[StageChange, ...]


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """What a planner did with one candidate, in the program's words."""

    candidate: Captured
    disposition: Captured
    reason: Captured | None
    rank: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Stages:
    """What was said before one turn, in the order in which it was said."""

    run: RunRef
    turn: int
    agent: Name | None
    stages: tuple[StageRow, ...]
    tool_results: tuple[Captured, ...]
    """Raw results of tools that entered the history cut, redacted or rewritten."""
    decisions: tuple[DecisionRow, ...]


@dataclass(frozen=True, slots=True)
class Removed:
    """What the program held before one turn and did not send."""

    blocks: int
    tokens: int
    exact: bool


def stages(
    source: Source,
    run: str,
    turn: int,
    *,
    stage: str = ALL,
    agent: str | None = None,
    ask: Ask = OPEN,
) -> Stages:
    """What the program held and decided before `turn`; of its stages all, or one.

    With `agent`, the turn must be that agent's. `stage` is `all`, a number, or a stage's name.

    Raises:
        Unanswerable: a selector fits nothing or several things.
        StoreError: the file went away or cannot be read.
    """
    opened = find_run(source, run, ask)
    with opened.lock:
        this = find_turn(opened, turn, find_scope(opened, agent, ask))
        held, sent = opened.said_before(this.call.id)
        decided = opened.decisions(this.call.id)
        rows = tuple(_rows(opened, this, held, sent, ask))
    return Stages(
        run=opened.ref,
        turn=turn,
        agent=opened.agent(this.agent),
        stages=_chosen(rows, stage, held, ask),
        tool_results=_raw_results(held),
        decisions=tuple(map(_decision, decided)),
    )


def removed(opened: OpenRun, turn: Turn, ask: Ask = OPEN) -> Removed | None:
    """What was held at the stage that lost most; None where no stage lost anything."""
    held, sent = opened.said_before(turn.call.id)
    rows = [row for row in _rows(opened, turn, held, sent, ask) if row.counts.evicted]
    most = max(rows, key=lambda row: row.counts.evicted, default=None)
    return None if most is None else Removed(most.counts.evicted, _tokens_gone(most), most.exact)


def _tokens_gone(row: StageRow) -> int:
    return sum(change.tokens for change in row.changes if change.kind == "evicted")


def _prompts(held: Sequence[Stage]) -> list[Stage]:
    return [stage for stage in held if stage.name != TOOL_RESULT]


def _chosen(
    rows: Sequence[StageRow], stage: str, held: Sequence[Stage], ask: Ask
) -> tuple[StageRow, ...]:
    wanted = stage.strip()
    if wanted == ALL:
        return tuple(rows)
    by_name = ask.by_name and ask.may_name(wanted)
    names = [one.name for one in _prompts(held)]
    found = tuple(
        row
        for row, name in zip(rows, names, strict=True)
        if wanted in (str(row.number), row.kind) or (by_name and wanted == name)
    )
    if not found:
        raise Unanswerable("unknown_stage", Choices(numbers=tuple(row.number for row in rows)))
    return found


def _rows(
    opened: OpenRun, turn: Turn, held: Sequence[Stage], sent: Sequence[Placement], ask: Ask
) -> Iterator[StageRow]:
    for number, stage in enumerate(_prompts(held), 1):
        found = stage_diff(turn.call, stage.inputs, sent)
        entries: Iterable[Entry] = (e for e in found.entries if e.kind != "unchanged")
        counts = found.counts
        if not ask.by_name:
            # Which blocks are alike follows from their texts.
            entries = [one for entry in entries for one in _by_identity(entry)]
            edited = counts.modified
            counts = replace(
                counts, added=counts.added + edited, evicted=counts.evicted + edited, modified=0
            )
        texts = {p.block.content_hash: p.block.text for p in (*stage.inputs, *sent)}
        yield StageRow(
            number,
            Captured(stage.name),
            known(stage.name, STAGE_WORDS),
            counts,
            found.tokens_evicted,
            found.tokens_added,
            not found.approximate,
            tuple(_change(opened, entry, texts) for entry in entries),
        )


def _by_identity(entry: Entry) -> Iterator[Entry]:
    """An edited block as one that left and one that came."""
    before, tokens = entry.content_hash_before, entry.tokens_before
    if entry.kind != "modified" or before is None:
        yield entry
        return
    yield replace(
        entry,
        kind="evicted",
        position_new=None,
        content_hash=before,
        content_hash_before=None,
        tokens=tokens or 0,
        tokens_before=None,
    )
    yield replace(
        entry, kind="added", position_old=None, content_hash_before=None, tokens_before=None
    )


def _change(opened: OpenRun, entry: Entry, texts: dict[str, str]) -> StageChange:
    before = entry.content_hash_before if entry.kind == "modified" else None
    return StageChange(
        entry.kind,
        known(entry.role, ROLES),
        opened.label(entry.label),
        entry.tokens,
        entry.token_method == EXACT,
        Captured(texts[entry.content_hash]),
        None if before is None else Captured(texts[before]),
        next(iter(opened.blocks([entry.content_hash])), None),
    )


def _raw_results(held: Sequence[Stage]) -> tuple[Captured, ...]:
    results = (stage.inputs for stage in held if stage.name == TOOL_RESULT)
    return tuple(Captured(placed.block.text) for inputs in results for placed in inputs)


def _decision(decision: Decision) -> DecisionRow:
    return DecisionRow(
        Captured(decision.candidate),
        Captured(decision.disposition),
        captured(decision.reason),
        decision.rank,
        decision.tokens,
    )
