"""Amazon Bedrock InvokeModel and InvokeModelWithResponseStream: each model's own JSON.

Anthropic's is that of its Messages API, Nova's is Converse's, others speak Chat Completions or
take one prompt (Llama, Mistral, DeepSeek, Titan).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from ctxdiff_capture.decoders import anthropic_stream, bedrock_stream, openai_chat_stream
from ctxdiff_capture.decoders.addressed_model import with_model
from ctxdiff_capture.decoders.answer import Answer, Fold, read_answer
from ctxdiff_capture.decoders.anthropic import messages_call
from ctxdiff_capture.decoders.assemble import Outcome, call_of
from ctxdiff_capture.decoders.bedrock_converse import converse_call
from ctxdiff_capture.decoders.blocks import BlockMaker, tagged
from ctxdiff_capture.decoders.body import Body, read_body
from ctxdiff_capture.decoders.errors_by_status import error_type
from ctxdiff_capture.decoders.eventstream import EXCEPTION, STARTS, stream_events
from ctxdiff_capture.decoders.memory import Made, memory_of
from ctxdiff_capture.decoders.openai_chat import chat_call
from ctxdiff_capture.model import Call, CallError, Exchange, Json, Placement
from ctxdiff_capture.tokens.counter import Counter

_LISTS = frozenset(("messages", "system", "tools"))
_PROMPTS = ("prompt", "inputText")
_TEXTS = ("generation", "completion", "outputText", "text")
_HOLDERS = ("outputs", "results", "choices")
"""Lists in whose first element a model's answer may be."""
_REASONS = ("stop_reason", "completionReason", "finish_reason")
_COUNTERS = ("prompt_token_count", "generation_token_count")
_METRICS = "amazon-bedrock-invocationMetrics"
"""What Bedrock adds to the last chunk of a stream."""

_Folded: TypeAlias = tuple[dict[str, Json], CallError | None]
_Events: TypeAlias = Callable[[list[dict[str, Json]]], _Folded]


def decode(exchange: Exchange, *, seq: int, call_id: str, count: Counter) -> Call:
    """The call that `exchange` was. See `dispatch.decode`."""
    body = with_model(
        read_body(exchange.request, _LISTS, memory_of(count).lists), exchange.url, "modelId"
    )
    exchange = replace(exchange, provider=exchange.provider or "bedrock")
    call, events = _form_of(body)
    fold = Fold(
        events=_or_exception(events),
        error_type=error_type("bedrock"),
        cut=stream_events,
        starts=STARTS,
    )
    answer = read_answer(exchange, fold)
    return call(exchange, body, answer, seq=seq, call_id=call_id, count=count)


def _form_of(body: Body) -> tuple[Callable[..., Call], _Events]:
    """How a body of this form becomes a call, and how its stream is folded."""
    fields = body.fields
    if "anthropic_version" in fields:
        return messages_call, anthropic_stream.folded
    if "schemaVersion" in fields or "inferenceConfig" in fields or _has_untyped_parts(body):
        return converse_call, bedrock_stream.folded
    if "messages" in body.lists:
        return chat_call, openai_chat_stream.folded
    return _prompt_call, _folded_prompt


def _has_untyped_parts(body: Body) -> bool:
    first = next((e.value for e in body.lists.get("messages", ())), None)
    content = first.get("content") if isinstance(first, Mapping) else None
    part = content[0] if isinstance(content, list) and content else None
    return isinstance(part, Mapping) and "type" not in part


def _or_exception(events: _Events) -> _Events:
    """`events`, told also of the errors that Bedrock puts between the model's chunks."""

    def folded(listed: list[dict[str, Json]]) -> _Folded:
        errors = [event[EXCEPTION] for event in listed if isinstance(event.get(EXCEPTION), dict)]
        answer, error = events([event for event in listed if EXCEPTION not in event])
        return answer, bedrock_stream.exception_of(errors[-1]) if errors else error

    return folded


def _prompt_call(
    exchange: Exchange, body: Body, answer: Answer, *, seq: int, call_id: str, count: Counter
) -> Call:
    """The call of a body whose whole input is one text."""
    maker = BlockMaker(count, exchange.provider, "anthropic")
    key = next((key for key in _PROMPTS if isinstance(body.fields.get(key), str)), None)
    made = [] if key is None else [Made((maker.message("user", body.fields[key], f"/{key}"),))]
    text, path = _generated(answer.body)
    outputs: list[Placement] = []
    if text is not None:
        outputs.append(maker.message("assistant", text, path))
    return call_of(
        exchange,
        body,
        made,
        replace(answer, body={**answer.body, "usage": _usage(answer.body)}),
        Outcome(tagged(outputs, exchange.tags), _reason(answer.body)),
        seq=seq,
        call_id=call_id,
        content_keys=frozenset((key,)) if key else frozenset(),
    )


def _holders(answer: Mapping[str, Json]) -> list[tuple[Mapping[str, Json], str]]:
    """Where an answer's text may be, with its pointer."""
    found: list[tuple[Mapping[str, Json], str]] = [(answer, "")]
    for name in _HOLDERS:
        listed = answer.get(name)
        if isinstance(listed, list) and listed and isinstance(listed[0], Mapping):
            found.append((listed[0], f"/{name}/0"))
    return found


def _generated(answer: Mapping[str, Json]) -> tuple[str | None, str]:
    for holder, path in _holders(answer):
        for name in _TEXTS:
            if isinstance(holder.get(name), str):
                return holder[name], f"{path}/{name}"
    return None, ""


def _reason(answer: Mapping[str, Json]) -> str | None:
    told = (holder.get(name) for holder, _ in _holders(answer) for name in _REASONS)
    return next((reason for reason in told if isinstance(reason, str)), None)


def _usage(answer: Mapping[str, Json]) -> Json:
    counted = {name: answer[name] for name in _COUNTERS if answer.get(name) is not None}
    return answer.get("usage") or counted or answer.get(_METRICS)


def _folded_prompt(chunks: list[dict[str, Json]]) -> _Folded:
    """The answer whose text the chunks spelled, with what else they said, the last one first."""
    answer: dict[str, Json] = {}
    texts: list[str] = []
    for chunk in chunks:
        text, _ = _generated(chunk)
        reason = _reason(chunk)
        texts += [text] if text is not None else []
        answer |= {k: v for k, v in chunk.items() if v is not None and k not in _HOLDERS}
        answer |= {"stop_reason": reason} if reason is not None else {}
    for name in _TEXTS:
        answer.pop(name, None)
    if texts:
        answer["generation"] = "".join(texts)
    return answer, None
