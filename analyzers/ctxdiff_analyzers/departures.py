"""How a block left an agent's context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers.compaction import compaction
from ctxdiff_analyzers.lineage import predecessor
from ctxdiff_analyzers.matching import matching
from ctxdiff_analyzers.roles import is_conversation
from ctxdiff_analyzers.timeline import Timeline, Turn

Way: TypeAlias = Literal["edited", "compacted", "trimmed", "dropped", "other_conversation"]
"""`edited`: it is there in another form. `compacted`: it is among messages that a summary stands
for. `trimmed`: the oldest messages are gone, this one among them. `dropped`: it alone, or it and
others between ones that stayed. `other_conversation`: the turn goes on from an earlier one that
did not have it."""


@dataclass(frozen=True, slots=True)
class Departure:
    """How a block left at one turn."""

    seq: int
    """The first turn that does not have it."""
    way: Way
    successor: str | None = None
    """Content hash of what stands for it now: its edited form, or the summary."""


def departure(timeline: Timeline, block: int, seq: int) -> Departure | None:
    """How the block left at turn `seq`; None where the agent's turn before did not have it."""
    turn, old = timeline.turn(seq), timeline.previous(seq)
    if turn is None or old is None or block not in old.inputs or block in turn.inputs:
        return None
    goes_on_from = predecessor(timeline, turn)
    if goes_on_from is not None and block not in goes_on_from.inputs:
        return Departure(seq, "other_conversation")
    index = list(old.inputs).index(block)
    # Many blocks leave at one turn, and each is asked about.
    found = timeline.known(
        f"departures {old.call.id} {turn.call.id}", lambda: matching(old, turn, timeline)
    )
    for i, j in (*found.edited, *found.same):
        if i == index:
            return Departure(seq, "edited", _hash(timeline, turn, j))
    made = compaction(timeline, old, turn)
    if made is not None and index in made.replaced:
        summary = _hash(timeline, turn, made.standing_in[0]) if made.standing_in else None
        return Departure(seq, "compacted", summary)
    return Departure(seq, "trimmed" if _is_front(timeline, old, index, found.gone) else "dropped")


def _is_front(timeline: Timeline, old: Turn, index: int, gone: tuple[int, ...]) -> bool:
    """Whether everything that was said up to the block is gone with it, and more stayed."""
    said = [i for i, b in enumerate(old.inputs) if is_conversation(timeline.blocks[b])]
    left = set(gone)
    if index not in said or len(left.intersection(said)) == len(said):
        return False
    return all(i in left for i in said if i <= index)


def _hash(timeline: Timeline, turn: Turn, index: int) -> str:
    return timeline.blocks[turn.inputs[index]].content_hash
