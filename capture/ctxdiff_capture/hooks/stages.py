"""What a program said before a call, as the call will be stored with it."""

from __future__ import annotations

import json
from dataclasses import replace

from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.hooks.fate import fate_of, text_of_result
from ctxdiff_capture.hooks.langchain_messages import langchain_objects, request_body
from ctxdiff_capture.hooks.shapes import shape_of
from ctxdiff_capture.hooks.snapshots import request_of
from ctxdiff_capture.model import (
    Block,
    Call,
    Decision,
    Draft,
    Exchange,
    Json,
    Placement,
    Said,
    Stage,
    ToolResult,
)
from ctxdiff_capture.tokens.counter import Counter


def with_said(call: Call, sent: Exchange, said: tuple[Said, ...], count: Counter) -> Call:
    """`call`, made from `sent`, with the stages and decisions that were `said` before it."""
    if not said:
        return call
    stages: list[Stage] = []
    decisions: list[Decision] = []
    for item in said:
        # What was said badly must not cost the call.
        with host_never_sees("read what was said before a call"):
            if isinstance(item, Decision):
                decisions.append(item)
            elif isinstance(item, Draft):
                stages.append(_stage(item, sent, count))
            elif isinstance(item, ToolResult):
                stage, decision = _compared(item, call.provider, count)
                stages += stage
                decisions.append(decision)
    return replace(call, stages=tuple(stages), decisions=tuple(decisions))


def _stage(draft: Draft, sent: Exchange, count: Counter) -> Stage:
    """Decoded as the request would have been, had it been sent like that."""
    messages, request = json.loads(draft.messages), request_of(sent.request)
    shape = shape_of(sent.surface)
    held = langchain_objects(messages)
    if held is not None:
        # In the provider's form; a system message may stand outside of the others there.
        request = {**request, **request_body(sent.surface, held, None)}
        messages = shape.messages_of(request)
    body = shape.replaced(request, messages, _value(draft.tools), _value(draft.system))
    planned = replace(
        sent, request=json.dumps(body).encode(), response=None, attempts=(), error=None, status=None
    )
    call = decode(planned, seq=1, call_id="", count=count)
    return Stage(draft.stage, draft.taken_at, call.inputs)


def _compared(result: ToolResult, provider: str, count: Counter) -> tuple[list[Stage], Decision]:
    """The raw result, unless it entered the history as it was, and what became of it."""
    raw, entered = _value(result.raw), _value(result.entered)
    fate = fate_of(raw, entered)
    text, kept = text_of_result(raw), len(text_of_result(entered))
    content_hash = digest_of("tool", "message", text)
    tokens, method = count.count(text, provider, content_hash)
    block = Block(content_hash, "tool", "message", text, tokens, method)
    placed = Placement(block, "tool_output", tool_call_id=result.tool_call_id)
    return (
        [] if fate == "unchanged" else [Stage("tool_result", result.taken_at, (placed,))],
        Decision(
            candidate=result.name or result.tool_call_id or "tool result",
            disposition=fate,
            reason=f"{kept} characters entered the history, the tool gave {len(text)}",
            tokens=tokens,
        ),
    )


def _value(part: bytes | None) -> Json:
    return None if part is None else json.loads(part)
