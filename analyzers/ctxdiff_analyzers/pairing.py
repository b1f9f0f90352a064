"""Which tool result answers which tool call inside one request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxdiff_analyzers.calling import BARE_ROLES, asked_of, result_of
from ctxdiff_analyzers.timeline import Timeline, Turn

RESULT_ROLES = BARE_ROLES | {"user"}
"""Who may bring a result. What stands in the model's own message is the provider's business."""
HELD_HISTORY = frozenset(
    ("previous_response_id", "conversation", "item_reference", "cached_content", "prompt")
)
"""Kinds of hidden context in which the call of a result may stand."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in a request. Captured text."""

    index: int
    """Of the turn's inputs; likewise below."""
    id: str | None
    name: str
    key: str
    """Tool and arguments in one spelling: the same for the same question."""
    is_hosted: bool
    """True where the provider runs the tool."""


@dataclass(frozen=True, slots=True)
class Result:
    """A tool result in a request."""

    index: int
    id: str | None
    call: Call | None
    """The call that it answers, which stands before it."""
    is_orphan: bool
    """True when the request shows that no call before it is its own."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The tool calls and results of one request, each in order."""

    calls: tuple[Call, ...]
    results: tuple[Result, ...]
    unanswered: tuple[Call, ...]
    """Calls that something other than the model follows, without a result."""

    def result_at(self, index: int) -> Result | None:
        """The result that the input at `index` is."""
        return next((result for result in self.results if result.index == index), None)


@dataclass(frozen=True, slots=True)
class _Sketch:
    """What is remembered of a block: no text, which may be long."""

    call: tuple[str | None, str, str, bool] | None = None
    result: tuple[str | None, str | None] | None = None


def pairs(timeline: Timeline, turn: Turn) -> Pairs:
    """The turn's pairs, by id, where there is none by name and order.

    A result is no orphan where the provider holds a part of the history, nor where neither an id
    nor a name tells whose it is.
    """
    return timeline.known(f"pairs {turn.call.id}", lambda: _pairs(timeline, turn))


def _pairs(timeline: Timeline, turn: Turn) -> Pairs:
    detail = timeline.detail(turn)
    hidden = detail.metadata.get("hidden_context", ())
    is_held = bool(HELD_HISTORY.intersection(hidden if isinstance(hidden, list | tuple) else ()))
    calls: list[Call] = []
    results: list[Result] = []
    waiting: defaultdict[str, list[Call]] = defaultdict(list)
    by_id: dict[str, Call] = {}
    is_model = False
    for index, block in enumerate(turn.inputs):
        is_model, was_model = timeline.blocks[block].role == "assistant", is_model
        if is_model and not was_model:
            # By name alone a result answers what the model asked for last.
            waiting.clear()
        known = detail.tool_call_ids.get(turn.positions[index])
        sketch = _sketch(timeline, block, is_known=known is not None)
        if sketch.call is not None:
            own, name, key, is_hosted = sketch.call
            call = Call(index, own or known, name, key, is_hosted)
            calls.append(call)
            waiting[name].append(call)
            if call.id is not None:
                by_id[call.id] = call
        elif sketch.result is not None:
            own, told = sketch.result
            result_id = own or known
            found = _call_of(result_id, told, by_id, waiting)
            is_told = result_id is not None or told is not None
            results.append(Result(index, result_id, found, found is None and is_told))
    if is_held:
        results = [Result(one.index, one.id, one.call, False) for one in results]
    unanswered: list[Call] = []
    # A result of which neither id nor name is known may be anyone's.
    if all(one.call is not None or one.is_orphan or is_held for one in results):
        answered = {result.call for result in results}
        end = _last_of_others(timeline, turn)
        unanswered = [
            call
            for call in calls
            if call not in answered and not call.is_hosted and call.index < end
        ]
    return Pairs(tuple(calls), tuple(results), tuple(unanswered))


def _call_of(
    result_id: str | None,
    name: str | None,
    by_id: Mapping[str, Call],
    waiting: Mapping[str, list[Call]],
) -> Call | None:
    if result_id is not None and result_id in by_id:
        return by_id[result_id]
    queue = waiting.get(name, []) if name is not None else []
    # An id that only one side bears says nothing.
    fits = [call for call in queue if call.id is None or result_id is None]
    if not fits:
        return None
    queue.remove(fits[0])
    return fits[0]


def _sketch(timeline: Timeline, block: int, *, is_known: bool) -> _Sketch:
    head = timeline.blocks[block]
    if head.kind == "tool_schema":
        return _Sketch()
    # A result may be long, and its text is not needed where the id is known.
    if head.role in BARE_ROLES and (is_known or head.kind == "message"):
        return _Sketch(result=(None, None))
    if not head.opens_json:
        return _Sketch()
    if head.role == "assistant":
        return timeline.fact("asks", block, _asks)
    if head.role in RESULT_ROLES:
        return timeline.fact("answers", block, lambda text: _answers(text, head.role))
    return _Sketch()


def _asks(text: str) -> _Sketch:
    asked = asked_of(text)
    if asked is None:
        return _Sketch()
    return _Sketch(call=(asked.id, asked.name, f"{asked.name} {asked.arguments}", asked.is_hosted))


def _answers(text: str, role: str) -> _Sketch:
    result = result_of(text, role)
    return _Sketch() if result is None else _Sketch(result=(result.id, result.name))


def _last_of_others(timeline: Timeline, turn: Turn) -> int:
    """Index of the last block that was not said by the model."""
    heads: Sequence[int] = turn.inputs
    return max(
        (
            index
            for index, block in enumerate(heads)
            if timeline.blocks[block].role in RESULT_ROLES
            and timeline.blocks[block].kind != "tool_schema"
        ),
        default=-1,
    )
