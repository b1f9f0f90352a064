"""What a program said before a call, as the call will be stored with it."""

from __future__ import annotations

import json
from dataclasses import replace

from ctxdiff_capture.decoders import decode
from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.hooks.pending import Said
from ctxdiff_capture.hooks.shapes import shape_of
from ctxdiff_capture.hooks.snapshots import request_of
from ctxdiff_capture.model import Call, Decision, Draft, Exchange, Json, Stage
from ctxdiff_capture.tokens.counter import Counter


def with_said(call: Call, sent: Exchange, said: tuple[Said, ...], count: Counter) -> Call:
    """`call`, made from `sent`, with the stages and decisions that were `said` before it."""
    if not said:
        return call
    stages = []
    for draft in said:
        if isinstance(draft, Draft):
            # What was said badly must not cost the call.
            with host_never_sees("read what was held before a call"):
                stages.append(_stage(draft, sent, count))
    decisions = tuple(item for item in said if isinstance(item, Decision))
    return replace(call, stages=tuple(stages), decisions=decisions)


def _stage(draft: Draft, sent: Exchange, count: Counter) -> Stage:
    """Decoded as the request would have been, had it been sent like that."""
    body = shape_of(sent.surface).replaced(
        request_of(sent.request),
        json.loads(draft.messages),
        _value(draft.tools),
        _value(draft.system),
    )
    request = json.dumps(body).encode()
    planned = replace(sent, request=request, response=None, attempts=(), error=None, status=None)
    call = decode(planned, seq=1, call_id="", count=count)
    return Stage(draft.stage, draft.taken_at, call.inputs)


def _value(part: bytes | None) -> Json:
    return None if part is None else json.loads(part)
