"""OpenAI Responses, also as Azure and compatible endpoints speak it.

Blocks in order: instructions, tools, then each input item: a message's content part by part, any
other item as one block. Items bear the role of who made them: see `_role_of_item`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from ctxdiff_capture.decoders.answer import LONGEST_MESSAGE, Answer, Fold, read_answer
from ctxdiff_capture.decoders.assemble import Outcome, call_of, text_or_none
from ctxdiff_capture.decoders.blocks import BlockMaker, id_of, role_of, tagged
from ctxdiff_capture.decoders.body import Body, read_body
from ctxdiff_capture.decoders.errors_by_status import error_type
from ctxdiff_capture.decoders.markers import breakpoints
from ctxdiff_capture.decoders.memory import Made, memory_of
from ctxdiff_capture.decoders.openai_responses_stream import folded
from ctxdiff_capture.model import Call, CallError, Exchange, Json, Placement
from ctxdiff_capture.tokens.counter import Counter

_CONTENT = frozenset(("instructions", "tools", "input"))
_KINDS = ("instructions", "tools", "input")
_FOLD = Fold(events=folded, error_type=error_type("openai"))
_TEXTS = ("input_text", "output_text")
_HELD_BY_SERVER = ("previous_response_id", "conversation", "prompt")
_MADE_BY_MODEL = frozenset(("reasoning", "compaction", "program", "mcp_approval_request"))
_UNFINISHED = frozenset(("queued", "in_progress"))


def decode(exchange: Exchange, *, seq: int, call_id: str, count: Counter) -> Call:
    """The call that `exchange` was. See `dispatch.decode`.

    Context that the provider adds from its own store is named in `metadata["hidden_context"]`.
    """
    maker = BlockMaker(count, exchange.provider or "openai", "openai")
    memory = memory_of(count)
    known_for = f"openai.responses {exchange.provider}"
    body = read_body(exchange.request, _CONTENT, memory.lists)

    def of_list(kind: str) -> Made:
        work = partial(_tool if kind == "tools" else _item, maker)
        return memory.of_list(known_for, kind, body.lists.get(kind, ()), work)

    answer = _with_failure(read_answer(exchange, _FOLD))
    outcome = _outcome(maker, answer, exchange)
    hidden = _hidden_context(body)
    return call_of(
        exchange,
        body,
        [made for kind in _KINDS for made in (*_text(maker, body, kind), of_list(kind))],
        answer,
        replace(outcome, metadata={"hidden_context": hidden}) if hidden else outcome,
        seq=seq,
        call_id=call_id,
        content_keys=_CONTENT,
    )


def _text(maker: BlockMaker, body: Body, kind: str) -> list[Made]:
    """The block of instructions or of an input that is given as one text."""
    text = body.fields.get(kind)
    if not isinstance(text, str) or kind == "tools" or (kind == "instructions" and not text):
        return []
    return [
        Made((maker.message("system" if kind == "instructions" else "user", text, f"/{kind}"),))
    ]


def _tool(maker: BlockMaker, tool: Json, path: str) -> Made:
    found = tuple((0, point) for point in breakpoints(tool, path))
    return Made((maker.tool_schema(tool, path),), found)


def _item(maker: BlockMaker, item: Json, path: str) -> Made:
    return Made(tuple(item_blocks(maker, item, path)))


def item_blocks(maker: BlockMaker, item: Json, path: str) -> Iterator[Placement]:
    """The blocks of one item, of a request or of an answer."""
    if not isinstance(item, Mapping):
        yield maker.part("user", item, path)
    elif "role" in item and item.get("type") in (None, "message"):
        yield from _message_blocks(maker, item, path)
    else:
        yield maker.part(_role_of_item(item), item, path, _id_of_item(item))


def _message_blocks(
    maker: BlockMaker, message: Mapping[str, Json], path: str
) -> Iterator[Placement]:
    role, content = role_of(message, "user"), message.get("content")
    if not isinstance(content, list):
        yield maker.message(role, content, f"{path}/content")
        return
    for index, part in enumerate(content):
        text = part.get("text") if isinstance(part, Mapping) else None
        is_text = isinstance(text, str) and part.get("type") in _TEXTS
        yield maker.part(role, text if is_text else part, f"{path}/content/{index}")


def _role_of_item(item: Mapping[str, Json]) -> str:
    """Who made an item: the model its calls and thoughts, a tool its outputs, else the user."""
    kind = item.get("type")
    if "role" in item:
        return role_of(item, "user")
    if not isinstance(kind, str):
        return "user"
    if kind.endswith("_call") or kind in _MADE_BY_MODEL:
        return "assistant"
    return "tool" if kind.endswith("_output") or kind == "mcp_list_tools" else "user"


def _id_of_item(item: Mapping[str, Json]) -> str | None:
    kind = item.get("type")
    if kind == "mcp_approval_response":
        return id_of(item, "approval_request_id")
    return id_of(item, "id") if kind == "mcp_approval_request" else id_of(item, "call_id")


def _hidden_context(body: Body) -> list[str]:
    """Names of what the request takes from the provider's store."""
    named = [name for name in _HELD_BY_SERVER if body.fields.get(name) is not None]
    items = (element.value for element in body.lists.get("input", ()))
    if any(isinstance(item, Mapping) and item.get("type") == "item_reference" for item in items):
        named.append("item_reference")
    return named


def _with_failure(answer: Answer) -> Answer:
    """The answer, with the error that it tells of itself; the SDK raises nothing for it."""
    told = answer.body.get("error")
    if answer.error is not None or not isinstance(told, Mapping):
        return answer
    message = text_or_none(told.get("message")) or text_or_none(told.get("code"))
    return replace(answer, error=CallError("ResponseError", message and message[:LONGEST_MESSAGE]))


def _outcome(maker: BlockMaker, answer: Answer, exchange: Exchange) -> Outcome:
    # The SDK sends every member that the answer set, null or not, so the items stay as they came.
    items = answer.body.get("output")
    outputs = [
        placement
        for index, item in enumerate(items if isinstance(items, list) else [])
        for placement in item_blocks(maker, item, f"/output/{index}")
    ]
    return Outcome(
        outputs=tagged(outputs, exchange.tags), finish_reason=_finish_reason(answer.body)
    )


def _finish_reason(answer: Mapping[str, Json]) -> str | None:
    """The status, for an incomplete answer what cut it off (`max_output_tokens`)."""
    status, details = text_or_none(answer.get("status")), answer.get("incomplete_details")
    if status == "incomplete" and isinstance(details, Mapping):
        return text_or_none(details.get("reason")) or status
    return None if status in _UNFINISHED else status
