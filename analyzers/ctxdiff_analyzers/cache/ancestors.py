"""Which earlier turn a turn's prefix is measured against."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_capture.light import light

from ctxdiff_analyzers.cache.order import Rendered, parting, rendered
from ctxdiff_analyzers.cache.rules import Rules
from ctxdiff_analyzers.matching import bare_digest
from ctxdiff_analyzers.timeline import Timeline, Turn

FIRST_SAID = 4
LOOK_BACK = 8
"""Turns that are looked at: parallel conversations are few."""


@light(frozen=True, slots=True)
class Ancestor:
    """An earlier turn, and how far its prefix reaches into the later one."""

    view: Rendered
    new: Rendered
    at: tuple[int, int]
    """Places of the first blocks that differ; the length of a side that ended."""

    @property
    def turn(self) -> Turn:
        """The earlier turn."""
        return self.view.turn

    @property
    def is_whole(self) -> bool:
        """True when the earlier turn is a prefix of the later one, or that of the earlier."""
        return self.at[0] >= len(self.view.blocks) or self.at[1] >= len(self.new.blocks)

    @property
    def shares_head(self) -> bool:
        """True when both have the same tools and system text."""
        return self.at[0] >= len(self.view.head) and self.at[1] >= len(self.new.head)

    @property
    def shares_talk(self) -> bool:
        """True when both begin with the same thing said."""
        return self.at[0] > len(self.view.head) and self.at[1] > len(self.new.head)


def ancestor(timeline: Timeline, turn: Turn, rules: Rules) -> Ancestor | None:
    """The call that `turn` goes on from; None for an agent's first.

    Of the agent's last few successful calls that with which it shares the longest prefix, the
    newest of several. Where no agent is named these are the last few of all conversations.
    """
    new = rendered(timeline, turn, rules)
    recent = _recent(timeline.of_agent(turn.agent), turn)
    newest = next(recent, None)
    if newest is None:
        return None
    first = _against(timeline, newest, new, rules)
    if first.is_whole or (first.shares_head and _last_is_kept(newest, turn)):
        return first
    found = [first, *(_against(timeline, earlier, new, rules) for earlier in recent)]
    longest = max(one.at[1] for one in found)
    best = [one for one in found if one.at[1] == longest]
    if len(best) == 1 or best[0].shares_talk:
        return best[0]
    # All part before the conversation: what they hold of it decides.
    return max(best, key=lambda one: talk_shared(timeline, one.view, new))


def talk_shared(timeline: Timeline, old: Rendered, new: Rendered) -> int:
    """How many of the first things said two turns share, whatever markers stand on them."""
    firsts = [
        {bare_digest(timeline, block) for block in view.blocks[len(view.head) :][:FIRST_SAID]}
        for view in (old, new)
    ]
    return len(firsts[0] & firsts[1])


def goes_on_elsewhere(timeline: Timeline, old: Rendered, turn: Turn, rules: Rules) -> bool:
    """Whether one of the agent's next few turns after `turn` goes on from the turn `old`."""
    mine = timeline.of_agent(turn.agent)
    at = mine.place(turn.seq)
    for later in mine.turns[at + 1 : at + 1 + LOOK_BACK]:
        if len(later.inputs) > len(old.blocks):
            new = rendered(timeline, later, rules)
            if parting(timeline, old, new)[0] >= len(old.blocks):
                return True
    return False


def relatives(timeline: Timeline, turn: Turn, rules: Rules) -> list[Ancestor]:
    """Other agents' recent calls with the same tools and system text, newest first."""
    new = rendered(timeline, turn, rules)
    others = _recent(timeline, turn, 2 * LOOK_BACK)
    found = [_against(timeline, one, new, rules) for one in others]
    return [one for one in found if one.shares_head and len(one.new.head)]


def _recent(timeline: Timeline, turn: Turn, most: int = LOOK_BACK) -> Iterator[Turn]:
    """Successful calls before `turn`, newest first, of the last few."""
    turns, at = timeline.turns, timeline.place(turn.seq)
    found = 0
    while at and found < most:
        at -= 1
        if turns[at].call.error is None and turns[at].inputs:
            found += 1
            yield turns[at]


def _against(timeline: Timeline, earlier: Turn, new: Rendered, rules: Rules) -> Ancestor:
    old = rendered(timeline, earlier, rules)
    return Ancestor(old, new, parting(timeline, old, new))


def _last_is_kept(earlier: Turn, turn: Turn) -> bool:
    """Whether the last thing that was said in `earlier` is still said."""
    return len(earlier.inputs) > 1 and earlier.inputs[-1] in turn.inputs[len(earlier.inputs) // 2 :]
