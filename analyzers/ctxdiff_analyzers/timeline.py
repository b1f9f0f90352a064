"""What analyzers take: turns over a table of distinct blocks, text on demand.

The cost of a question then grows with what changed, not with turns times context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ctxdiff_capture.model import BlockHead, CallHead, Usage

TextOf = Callable[[str], str]
"""Content hash to text. Raises KeyError for a block that the timeline does not hold."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One call, numbered by `seq`, with its blocks as indices into `Timeline.blocks`."""

    call: CallHead
    inputs: Sequence[int]
    labels: Sequence[int]
    """For each input an index into `Timeline.label_table`."""
    positions: Sequence[int]
    """The stored position of each input; usually 0, 1, 2, ..."""
    outputs: Sequence[int] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def seq(self) -> int:
        """The turn's number."""
        return self.call.seq

    @property
    def agent(self) -> str | None:
        """Whose turn it is; None when the program named no agent."""
        return self.call.agent


@dataclass(frozen=True, slots=True)
class Timeline:
    """A session's turns, ascending by `seq`, or a selection of them."""

    turns: tuple[Turn, ...]
    blocks: Sequence[BlockHead]
    """Every distinct block; a hash occurs once."""
    label_table: Sequence[tuple[str, str]]
    """Distinct (label, label source)."""
    text_of: TextOf
    has_outputs: bool = False
    """True when answers were recorded, so that an empty list means an empty answer."""

    def agents(self) -> list[str | None]:
        """Distinct agents in order of first appearance; None counts as one of its own."""
        return list(dict.fromkeys(turn.agent for turn in self.turns))

    def of_agent(self, agent: str | None) -> Timeline:
        """The turns of one agent, over the same blocks."""
        mine = tuple(turn for turn in self.turns if turn.agent == agent)
        return Timeline(mine, self.blocks, self.label_table, self.text_of, self.has_outputs)

    def groups(self) -> Mapping[str | None, Timeline]:
        """One timeline per distinct agent, so that only an agent's own turns are compared."""
        return {agent: self.of_agent(agent) for agent in self.agents()}

    def turn(self, seq: int) -> Turn | None:
        """The turn with that number, or None."""
        return next((turn for turn in self.turns if turn.seq == seq), None)

    def previous(self, seq: int) -> Turn | None:
        """The same agent's latest turn before `seq`, or None."""
        this = self.turn(seq)
        before = [t for t in self.turns if this and t.seq < seq and t.agent == this.agent]
        return before[-1] if before else None
