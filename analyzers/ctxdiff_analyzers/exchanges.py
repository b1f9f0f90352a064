"""Which tool call a result answers, and what stands in an agent's turn of each."""

from __future__ import annotations

from dataclasses import dataclass

from ctxdiff_analyzers.calling import BARE_ROLES, Asked, Result, asked_of, result_of
from ctxdiff_analyzers.content import schema_names
from ctxdiff_analyzers.schemas import NEVER_CALLS
from ctxdiff_analyzers.timeline import Timeline, Turn

LOOK_BACK = 400
"""Blocks before a result among which its call is looked for."""
RESULT_ROLES = frozenset(("user", "assistant", "tool", "function"))


@dataclass(frozen=True, slots=True)
class Given:
    """A tool result at its place in a turn."""

    index: int
    """Into the turn's inputs."""
    result: Result
    call: Asked | None
    """The call that it answers, where that stands before it."""

    @property
    def name(self) -> str | None:
        """The tool's name. Captured text."""
        return self.call.name if self.call is not None else self.result.name


def call_at(timeline: Timeline, block: int) -> Asked | None:
    """The tool call that a block is; None for what the model did not write."""
    head = timeline.blocks[block]
    if head.role in NEVER_CALLS or not head.opens_json or head.kind not in _kinds(timeline):
        return None
    return timeline.fact("asked", block, asked_of)


def result_at(timeline: Timeline, block: int) -> Result | None:
    """The tool result that a block is. Not remembered, since it may be large."""
    head = timeline.blocks[block]
    if not may_be_result(timeline, block):
        return None
    return result_of(timeline.text_of(head.content_hash), head.role)


def may_be_result(timeline: Timeline, block: int) -> bool:
    """False where the block's head shows that it is no tool result."""
    head = timeline.blocks[block]
    if head.kind not in ("message", "content_part") or head.role not in RESULT_ROLES:
        return False
    return head.role in BARE_ROLES or head.opens_json


def given_at(timeline: Timeline, turn: Turn, index: int) -> Given | None:
    """The tool result at `index` of the turn's inputs, with its call."""
    found = result_at(timeline, turn.inputs[index])
    if found is None:
        return None
    wanted = found.id
    if wanted is None and turn.positions:
        wanted = timeline.detail(turn).tool_call_ids.get(turn.positions[index])
    return Given(index, found, _call_before(timeline, turn, index, wanted, found.name))


def answered(timeline: Timeline, turn: Turn, end: int | None = None) -> int:
    """Index behind the model's last block before `end`: what follows is new to the model."""
    at = len(turn.inputs) if end is None else end
    while at and not is_models(timeline, turn.inputs[at - 1]):
        at -= 1
    return at


def is_models(timeline: Timeline, block: int) -> bool:
    """True for what the model said or asked."""
    head = timeline.blocks[block]
    return head.role == "assistant" and head.kind != "tool_schema"


def offered_names(timeline: Timeline, turn: Turn) -> frozenset[str]:
    """Names of the tools that the request offers."""
    return frozenset(
        name
        for block in turn.inputs
        if timeline.blocks[block].kind == "tool_schema"
        for name in timeline.fact("schema names", block, schema_names)
    )


def schemas_met(timeline: Timeline) -> dict[int, int]:
    """Every tool schema block of the turns, with the turn (`seq`) at which it first stood."""
    schemas = timeline.known(
        "schema blocks",
        lambda: frozenset(i for i, b in enumerate(timeline.blocks) if b.kind == "tool_schema"),
    )
    return timeline.remembered("schemas met", lambda: timeline.present(schemas))


def _call_before(
    timeline: Timeline, turn: Turn, index: int, wanted: str | None, name: str | None
) -> Asked | None:
    for at in range(index - 1, max(-1, index - 1 - LOOK_BACK), -1):
        call = call_at(timeline, turn.inputs[at])
        if call is None:
            continue
        if call.id == wanted if wanted is not None and call.id is not None else call.name == name:
            return call
    return None


def _kinds(timeline: Timeline) -> tuple[str, ...]:
    # A call is a part of its own; whole messages are read in files that other programs wrote.
    return ("content_part",) if timeline.has_outputs else ("content_part", "message")
