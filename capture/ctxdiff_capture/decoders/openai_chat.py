"""OpenAI Chat Completions, also as Azure and compatible endpoints speak it.

Blocks in order: tools, then each message: its content (parts one by one), then its tool calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ctxdiff_capture.decoders.answer import Answer, Fold, read_answer
from ctxdiff_capture.decoders.assemble import Outcome, call_of, text_or_none
from ctxdiff_capture.decoders.blocks import BlockMaker, id_of, role_of, tagged
from ctxdiff_capture.decoders.body import Body, read_body
from ctxdiff_capture.decoders.errors_by_status import error_type
from ctxdiff_capture.decoders.markers import breakpoints
from ctxdiff_capture.decoders.memory import Made, memory_of
from ctxdiff_capture.decoders.openai_chat_stream import folded
from ctxdiff_capture.model import Call, Exchange, Json, Placement
from ctxdiff_capture.tokens.counter import Counter

_CONTENT = frozenset(("messages", "tools"))
_FOLD = Fold(events=folded, error_type=error_type("openai"))


def decode(exchange: Exchange, *, seq: int, call_id: str, count: Counter) -> Call:
    """The call that `exchange` was. See `dispatch.decode`."""
    body = read_body(exchange.request, _CONTENT, memory_of(count).lists)
    answer = read_answer(exchange, _FOLD)
    return chat_call(exchange, body, answer, seq=seq, call_id=call_id, count=count)


def chat_call(
    exchange: Exchange, body: Body, answer: Answer, *, seq: int, call_id: str, count: Counter
) -> Call:
    """The call of a body in the form of Chat Completions, whoever carried it."""
    maker = BlockMaker(count, exchange.provider or "openai", "openai")
    memory = memory_of(count)
    known_for = f"openai.chat {exchange.provider}"

    def of_list(kind: str, work: Callable[[BlockMaker, Json, str], Made]) -> Made:
        return memory.of_list(known_for, kind, body.lists.get(kind, ()), partial(work, maker))

    return call_of(
        exchange,
        body,
        [of_list("tools", _tool), of_list("messages", _message)],
        answer,
        _outcome(maker, answer, exchange),
        seq=seq,
        call_id=call_id,
        content_keys=_CONTENT,
    )


def _tool(maker: BlockMaker, tool: Json, path: str) -> Made:
    found = tuple((0, point) for point in breakpoints(tool, path))
    return Made((maker.tool_schema(tool, path),), found)


def _message(maker: BlockMaker, message: Json, path: str) -> Made:
    placements = tuple(message_blocks(maker, message, path, "user"))
    content = message.get("content") if isinstance(message, Mapping) else None
    parts = content if isinstance(content, list) else []
    points = [
        (index, point)
        for index, part in enumerate(parts)
        for point in breakpoints(part, f"{path}/content/{index}")
    ]
    if isinstance(message, Mapping) and placements and not parts:
        points = [(0, point) for point in breakpoints({**message, "content": None}, path)]
    return Made(placements, tuple(points))


def message_blocks(
    maker: BlockMaker, message: Json, path: str, default_role: str
) -> Iterator[Placement]:
    """The blocks of one message, of a request or of an answer."""
    if not isinstance(message, Mapping):
        yield maker.message(default_role, message, path)
        return
    role = role_of(message, default_role)
    content = message.get("content")
    result_of = id_of(message, "tool_call_id")
    listed = message.get("tool_calls")
    calls = listed if isinstance(listed, list) else []
    legacy = message.get("function_call")
    if isinstance(content, list):
        for index, part in enumerate(content):
            yield maker.part(role, part, f"{path}/content/{index}", result_of)
    elif content or not (calls or legacy):
        yield maker.message(role, content, f"{path}/content", result_of)
    for index, call in enumerate(calls):
        yield maker.part(role, _as_sent(call), f"{path}/tool_calls/{index}", id_of(call, "id"))
    if legacy:
        yield maker.part(role, legacy, f"{path}/function_call")


def _as_sent(call: Json) -> Json:
    """A tool call without what the SDK's `parse()` and `stream()` add before it goes back.

    Source: openai 3.57, seen on the wire.
    """
    if not isinstance(call, Mapping):
        return call
    function = call.get("function")
    if isinstance(function, Mapping) and "parsed_arguments" in function:
        function = {key: value for key, value in function.items() if key != "parsed_arguments"}
        call = {**call, "function": function}
    return {key: value for key, value in call.items() if key != "index"}


def _outcome(maker: BlockMaker, answer: Answer, exchange: Exchange) -> Outcome:
    listed = answer.body.get("choices")
    choices = [c for c in listed if isinstance(c, Mapping)] if isinstance(listed, list) else []
    outputs: list[Placement] = []
    refusals: list[str] = []
    for index, choice in enumerate(choices):
        message = choice.get("message")
        if not isinstance(message, Mapping):
            continue
        outputs += message_blocks(maker, message, f"/choices/{index}/message", "assistant")
        if refusal := text_or_none(message.get("refusal")):
            refusals.append(refusal)
    return Outcome(
        outputs=tagged(outputs, exchange.tags),
        finish_reason=text_or_none(choices[0].get("finish_reason")) if choices else None,
        metadata={"refusal": "\n".join(refusals)} if refusals else None,
    )
