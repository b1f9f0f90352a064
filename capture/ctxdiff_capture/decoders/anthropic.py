"""Anthropic Messages.

Blocks in order: system, tools, then each message's content part by part. This is the order in
which ctxdiff records them; the provider's own cache prefix is tools, system, messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ctxdiff_capture.decoders.addressed_model import with_model
from ctxdiff_capture.decoders.answer import Answer, Fold, read_answer
from ctxdiff_capture.decoders.anthropic_stream import folded
from ctxdiff_capture.decoders.assemble import Outcome, call_of, text_or_none
from ctxdiff_capture.decoders.blocks import BlockMaker, id_of, role_of, tagged
from ctxdiff_capture.decoders.body import Body, read_body
from ctxdiff_capture.decoders.errors_by_status import error_type
from ctxdiff_capture.decoders.markers import breakpoints
from ctxdiff_capture.decoders.memory import Made, memory_of
from ctxdiff_capture.model import Call, Exchange, Json, Placement
from ctxdiff_capture.tokens.counter import Counter

_CONTENT = frozenset(("messages", "system", "tools"))
_TOLD = ("context_management", "container", "diagnostics")
"""Members of an answer that are kept beside its blocks: edits applied, why a cache was missed."""
_FOLD = Fold(events=folded, error_type=error_type("anthropic"))


def decode(exchange: Exchange, *, seq: int, call_id: str, count: Counter) -> Call:
    """The call that `exchange` was. See `dispatch.decode`."""
    body = read_body(exchange.request, _CONTENT, memory_of(count).lists)
    # Vertex has the model in the address.
    body = with_model(body, exchange.url, "model")
    answer = read_answer(exchange, _FOLD)
    return messages_call(exchange, body, answer, seq=seq, call_id=call_id, count=count)


def messages_call(
    exchange: Exchange, body: Body, answer: Answer, *, seq: int, call_id: str, count: Counter
) -> Call:
    """The call of a body in the form of the Messages API, whoever carried it."""
    maker = BlockMaker(count, exchange.provider or "anthropic", "anthropic")
    memory = memory_of(count)
    known_for = f"anthropic.messages {exchange.provider}"

    def of_list(kind: str, work: Callable[[BlockMaker, Json, str], Made]) -> Made:
        return memory.of_list(known_for, kind, body.lists.get(kind, ()), partial(work, maker))

    return call_of(
        exchange,
        body,
        [
            *_system_text(maker, body),
            of_list("system", _system_entry),
            of_list("tools", _tool),
            of_list("messages", _message),
        ],
        answer,
        _outcome(maker, body, answer, exchange),
        seq=seq,
        call_id=call_id,
        content_keys=_CONTENT,
    )


def _system_text(maker: BlockMaker, body: Body) -> list[Made]:
    system = body.fields.get("system")
    if not isinstance(system, str) or not system:
        return []
    return [Made((maker.message("system", system, "/system"),))]


def _system_entry(maker: BlockMaker, entry: Json, path: str) -> Made:
    text = entry if isinstance(entry, str) else None
    if isinstance(entry, Mapping):
        text, path_of_text = entry.get("text"), f"{path}/text"
    else:
        path_of_text = path
    points = tuple((0, point) for point in breakpoints(entry, path))
    return Made((maker.message("system", text, path_of_text),), points)


def _tool(maker: BlockMaker, tool: Json, path: str) -> Made:
    points = tuple((0, point) for point in breakpoints(tool, path))
    return Made((maker.tool_schema(tool, path),), points)


def _message(maker: BlockMaker, message: Json, path: str) -> Made:
    if not isinstance(message, Mapping):
        return Made((maker.message("user", message, path),))
    role, content = role_of(message, "user"), message.get("content")
    if not isinstance(content, list):
        return Made((maker.message(role, content, f"{path}/content"),))
    points = tuple(
        (index, point)
        for index, part in enumerate(content)
        for point in breakpoints(part, f"{path}/content/{index}")
    )
    placements = (
        _part(maker, role, part, f"{path}/content/{index}") for index, part in enumerate(content)
    )
    return Made(tuple(placements), points)


def _part(maker: BlockMaker, role: str, part: Json, path: str) -> Placement:
    """A part, with the id of the tool call that it is or answers."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    is_call = isinstance(kind, str) and kind.endswith("tool_use")
    call_id = id_of(part, "id") if is_call else id_of(part, "tool_use_id")
    return maker.part(role, part, path, call_id)


def _outcome(maker: BlockMaker, body: Body, answer: Answer, exchange: Exchange) -> Outcome:
    content = answer.body.get("content")
    # The SDK sends every member that the answer set, null or not, so the parts stay as they came.
    outputs = [
        _part(maker, "assistant", part, f"/content/{index}")
        for index, part in enumerate(content if isinstance(content, list) else [])
    ]
    return Outcome(
        outputs=tagged(outputs, exchange.tags),
        finish_reason=text_or_none(answer.body.get("stop_reason")),
        metadata=_metadata(body, answer),
    )


def _metadata(body: Body, answer: Answer) -> dict[str, Json]:
    """What the provider did to the context and says of it, and what it adds from its store."""
    told = {key: answer.body[key] for key in _TOLD if answer.body.get(key)}
    hidden = body.fields.get("container") is not None
    return told | ({"hidden_context": ["container"]} if hidden else {})
