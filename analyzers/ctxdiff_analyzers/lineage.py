"""Which earlier turn a turn goes on from, where several conversations share one agent's name."""

from __future__ import annotations

from bisect import bisect_left

from ctxdiff_analyzers.roles import is_conversation
from ctxdiff_analyzers.timeline import Timeline, Turn

LOOK_BACK = 8
"""Turns that are looked at: parallel conversations of one agent are few."""


def predecessor(timeline: Timeline, turn: Turn) -> Turn | None:
    """The turn that `turn` continues: of the agent's last few the one that it shares most with.

    That is the turn right before, unless an earlier one holds more of what was said. System text
    and tools do not count, since conversations of one program share them. None for an agent's
    first turn.

    Args:
        timeline: holds all turns of the agent.
        turn: one of them.
    """
    mine = timeline.of_agent(turn.agent).turns
    at = bisect_left(mine, turn.seq, key=lambda other: other.seq)
    recent = mine[max(0, at - LOOK_BACK) : at]
    said = {block for block in turn.inputs if is_conversation(timeline.blocks[block])}
    # Newest first: of several that share as much, `max` takes the first.
    return max(
        reversed(recent), key=lambda earlier: len(said.intersection(earlier.inputs)), default=None
    )
