"""Amazon Bedrock Converse and ConverseStream.

Blocks in order: system, tools, then each message's content part by part. A text is hashed bare,
anything else as its JSON. A `cachePoint` is a marker on the block before it and no block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ctxdiff_capture.decoders.addressed_model import with_model
from ctxdiff_capture.decoders.answer import Answer, Fold, read_answer
from ctxdiff_capture.decoders.assemble import Outcome, call_of, text_or_none
from ctxdiff_capture.decoders.bedrock_stream import folded
from ctxdiff_capture.decoders.blocks import BlockMaker, id_of, role_of, tagged
from ctxdiff_capture.decoders.body import Body, read_body
from ctxdiff_capture.decoders.errors_by_status import error_type
from ctxdiff_capture.decoders.eventstream import STARTS, stream_events
from ctxdiff_capture.decoders.markers import Breakpoint
from ctxdiff_capture.decoders.memory import Made, memory_of
from ctxdiff_capture.hashing import canonical_json
from ctxdiff_capture.model import Call, Exchange, Json, Placement
from ctxdiff_capture.tokens.counter import Counter

LISTS = frozenset(("system", "messages"))
_CONTENT = LISTS.union(("toolConfig", "inferenceConfig"))
_FOLD = Fold(events=folded, error_type=error_type("bedrock"), cut=stream_events, starts=STARTS)


def decode(exchange: Exchange, *, seq: int, call_id: str, count: Counter) -> Call:
    """The call that `exchange` was. See `dispatch.decode`.

    Params hold the members of `inferenceConfig` and `toolChoice` beside those of the request.
    """
    body = with_model(
        read_body(exchange.request, LISTS, memory_of(count).lists), exchange.url, "modelId"
    )
    answer = read_answer(exchange, _FOLD)
    return converse_call(exchange, body, answer, seq=seq, call_id=call_id, count=count)


def converse_call(
    exchange: Exchange, body: Body, answer: Answer, *, seq: int, call_id: str, count: Counter
) -> Call:
    """The call of a body in Converse's form, whichever operation carried it."""
    maker = BlockMaker(count, exchange.provider or "bedrock", "anthropic")
    memory = memory_of(count)
    known_for = f"bedrock.converse {exchange.provider}"

    def of_list(kind: str, work: Callable[[BlockMaker, Json, str], Made]) -> Made:
        return memory.of_list(known_for, kind, body.lists.get(kind, ()), partial(work, maker))

    config = body.fields.get("toolConfig")
    tools = memory.get(
        known_for, "/toolConfig", canonical_json(config), lambda: _tools(maker, config)
    )

    return call_of(
        exchange,
        replace(body, fields={**body.fields, **_settings(body)}),
        [of_list("system", _system_entry), tools, of_list("messages", _message)],
        answer,
        _outcome(maker, body, answer, exchange),
        seq=seq,
        call_id=call_id,
        content_keys=_CONTENT,
    )


def _system_entry(maker: BlockMaker, entry: Json, path: str) -> Made:
    def of_entry(entry: Json, path: str) -> Placement:
        text = entry.get("text") if isinstance(entry, Mapping) else entry
        return maker.message("system", text if isinstance(text, str) else entry, path)

    return _made([(entry, path)], of_entry)


def _tools(maker: BlockMaker, config: Json) -> Made:
    tools = config.get("tools") if isinstance(config, Mapping) else None

    def of_tool(tool: Json, path: str) -> Placement:
        spec = tool.get("toolSpec") if isinstance(tool, Mapping) else None
        return maker.tool_schema(spec or tool, path)

    return _made(_with_paths(tools, "/toolConfig/tools"), of_tool)


def _message(maker: BlockMaker, message: Json, path: str) -> Made:
    return content_of(maker, message, path, "user")


def content_of(maker: BlockMaker, message: Json, path: str, default_role: str) -> Made:
    """The blocks of one message, of a request or of an answer."""
    if not isinstance(message, Mapping):
        return Made((maker.message(default_role, message, path),))
    role, content = role_of(message, default_role), message.get("content")
    if isinstance(content, str):
        return Made((maker.part(role, content, f"{path}/content"),))

    def of_part(part: Json, path: str) -> Placement:
        if isinstance(part, Mapping) and set(part) == {"text"} and isinstance(part["text"], str):
            return maker.part(role, part["text"], path)
        return maker.part(role, part, path, _id_of(part))

    return _made(_with_paths(content, f"{path}/content"), of_part)


def _with_paths(entries: Json, path: str) -> list[tuple[Json, str]]:
    listed = entries if isinstance(entries, list) else []
    return [(entry, f"{path}/{index}") for index, entry in enumerate(listed)]


def _made(entries: Sequence[tuple[Json, str]], block_of: Callable[[Json, str], Placement]) -> Made:
    """Blocks of the entries; each `cachePoint` among them marks the block before it."""
    placements: list[Placement] = []
    points: list[tuple[int, Breakpoint]] = []
    for entry, path in entries:
        point = entry.get("cachePoint") if isinstance(entry, Mapping) else None
        if isinstance(point, Mapping):
            found = Breakpoint(f"{path}/cachePoint", text_or_none(point.get("ttl")))
            points.append((len(placements) - 1, found))
        else:
            placements.append(block_of(entry, path))
    return Made(tuple(placements), tuple(points))


def _id_of(part: Json) -> str | None:
    held = (part.get(key) for key in ("toolUse", "toolResult")) if isinstance(part, Mapping) else ()
    return next((known for inner in held if (known := id_of(inner, "toolUseId"))), None)


def _settings(body: Body) -> dict[str, Json]:
    """What the two nested objects say beside what became blocks, flat as ctxdiff keeps it."""
    sampling, tools = body.fields.get("inferenceConfig"), body.fields.get("toolConfig")
    settings = dict(sampling) if isinstance(sampling, Mapping) else {}
    if isinstance(tools, Mapping):
        settings |= {key: value for key, value in tools.items() if key != "tools"}
    return {k: v for k, v in settings.items() if v is not None and k not in _CONTENT}


def _outcome(maker: BlockMaker, body: Body, answer: Answer, exchange: Exchange) -> Outcome:
    output = answer.body.get("output")
    message = output.get("message") if isinstance(output, Mapping) else None
    outputs: tuple[Placement, ...] = ()
    if isinstance(message, Mapping):
        outputs = content_of(maker, message, "/output/message", "assistant").placements
    model = body.fields.get("modelId")
    # A managed prompt stands in the place of the model; its text is nowhere in the request.
    is_prompt = isinstance(model, str) and model.startswith("arn:") and ":prompt/" in model
    return Outcome(
        outputs=tagged(outputs, exchange.tags),
        finish_reason=text_or_none(answer.body.get("stopReason")),
        metadata={"hidden_context": ["prompt"]} if is_prompt else None,
    )
