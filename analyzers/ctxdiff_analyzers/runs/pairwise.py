"""Two aligned turns of two runs: in what they differ that no earlier turn did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from ctxdiff_capture.model import BlockHead

from ctxdiff_analyzers.content import schema_names, tool_calls
from ctxdiff_analyzers.hunks import common_prefix
from ctxdiff_analyzers.labels import TOOL_OUTPUT, label_of
from ctxdiff_analyzers.ledger import model_of
from ctxdiff_analyzers.roles import is_prompt
from ctxdiff_analyzers.runs.differences import Difference, Kind, Side
from ctxdiff_analyzers.stable import stable_params, stable_text
from ctxdiff_analyzers.timeline import Timeline, Turn

BEFORE, AFTER = 40, 120
"""Code points of an excerpt before the first difference and from it on."""
READ_DIFFERENCES = 200
"""Differences up to which texts are read; what comes after is counted as it is."""


def new_inputs(before: Turn | None, turn: Turn) -> list[int]:
    """Blocks of the turn that the turn before did not have, in order."""
    return list(turn.inputs) if before is None else _without(turn.inputs, frozenset(before.inputs))


class Pairwise:
    """Walks through two agents' aligned turns, first to last.

    Args:
        old: the turns of one agent.
        new: those of the other; may be over the same blocks.
    """

    def __init__(self, old: Timeline, new: Timeline) -> None:
        self._old = old
        self._new = new
        by_hash = {block.content_hash: at for at, block in enumerate(old.blocks)}
        # Blocks of the new run by the old run's numbers; below 0 where only the new run has them.
        self._translated = [
            by_hash.get(block.content_hash, -1 - at) for at, block in enumerate(new.blocks)
        ]
        self._told_old: set[int] = set()
        self._told_new: set[int] = set()
        self._met_old: set[int] = set()
        self._met_new: set[int] = set()
        self._told_values: set[tuple[str, ...]] = set()
        self._controls: dict[int, dict[str, str]] = {}
        self._lengths = (0, 0)
        """Input blocks of the last two aligned turns."""
        self._count = 0
        self.volatile = 0
        """Blocks so far that differ in ids, dates or times only."""

    def step(self, old: Turn | None, new: Turn | None) -> Iterator[Difference]:
        """What differs between two aligned turns and was not told before."""
        for difference in self._step(old, new):
            self._count += 1
            yield difference

    def _step(self, old: Turn | None, new: Turn | None) -> Iterator[Difference]:
        if old is None or new is None:
            yield from self._alone(old, new)
            return
        yield from self._calls(old, new)
        right = self._numbers(new.inputs)
        if list(old.inputs) != right:
            yield from self._inputs(old, new, right)
        self._met_old.update(old.inputs)
        self._met_new.update(right)
        self._lengths = (len(old.inputs), len(right))
        yield from self._answers(old, new)

    def _alone(self, old: Turn | None, new: Turn | None) -> Iterator[Difference]:
        """A turn that the other run does not have; what it brings is told with it."""
        turn = old or new
        assert turn is not None
        timeline = self._new if old is None else self._old
        numbers = self._numbers(turn.inputs) if old is None else list(turn.inputs)
        met, told = (
            (self._met_new, self._told_new) if old is None else (self._met_old, self._told_old)
        )
        brought = [b for b, n in zip(turn.inputs, numbers, strict=True) if n not in met]
        shown = next(iter([*reversed(brought), *turn.outputs]), None)
        met.update(numbers)
        outputs = self._numbers(turn.outputs) if old is None else list(turn.outputs)
        told.update(numbers, outputs)
        side = None
        if shown is not None and self._count < READ_DIFFERENCES:
            inputs = list(turn.inputs)
            at = inputs.index(shown) if shown in inputs else None
            side = self._side(timeline, turn, (shown, at), 0)
        if old is None:
            yield Difference("extra_turn", None, turn.seq, turn.agent, None, side)
        else:
            yield Difference("missing_turn", turn.seq, None, turn.agent, side, None)

    def _calls(self, old: Turn, new: Turn) -> Iterator[Difference]:
        models = model_of(old), model_of(new)
        if models[0] != models[1]:
            yield from self._once("model", (old, new), None, models)
        left, right = self._steered(old), self._steered(new)
        if left != right:
            for name in sorted(left.keys() | right.keys()):
                if left.get(name) != right.get(name):
                    values = left.get(name), right.get(name)
                    yield from self._once("params", (old, new), name, values)

    def _steered(self, turn: Turn) -> dict[str, str]:
        """Parameters that may change the answer, as JSON; most turns share the very mapping."""
        params = turn.call.params
        found = self._controls.get(id(params))
        if found is None:
            found = self._controls[id(params)] = stable_params(params)
        return found

    def _once(
        self,
        kind: Kind,
        turns: tuple[Turn, Turn],
        name: str | None,
        values: tuple[str | None, str | None],
    ) -> Iterator[Difference]:
        """A difference of two values that may hold on many turns."""
        if self._is_news(kind, name, *values):
            old, new = turns
            yield _differ(kind, old, new, name, values)

    def _is_news(self, *values: str | None) -> bool:
        key = tuple("" if value is None else f"={value}" for value in values)
        if key in self._told_values:
            return False
        self._told_values.add(key)
        return True

    def _inputs(self, old: Turn, new: Turn, right: Sequence[int]) -> Iterator[Difference]:
        there = frozenset(right)
        here = frozenset(old.inputs)
        left_over = [
            (b, at) for at, b in enumerate(old.inputs) if b not in there and b not in self._told_old
        ]
        new_over = [
            (b, at)
            for at, (b, n) in enumerate(zip(new.inputs, right, strict=True))
            if n not in here and n not in self._told_new
        ]
        if not left_over and not new_over:
            if here == there and len(right) == len(old.inputs) and self._is_news("order"):
                yield Difference("order", old.seq, new.seq, old.agent, None, None)
            return
        self._told_old.update(b for b, _ in left_over)
        self._told_new.update(right[at] for _, at in new_over)
        left = self._classes(self._old, old, left_over, self._met_new)
        other = self._classes(self._new, new, new_over, self._met_old)
        for kind in _INPUTS:
            yield from self._kind(kind, old, new, left.get(kind, []), other.get(kind, []))

    def _answers(self, old: Turn, new: Turn) -> Iterator[Difference]:
        if old.outputs and new.outputs:
            right = self._numbers(new.outputs)
            if list(old.outputs) != right:
                left_over: list[_Place] = [(b, None) for b in old.outputs if b not in right]
                new_over: list[_Place] = [
                    (b, None)
                    for b, n in zip(new.outputs, right, strict=True)
                    if n not in old.outputs
                ]
                self._told_old.update(b for b, _ in left_over)
                self._told_new.update(self._numbers([b for b, _ in new_over]))
                left, other = self._said(self._old, left_over), self._said(self._new, new_over)
                for kind in _SAID:
                    yield from self._kind(kind, old, new, left.get(kind, []), other.get(kind, []))
        for name in ("error", "finish_reason"):
            values = getattr(old.call, name), getattr(new.call, name)
            if values[0] != values[1] and (name == "error" or None not in values):
                yield _differ("outcome", old, new, name, values)
                break

    def _kind(
        self, kind: Kind, old: Turn, new: Turn, left: list[_Place], right: list[_Place]
    ) -> Iterator[Difference]:
        """Blocks of one kind: those that are alike but for ids and times are put aside."""
        if not left and not right:
            return
        is_read = self._count < READ_DIFFERENCES
        if is_read:
            left, right = self._unlike(left, right)
        if kind == "tools" and is_read:
            left, right = self._by_name(left, right)
        for one, other in zip_longest(left, right):
            if (one is None or one[0] < 0) and (other is None or other[0] < 0):
                continue
            if is_read:
                yield self._between(kind, old, new, one, other)
            else:
                yield Difference(kind, old.seq, new.seq, old.agent, None, None)

    def _between(
        self, kind: Kind, old: Turn, new: Turn, one: _Place | None, other: _Place | None
    ) -> Difference:
        left = None if one is None or one[0] < 0 else self._text(self._old, one[0])
        right = None if other is None or other[0] < 0 else self._text(self._new, other[0])
        first = None if left is None or right is None else common_prefix(left, right)
        return Difference(
            kind,
            old.seq,
            new.seq,
            old.agent,
            None if left is None or one is None else self._side(self._old, old, one, first or 0),
            None
            if right is None or other is None
            else self._side(self._new, new, other, first or 0),
            _name(kind, left) or _name(kind, right),
            first,
        )

    def _by_name(
        self, left: list[_Place], right: list[_Place]
    ) -> tuple[list[_Place], list[_Place]]:
        """Schemas side by side by the tool that they declare; `NOTHING` where one side has none."""
        names: dict[object, list[_Place]] = {}
        for place in left:
            names.setdefault(schema_names(self._text(self._old, place[0])), []).append(place)
        first, second = [], []
        for place in right:
            waiting = names.get(schema_names(self._text(self._new, place[0])))
            first.append(waiting.pop(0) if waiting else NOTHING)
            second.append(place)
        rest = [place for places in names.values() for place in places]
        return [*first, *rest], [*second, *[NOTHING] * len(rest)]

    def _unlike(self, left: list[_Place], right: list[_Place]) -> tuple[list[_Place], list[_Place]]:
        waiting: dict[str, list[_Place]] = {}
        for place in left:
            waiting.setdefault(stable_text(self._text(self._old, place[0])), []).append(place)
        rest = []
        for place in right:
            alike = waiting.get(stable_text(self._text(self._new, place[0])))
            if alike:
                alike.pop(0)
                self.volatile += 1
            else:
                rest.append(place)
        still = {id(place) for places in waiting.values() for place in places}
        return [place for place in left if id(place) in still], rest

    def _classes(
        self, timeline: Timeline, turn: Turn, places: Iterable[_Place], met: set[int]
    ) -> dict[Kind, list[_Place]]:
        """Input blocks by what they are; `met` is what the other run has had before."""
        found: dict[Kind, list[_Place]] = {}
        is_new = timeline is self._new
        # What follows the model's last word is this turn's input, whatever was said before.
        asked = _answered(timeline, turn)
        history = min(asked, self._lengths[is_new])
        for block, at in places:
            number = self._translated[block] if is_new else block
            is_old = at is not None and ((number in met and at < asked) or at < history)
            kind = self._class(timeline, turn, (block, at), is_old=is_old)
            found.setdefault(kind, []).append((block, at))
        return found

    def _class(self, timeline: Timeline, turn: Turn, place: _Place, *, is_old: bool) -> Kind:
        block, at = place
        head = timeline.blocks[block]
        if head.kind == "tool_schema":
            return "tools"
        if is_prompt(head):
            return "system"
        if head.role == "assistant" and not timeline.has_outputs:
            return self._said_kind(timeline, head)
        if is_old or head.role == "assistant":
            return "context"
        assert at is not None
        is_result = head.role == "tool" or label_of(timeline, turn, at) == TOOL_OUTPUT
        return "tool_result" if is_result else "user_input"

    def _said(self, timeline: Timeline, places: Iterable[_Place]) -> dict[Kind, list[_Place]]:
        found: dict[Kind, list[_Place]] = {}
        for place in places:
            kind = self._said_kind(timeline, timeline.blocks[place[0]])
            found.setdefault(kind, []).append(place)
        return found

    def _said_kind(self, timeline: Timeline, head: BlockHead) -> Kind:
        is_call = head.opens_json and bool(tool_calls(timeline.text_of(head.content_hash)))
        return "tool_call" if is_call else "answer"

    def _numbers(self, blocks: Iterable[int]) -> list[int]:
        return list(map(self._translated.__getitem__, blocks))

    def _text(self, timeline: Timeline, block: int) -> str:
        return timeline.text_of(timeline.blocks[block].content_hash)

    def _side(self, timeline: Timeline, turn: Turn, place: _Place, first: int) -> Side:
        block, at = place
        start = max(first - BEFORE, 0)
        return Side(
            self._text(timeline, block)[start : first + AFTER],
            timeline.blocks[block].content_hash,
            None if at is None else turn.positions[at],
        )


_Place: TypeAlias = tuple[int, int | None]
"""A block and its index in the turn's inputs; None in an answer."""
NOTHING: _Place = (-1, None)
_INPUTS: tuple[Kind, ...] = (
    *("system", "tools", "context", "user_input", "tool_result", "tool_call", "answer"),
)
_SAID: tuple[Kind, ...] = ("tool_call", "answer")


def _answered(timeline: Timeline, turn: Turn) -> int:
    """Index behind the model's last block in the input."""
    for at in range(len(turn.inputs) - 1, -1, -1):
        if timeline.blocks[turn.inputs[at]].role == "assistant":
            return at + 1
    return 0


def _without(blocks: Iterable[int], before: frozenset[int]) -> list[int]:
    return [block for block in blocks if block not in before]


def _differ(
    kind: Kind, old: Turn, new: Turn, name: str | None, values: tuple[str | None, str | None]
) -> Difference:
    left, right = values
    return Difference(kind, old.seq, new.seq, old.agent, _value(left), _value(right), name)


def _value(text: str | None) -> Side | None:
    # Whole: a credential that is cut through could not be told from other text.
    return None if text is None else Side(text)


def _name(kind: Kind, text: str | None) -> str | None:
    if text is None:
        return None
    if kind == "tools":
        return next(iter(schema_names(text)), None)
    if kind == "tool_call":
        return next((call.name for call in tool_calls(text)), None)
    return None
