"""A stored call as the context snapshot of one invocation, for other tools, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import Protocol

from ctxdiff_capture.errors import TraceNotFound
from ctxdiff_capture.hooks.context_state import ContextState, context_state
from ctxdiff_capture.model import (
    CallDetail,
    CallHead,
    Decision,
    Json,
    Placement,
    Recording,
    Stage,
)


class Trace(Protocol):
    """What is asked of an open trace."""

    def load(self, session_id: str, seqs: Sequence[int] | None = None) -> Recording:
        """A session without its texts."""

    def inputs(self, call_id: str) -> tuple[Placement, ...]:
        """A call's input blocks with their texts, in order."""

    def detail(self, call_id: str) -> CallDetail:
        """What is stored about one call beyond its head and blocks."""

    def stages(self, call_id: str) -> tuple[Stage, ...]:
        """What the program held at stages before a call."""

    def decisions(self, call_id: str) -> tuple[Decision, ...]:
        """What the program's planner decided before a call."""


@dataclass(frozen=True, slots=True)
class Part:
    """One block of a message."""

    kind: str
    """`message` is a whole text, `content_part` is JSON, `image` stands for a picture."""
    text: str
    label: str
    tokens: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the prompt, as stored: what was redacted stays so."""

    role: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ModelInvocationContextSnapshot:
    """What one invocation of a model was given. Retries of an invocation share one."""

    id: str
    session_id: str
    turn_id: str
    """The same for all invocations that serve one message of the user; empty when unknown."""
    invocation_id: str
    """Id of the call."""
    iteration: int
    """1 for the first invocation of a turn."""
    messages: tuple[Message, ...]
    decisions: tuple[Decision, ...]
    stable_prefix_messages: int
    """How many messages at the beginning are those of the agent's call before."""
    context_state: ContextState
    metadata: Mapping[str, Json] = field(default_factory=dict)


def invocation_snapshot(trace: Trace, session_id: str, seq: int) -> ModelInvocationContextSnapshot:
    """The snapshot of turn `seq`.

    Turn and iteration are read from the prompt itself: a turn begins with a message of the user
    that is no tool result, and each answer of the model after it is an iteration that has ended.
    Where a provider keeps the history (`previous_response_id`), each call is a first iteration.

    Raises:
        TraceNotFound: no such session or turn.
    """
    heads = trace.load(session_id).calls
    head = next((call for call in heads if call.seq == seq), None)
    if head is None:
        raise TraceNotFound(f"no turn {seq} in this session", remedy="list its turns")
    placements = trace.inputs(head.id)
    messages = tuple(_messages(placements))
    before = next((c for c in reversed(heads) if c.seq < seq and c.agent == head.agent), None)
    earlier = tuple(_messages(trace.inputs(before.id))) if before else ()
    turn, iteration = _place_in_turn(placements)
    return ModelInvocationContextSnapshot(
        id=f"{session_id}:{seq}",
        session_id=session_id,
        turn_id=f"{session_id}:{head.agent or ''}:{turn}" if turn else "",
        invocation_id=head.id,
        iteration=iteration,
        messages=messages,
        decisions=trace.decisions(head.id),
        stable_prefix_messages=_common(earlier, messages),
        context_state=context_state(head.params, placements),
        metadata=_metadata(head, trace, placements),
    )


def _messages(placements: Sequence[Placement]) -> Iterator[Message]:
    for _, group in groupby(_with_owner(placements), key=lambda pair: pair[0]):
        members = [placement for _, placement in group]
        yield Message(members[0].block.role, tuple(map(_part, members)))


def _with_owner(placements: Sequence[Placement]) -> Iterator[tuple[tuple[object, ...], Placement]]:
    """Each block that is no tool with a key that is the message's own."""
    for index, placement in enumerate(placements):
        block = placement.block
        if block.kind == "tool_schema":
            continue
        # `/messages/3/content/0`: the first two steps name the message.
        steps = placement.path.split("/")[1:3]
        if placement.path:
            yield (*steps,), placement
        else:
            yield (index if block.kind == "message" else block.role,), placement


def _part(placement: Placement) -> Part:
    block = placement.block
    return Part(block.kind, block.text, placement.label, block.token_count, block.content_hash)


def _place_in_turn(placements: Sequence[Placement]) -> tuple[int, int]:
    """How many messages of the user there are, and the iteration since the last one."""
    runs: list[str] = []
    for _, group in groupby(_with_owner(placements), key=lambda pair: pair[0]):
        members = [placement for _, placement in group]
        role = members[0].block.role
        asked = role == "user" and not all(map(_is_tool_result, members))
        kind = "asked" if asked else "answered" if role == "assistant" else "other"
        # Parallel calls of one answer may stand as several messages.
        if kind != "answered" or runs[-1:] != ["answered"]:
            runs.append(kind)
    since = takewhile(lambda kind: kind != "asked", reversed(runs))
    return runs.count("asked"), 1 + sum(kind == "answered" for kind in since)


def _is_tool_result(placement: Placement) -> bool:
    opening = placement.block.text[:40]
    return placement.tool_call_id is not None or opening.startswith(
        ('{"function_response"', '{"toolResult"')
    )


def _common(earlier: Sequence[Message], later: Sequence[Message]) -> int:
    pairs = zip(earlier, later, strict=False)
    return sum(1 for _ in takewhile(lambda pair: _identity(pair[0]) == _identity(pair[1]), pairs))


def _identity(message: Message) -> tuple[str, ...]:
    return tuple(part.content_hash for part in message.parts)


def _metadata(head: CallHead, trace: Trace, placements: Sequence[Placement]) -> dict[str, Json]:
    detail = trace.detail(head.id)
    known: dict[str, Json] = {
        "provider": head.provider,
        "surface": head.surface,
        "model": head.params.get("model", head.params.get("modelId")),
        "responseModel": head.response_model,
        "agent": head.agent,
        "step": head.step,
        "startedAt": head.started_at,
        "endpoint": detail.endpoint,
        "attempts": head.attempts,
        "usage": None if head.usage is None else dict(head.usage),
        "finishReason": head.finish_reason,
        "error": head.error,
        "requestDigest": head.request_digest,
        "tools": [p.block.text for p in placements if p.block.kind == "tool_schema"] or None,
        "stages": [stage.name for stage in trace.stages(head.id)] or None,
        "params": dict(head.params) or None,
    }
    present = {name: value for name, value in known.items() if value is not None}
    # Own copies, of JSON's own types.
    copied: dict[str, Json] = json.loads(json.dumps(present))
    return copied
