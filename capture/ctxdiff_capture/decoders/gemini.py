"""Gemini `generateContent`, at AI Studio and Vertex, plain and streamed.

Blocks in order: system instruction, tools, then the contents part by part. A part that is a text
and nothing else is that text; any other is its JSON as the Python SDK spells it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from ctxdiff_capture.decoders.addressed_model import with_model
from ctxdiff_capture.decoders.answer import Answer, Fold, read_answer
from ctxdiff_capture.decoders.assemble import Outcome, call_of, text_or_none
from ctxdiff_capture.decoders.blocks import BlockMaker, id_of, role_of, tagged
from ctxdiff_capture.decoders.body import Body, read_body
from ctxdiff_capture.decoders.errors_by_status import error_type
from ctxdiff_capture.decoders.gemini_spelling import member, sdk_spelling, snake_case
from ctxdiff_capture.decoders.gemini_stream import STARTS, chunks, folded
from ctxdiff_capture.decoders.memory import Made, memory_of
from ctxdiff_capture.model import Call, Exchange, Json, Placement
from ctxdiff_capture.tokens.counter import Counter

_LISTS = frozenset(("contents", "tools"))
_SYSTEM = ("systemInstruction", "system_instruction")
_CONTENT = _LISTS.union(_SYSTEM)
_CONFIGS = ("generationConfig", "generation_config")
_FOLD = Fold(events=folded, error_type=error_type("google"), cut=chunks, starts=STARTS)


def decode(exchange: Exchange, *, seq: int, call_id: str, count: Counter) -> Call:
    """The call that `exchange` was. See `dispatch.decode`.

    Params are flat and in snake case, as in the SDK's `config`: `temperature`, `max_output_tokens`.
    So is usage, whole: ctxdiff knows it as `prompt_token_count`.
    """
    maker = BlockMaker(count, exchange.provider or "gemini", "gemini")
    memory = memory_of(count)
    known_for = f"gemini.generate_content {exchange.provider}"
    body = with_model(read_body(exchange.request, _LISTS, memory.lists), exchange.url, "model")

    def of_list(kind: str, work: Callable[[BlockMaker, Json, str], Made]) -> Made:
        return memory.of_list(known_for, kind, body.lists.get(kind, ()), partial(work, maker))

    answer = read_answer(exchange, _FOLD)
    return call_of(
        exchange,
        replace(body, fields=_params(body.fields)),
        [
            Made(tuple(_instruction(maker, body))),
            of_list("tools", _tool),
            of_list("contents", _content),
            *_lone_contents(maker, body),
        ],
        _in_common_form(answer),
        _outcome(maker, body, answer, exchange),
        seq=seq,
        call_id=call_id,
        content_keys=_CONTENT,
    )


def _instruction(maker: BlockMaker, body: Body) -> Iterator[Placement]:
    """One system message per text, whatever form the instruction has."""
    key = next((key for key in _SYSTEM if body.fields.get(key)), None)
    if key is None:
        return
    value = body.fields[key]
    if isinstance(value, str):
        yield maker.message("system", value, f"/{key}")
        return
    is_content = isinstance(value, Mapping) and "parts" in value
    parts, where = (value["parts"], f"/{key}/parts") if is_content else (value, f"/{key}")
    for index, part in enumerate(parts if isinstance(parts, list) else [parts]):
        text = _only_text(part)
        if text is not None:
            yield maker.message("system", text, f"{where}/{index}")
        else:
            yield maker.part("system", sdk_spelling(part), f"{where}/{index}")


def _lone_contents(maker: BlockMaker, body: Body) -> list[Made]:
    contents = body.fields.get("contents")
    return [_content(maker, contents, "/contents")] if contents else []


def _tool(maker: BlockMaker, tool: Json, path: str) -> Made:
    return Made((maker.tool_schema(sdk_spelling(tool), path),))


def _content(maker: BlockMaker, content: Json, path: str) -> Made:
    return Made(tuple(content_blocks(maker, content, path, "user")))


def content_blocks(
    maker: BlockMaker, content: Json, path: str, default_role: str
) -> Iterator[Placement]:
    """The blocks of one content, of a request or of an answer."""
    if not isinstance(content, Mapping):
        yield maker.message(default_role, content, path)
        return
    role = role_of(content, default_role)
    role = "assistant" if role == "model" else role
    parts = content.get("parts")
    if isinstance(parts, list):
        for index, part in enumerate(parts):
            yield _part(maker, role, part, f"{path}/parts/{index}")
    elif parts is not None or "role" not in content:
        # A part that stands for a content, as the SDK takes it.
        lone = content if parts is None else parts
        yield _part(maker, role, lone, path)


def _part(maker: BlockMaker, role: str, part: Json, path: str) -> Placement:
    text = _only_text(part)
    if text is not None:
        return maker.part(role, text, path)
    spelled = sdk_spelling(part)
    joined = ("function_call", "function_response") if isinstance(spelled, Mapping) else ()
    found = (id_of(spelled.get(key), "id") for key in joined)
    return maker.part(role, spelled, path, next((known for known in found if known), None))


def _only_text(part: Json) -> str | None:
    """The text of a part that is nothing else: no thought, without a signature."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return None
    said = {key for key, value in part.items() if value is not None and value is not False}
    return text_or_none(part["text"]) if said == {"text"} else None


def _params(fields: Mapping[str, Json]) -> dict[str, Json]:
    params: dict[str, Json] = {}
    for key, value in fields.items():
        if key in _CONFIGS and isinstance(value, Mapping):
            params |= {snake_case(name): inner for name, inner in value.items()}
        else:
            params[key if key in _CONTENT else snake_case(key)] = value
    return params


def _in_common_form(answer: Answer) -> Answer:
    body = answer.body
    common = {
        "id": member(body, "responseId"),
        "model": member(body, "modelVersion"),
        "usage": sdk_spelling(member(body, "usageMetadata")),
    }
    return replace(answer, body=common)


def _outcome(maker: BlockMaker, body: Body, answer: Answer, exchange: Exchange) -> Outcome:
    listed = answer.body.get("candidates")
    candidates = [c for c in listed if isinstance(c, Mapping)] if isinstance(listed, list) else []
    outputs = [
        placement
        for index, candidate in enumerate(candidates)
        if candidate.get("content")
        for placement in content_blocks(
            maker, candidate["content"], f"/candidates/{index}/content", "model"
        )
    ]
    blocked = text_or_none(member(member(answer.body, "promptFeedback"), "blockReason"))
    reason = text_or_none(member(candidates[0], "finishReason")) if candidates else None
    hidden = member(body.fields, "cachedContent") is not None
    return Outcome(
        outputs=tagged(outputs, exchange.tags),
        finish_reason=reason or blocked,
        metadata={
            **({"hidden_context": ["cached_content"]} if hidden else {}),
            **({"block_reason": blocked} if blocked else {}),
        },
    )
