"""What analyzers take: turns over a table of distinct blocks, text on demand.

The cost of a question then grows with what changed, not with turns times context.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from ctxdiff_capture.light import light
from ctxdiff_capture.model import BlockHead, CallDetail, CallHead, Stage, Usage

TextOf = Callable[[str], str]
"""Content hash to text. Raises KeyError for a block that the timeline does not hold."""
Fact = TypeVar("Fact")


class Records(Protocol):
    """What is stored of a call beyond its head and blocks, read when a question needs it."""

    def detail(self, call_id: str) -> CallDetail:
        """Markers, tool call ids, paths and metadata; empty where nothing was kept."""

    def request(self, call_id: str) -> bytes | None:
        """The request body, byte for byte; None where it was not kept."""

    def stages(self, call_id: str) -> Sequence[Stage]:
        """What the program held before the call, in the order in which it said so."""


class NoRecords:
    """The records of a timeline that has none: files of ctxdiff, turns made by hand."""

    def detail(self, call_id: str) -> CallDetail:
        """Nothing."""
        del call_id
        return CallDetail()

    def request(self, call_id: str) -> None:
        """Nothing."""
        del call_id

    def stages(self, call_id: str) -> Sequence[Stage]:
        """None."""
        del call_id
        return ()


@light(frozen=True, slots=True)
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
    records: Records = field(default_factory=NoRecords, compare=False)
    _seen: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was worked out about this selection of turns, by question."""
    _facts: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was worked out about blocks; shared by all selections of one session."""

    def agents(self) -> list[str | None]:
        """Distinct agents in order of first appearance; None counts as one of its own."""
        return list(self.groups())

    def of_agent(self, agent: str | None) -> Timeline:
        """The turns of one agent, over the same blocks."""
        mine = self.groups().get(agent)
        return mine if mine is not None else self._selection(())

    def groups(self) -> Mapping[str | None, Timeline]:
        """One timeline per distinct agent, so that only an agent's own turns are compared."""
        return self.remembered("groups", self._split)

    def turn(self, seq: int) -> Turn | None:
        """The turn with that number, or None."""
        at = self.place(seq)
        return self.turns[at] if at < len(self.turns) and self.turns[at].seq == seq else None

    def previous(self, seq: int) -> Turn | None:
        """The same agent's latest turn before `seq`, or None."""
        this = self.turn(seq)
        if this is None:
            return None
        mine = self.of_agent(this.agent)
        at = mine.place(seq)
        return mine.turns[at - 1] if at else None

    def place(self, seq: int) -> int:
        """The index of the first turn with that number or a later one; the length without one."""
        numbers = self.remembered("numbers", lambda: [turn.seq for turn in self.turns])
        return bisect_left(numbers, seq)

    def present(self, blocks: Collection[int]) -> dict[int, int]:
        """Which of the blocks stand in an input, and in which turn (`seq`) first."""
        return _met(blocks, self.turns)

    def last_seen(self, blocks: Collection[int]) -> dict[int, int]:
        """Which of the blocks stand in an input, and in which turn (`seq`) last."""
        return _met(blocks, reversed(self.turns))

    def remembered(self, question: str, answer: Callable[[], Fact]) -> Fact:
        """`answer()`, worked out once for this selection of turns."""
        if question not in self._seen:
            self._seen[question] = answer()
        found: Fact = self._seen[question]
        return found

    def known(self, question: str, answer: Callable[[], Fact]) -> Fact:
        """`answer()`, worked out once for the session's blocks, whatever turns are selected."""
        if question not in self._facts:
            self._facts[question] = answer()
        found: Fact = self._facts[question]
        return found

    def detail(self, turn: Turn) -> CallDetail:
        """What is stored of the call beyond its head and blocks, read once."""
        return self.known(f"detail {turn.call.id}", lambda: self.records.detail(turn.call.id))

    def request(self, turn: Turn) -> bytes | None:
        """The call's request body, byte for byte; None where it was not kept. Not remembered."""
        return self.records.request(turn.call.id)

    def stages(self, turn: Turn) -> Sequence[Stage]:
        """What the program held before the call, with its texts. Not remembered."""
        return self.records.stages(turn.call.id)

    def fact(self, question: str, block: int, answer: Callable[[str], Fact]) -> Fact:
        """`answer(text of the block)`, worked out once per block of the session."""
        key = (question, block)
        if key not in self._facts:
            self._facts[key] = answer(self.text_of(self.blocks[block].content_hash))
        found: Fact = self._facts[key]
        return found

    def _split(self) -> dict[str | None, Timeline]:
        turns: dict[str | None, list[Turn]] = {}
        for turn in self.turns:
            turns.setdefault(turn.agent, []).append(turn)
        if len(turns) == 1:
            return dict.fromkeys(turns, self)
        return {agent: self._selection(tuple(mine)) for agent, mine in turns.items()}

    def _selection(self, turns: tuple[Turn, ...]) -> Timeline:
        return replace(self, turns=turns)


def _met(blocks: Collection[int], turns: Iterable[Turn]) -> dict[int, int]:
    met: dict[int, int] = {}
    missing = set(blocks)
    for turn in turns:
        if not missing:
            break
        if not missing.isdisjoint(turn.inputs):
            for block in dict.fromkeys(turn.inputs):
                if block in missing:
                    met[block] = turn.seq
                    missing.discard(block)
    return met
