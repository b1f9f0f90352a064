"""Which earlier turn a turn goes on from, where several conversations share one agent's name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice

from ctxdiff_analyzers.matching import bare_digest, matching
from ctxdiff_analyzers.roles import is_conversation, is_prompt
from ctxdiff_analyzers.schemas import names_in
from ctxdiff_analyzers.timeline import Timeline, Turn

LOOK_BACK = 8
"""Turns that are looked at: parallel conversations of one agent are few."""
FIRST_SAID = 8
"""Things said up to which a turn is compared whatever cache markers stand on them."""


def predecessor(timeline: Timeline, turn: Turn) -> Turn | None:
    """The turn that `turn` continues: of the agent's last few the one that it shares most with.

    That is the turn right before, unless an earlier one holds more of what was said. System text
    and tools do not count, since conversations of one program share them. None for an agent's
    first turn, and for a conversation's first turn if what stands in front of it is another
    program's: where nobody named the agent, or the turns before go on without it.

    Args:
        timeline: holds all turns of the agent.
        turn: one of them.
    """
    mine = timeline.of_agent(turn.agent).turns
    at = bisect_left(mine, turn.seq, key=lambda other: other.seq)
    recent = mine[max(0, at - LOOK_BACK) : at]
    said = {block for block in turn.inputs if is_conversation(timeline.blocks[block])}
    # Newest first: of several that share as much, `max` takes the first.
    newest = max(
        reversed(recent), key=lambda earlier: len(said.intersection(earlier.inputs)), default=None
    )
    if newest is None or not said.isdisjoint(newest.inputs):
        return newest
    # A conversation's only message may have had a marker that has moved on since.
    bare = _bare(timeline, turn)
    found = max(reversed(recent), key=lambda earlier: len(bare & _bare(timeline, earlier)))
    if bare & _bare(timeline, found):
        return found
    return _of_its_own(timeline, turn, recent, mine[at + 1 : at + 1 + LOOK_BACK])


def _of_its_own(
    timeline: Timeline, turn: Turn, recent: Sequence[Turn], next_few: Sequence[Turn]
) -> Turn | None:
    """Which turn one goes on from that shares nothing of what was said."""
    heads = [timeline.blocks[block] for block in turn.inputs]
    newest = recent[-1]
    if any(head.role == "assistant" for head in heads):
        return newest
    # A call on the side: what came before goes on without it.
    talk = _bare(timeline, newest)
    is_beside = bool(talk) and any(talk <= _bare(timeline, later) for later in next_few)
    if turn.agent is not None and not is_beside:
        return newest
    if any(map(is_prompt, heads)):
        alike = (one for one in reversed(recent) if _is_prompted_alike(timeline, one, turn))
        return next(alike, None)
    return None if is_beside else newest


def _is_prompted_alike(timeline: Timeline, old: Turn, new: Turn) -> bool:
    """Whether both have the same system text, be it edited, or the older one has none.

    Programs whose tools have not one name in common are two, however alike their prompts.
    """
    tools = _tool_names(timeline, old), _tool_names(timeline, new)
    if all(tools) and tools[0].isdisjoint(tools[1]):
        return False
    prompts = [i for i, block in enumerate(old.inputs) if is_prompt(timeline.blocks[block])]
    if not prompts:
        return True
    found = matching(old, new, timeline)
    kept = {i for i, _ in (*found.same, *found.edited)}
    return not kept.isdisjoint(prompts)


def _tool_names(timeline: Timeline, turn: Turn) -> frozenset[str]:
    schemas = (b for b in turn.inputs if timeline.blocks[b].kind == "tool_schema")
    return frozenset(name for block in schemas for name in names_in(timeline, block))


def _bare(timeline: Timeline, turn: Turn) -> frozenset[bytes]:
    """Digests of the first things said, cache markers apart; an image's text does not tell it."""
    said = (
        block
        for block in turn.inputs
        if is_conversation(timeline.blocks[block]) and timeline.blocks[block].kind != "image"
    )
    return frozenset(bare_digest(timeline, block) for block in islice(said, FIRST_SAID))
