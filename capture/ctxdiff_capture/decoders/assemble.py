"""A call from what a surface's decoder found, the same for every surface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from itertools import chain

from ctxdiff_capture.decoders.answer import Answer
from ctxdiff_capture.decoders.blocks import tagged
from ctxdiff_capture.decoders.body import Body
from ctxdiff_capture.decoders.credentials import MASK, Masking, may_hold_one
from ctxdiff_capture.decoders.memory import Made
from ctxdiff_capture.model import Attempt, Call, CallError, Exchange, Json, Marker, Placement


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a surface's decoder read from the answer."""

    outputs: tuple[Placement, ...] = ()
    finish_reason: str | None = None
    metadata: Mapping[str, Json] | None = None
    """What blocks cannot hold, such as a refusal."""


def call_of(
    exchange: Exchange,
    body: Body,
    made: Sequence[Made],
    answer: Answer,
    outcome: Outcome,
    *,
    seq: int,
    call_id: str,
    content_keys: frozenset[str],
) -> Call:
    """The call, with `made` as its inputs in order.

    `content_keys` are the members of the body that became blocks and are no parameters.
    """
    inputs = tagged(tuple(chain.from_iterable(m.placements for m in made)), exchange.tags)
    masking = Masking()
    params = masking.masked({k: v for k, v in body.fields.items() if k not in content_keys})
    if any(MASK in p.block.text for p in _schemas(made)):
        for tool in body.lists.get("tools", ()):
            masking.tool(tool.value)
    reply = answer.body
    usage = reply.get("usage")
    error = answer.error
    if error is not None and error.message is not None:
        error = replace(error, message=masking.without(error.message))
    attempts = _attempts(exchange, error)
    # A body with a credential in it is not kept; the recorder keys its digest.
    is_unread = body.problem is not None and may_hold_one(exchange.request)
    may_keep = not (masking or exchange.is_altered or is_unread)
    notes = {"problem": body.problem} if body.problem else {}
    return Call(
        id=call_id,
        seq=seq,
        provider=exchange.provider or exchange.surface.partition(".")[0],
        surface=exchange.surface,
        inputs=inputs,
        params=params,
        outputs=outcome.outputs,
        markers=tuple(_markers(made, body.fields)),
        usage=usage if isinstance(usage, Mapping) else None,
        finish_reason=outcome.finish_reason,
        response_id=text_or_none(reply.get("id")),
        response_model=text_or_none(reply.get("model")),
        request_id=exchange.request_id,
        error=error,
        attempts=attempts,
        agent=exchange.agent,
        step=exchange.step,
        tags=exchange.tags,
        started_at=attempts[0].started_at,
        first_byte_ms=_since_first(exchange, exchange.first_byte_ms),
        latency_ms=_since_first(exchange, exchange.latency_ms),
        endpoint=exchange.url,
        request_pieces=body.pieces if may_keep else None,
        request_digest=body.digest or sha256(exchange.request).hexdigest(),
        metadata={**exchange.metadata, **(outcome.metadata or {}), **notes},
    )


def undecoded(exchange: Exchange, *, seq: int, call_id: str) -> Call:
    """The call of a body that is nested too deeply: kept for replay, without blocks."""
    pieces = (exchange.request,) if exchange.request else ()
    body = Body(pieces, problem="the request or the answer is nested too deeply")
    answer = Answer(error=exchange.error)
    return call_of(
        exchange, body, (), answer, Outcome(), seq=seq, call_id=call_id, content_keys=frozenset()
    )


def text_or_none(value: Json) -> str | None:
    """`value` when it is a text."""
    return value if isinstance(value, str) else None


def _schemas(made: Sequence[Made]) -> Iterator[Placement]:
    """The tools: a list of theirs holds nothing else, and no other list is looked through."""
    for element in made:
        if element.placements and element.placements[0].label == "tool_schema":
            yield from element.placements


def _markers(made: Sequence[Made], fields: Mapping[str, Json]) -> list[Marker]:
    markers, position = [], 0
    for element in made:
        markers += [
            Marker(_place(position + index), found.path, found.ttl)
            for index, found in element.breakpoints
        ]
        position += len(element.placements)
    automatic = fields.get("cache_control")
    if isinstance(automatic, Mapping):
        markers.append(Marker(None, "/cache_control", text_or_none(automatic.get("ttl"))))
    return markers


def _place(position: int) -> int | None:
    """A breakpoint before the first block stands at the top."""
    return position if position >= 0 else None


def _attempts(exchange: Exchange, error: CallError | None) -> tuple[Attempt, ...]:
    earlier = exchange.attempts
    last = Attempt(
        number=len(earlier) + 1,
        started_at=exchange.started_at,
        latency_ms=exchange.latency_ms,
        status=exchange.status,
        error=error,
    )
    return (*(replace(a, number=n) for n, a in enumerate(earlier, 1)), last)


def _since_first(exchange: Exchange, duration_ms: int | None) -> int | None:
    """`duration_ms` of the last sending, counted from the first one."""
    if duration_ms is None or not exchange.attempts:
        return duration_ms
    try:
        first, last = map(
            datetime.fromisoformat, (exchange.attempts[0].started_at, exchange.started_at)
        )
        return duration_ms + max(0, int((last - first).total_seconds() * 1000))
    except (ValueError, TypeError):
        return duration_ms
