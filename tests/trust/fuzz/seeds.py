"""Valid exchanges of every surface, plain and streamed: what the mutations begin with."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from tests.analyzers.wire import (
    SURFACES,
    Ask,
    Call,
    Got,
    Image,
    Said,
    Say,
    Think,
    User,
    lines,
)

ANSWER = "Grüße from the tool library, 東京."
"""What every seed's model says; some characters are longer than a byte."""
_SAID: tuple[Said, ...] = (
    User("Which ladder is free?"),
    Image(),
    Think("Look it up."),
    Ask("c1"),
    Got("c1", '{"free": ["L2"]}'),
    Say("L2 is free."),
    User("Book it."),
)


@dataclass(frozen=True)
class Seed:
    """A request, and its answer in each form that the surface has."""

    surface: str
    request: dict[str, Any]
    answer: dict[str, Any]
    events: Sequence[Any]
    """Of a stream that says `ANSWER` in two halves and asks for a tool."""
    is_framed: bool = False
    """Whether a stream is frames of AWS instead of server-sent events."""

    def __repr__(self) -> str:
        return f"Seed({self.surface}, {sorted(self.request)})"

    def stream(self, events: Sequence[bytes], end: bytes = b"\n") -> bytes:
        """Events, each already JSON, as the surface puts them on the wire."""
        if self.is_framed:
            return b"".join(map(self._frame, events))
        return b"".join(b"data: " + event + end + end for event in events)

    def _frame(self, event: bytes) -> bytes:
        kind = b"chunk"
        if self.surface == "bedrock.converse":
            value = json.loads(event)
            kind = next(iter(value), "odd").encode("utf-8", "replace")[:200]
            event = json.dumps(next(iter(value.values()), None)).encode()
        else:
            event = json.dumps({"bytes": b64encode(event).decode()}).encode()
        return framed(kind, event)


def framed(kind: bytes, payload: bytes) -> bytes:
    """A frame of an AWS event stream."""
    head = _header(b":message-type", b"event") + _header(b":event-type", kind)
    prelude = struct.pack(">II", len(head) + len(payload) + 16, len(head))
    start = prelude + struct.pack(">I", crc32(prelude)) + head + payload
    return start + struct.pack(">I", crc32(start))


def _header(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value


_FIRST, _SECOND = ANSWER[:9], ANSWER[9:]
_CHAT = [
    {"id": "x1", "model": "m-1", "choices": [{"index": 0, "delta": {"role": "assistant"}}]},
    {"choices": [{"index": 0, "delta": {"content": _FIRST}}]},
    {"choices": [{"index": 0, "delta": {"content": _SECOND}}]},
    {"choices": [{"index": 0, "delta": {"reasoning_content": "Look."}}]},
    {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "c2",
                            "type": "function",
                            "function": {"name": "lookup", "arguments": '{"q":'},
                        }
                    ]
                },
            }
        ]
    },
    {
        "choices": [
            {
                "index": 0,
                "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ' "1"}'}}]},
                "finish_reason": "tool_calls",
            }
        ]
    },
    {"choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 8}},
]
_RESPONSES = [
    {"type": "response.created", "response": {"id": "r1", "model": "m-1", "output": []}},
    {
        "type": "response.output_text.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": _FIRST,
    },
    {
        "type": "response.output_text.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": _SECOND,
    },
    {
        "type": "response.output_item.added",
        "output_index": 1,
        "item": {"type": "function_call", "call_id": "c2", "name": "lookup", "arguments": ""},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"q": "1"}'},
    {
        "type": "response.reasoning_summary_text.delta",
        "output_index": 2,
        "summary_index": 0,
        "delta": "Look.",
    },
]
_ANTHROPIC = [
    {
        "type": "message_start",
        "message": {"id": "m1", "model": "m-1", "role": "assistant", "usage": {"input_tokens": 90}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _FIRST}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _SECOND}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "citations_delta", "citation": {"cited_text": "L2"}},
    },
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c2", "name": "lookup", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"q": "1"}'},
    },
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "thinking_delta", "thinking": "Look."},
    },
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use"},
        "usage": {"output_tokens": 8},
    },
    {"type": "message_stop"},
]
_GEMINI = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": _FIRST}]}}]},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": _SECOND}]}}]},
    {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {
                            "functionCall": {"name": "lookup", "args": {"q": "1"}},
                            "thoughtSignature": "c2ln" * 30,
                        }
                    ]
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 90, "candidatesTokenCount": 8},
        "responseId": "g1",
        "modelVersion": "m-1",
    },
]
_CONVERSE = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": _FIRST}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": _SECOND}}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 1,
            "start": {"toolUse": {"toolUseId": "c2", "name": "lookup"}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 1,
            "delta": {"toolUse": {"input": '{"q": "1"}'}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 2,
            "delta": {"reasoningContent": {"text": "Look.", "redactedContent": "c2ln"}},
        }
    },
    {"contentBlockDelta": {"contentBlockIndex": 3, "delta": {"citation": {"title": "L2"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 4, "delta": {"toolResult": [{"text": "L2"}]}}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 90, "outputTokens": 8}}},
]
_EVENTS = {
    "openai.chat": _CHAT,
    "openai.responses": _RESPONSES,
    "anthropic.messages": _ANTHROPIC,
    "gemini.generate_content": _GEMINI,
    "bedrock.converse": _CONVERSE,
    "bedrock.invoke_model": _ANTHROPIC,
}
# What InvokeModel carries depends on the model.
_INVOKED: list[tuple[dict[str, Any], dict[str, Any], Sequence[Any]]] = [
    (
        {"prompt": "Which ladder is free?", "temperature": 0.5},
        {"generation": ANSWER, "prompt_token_count": 9, "stop_reason": "stop"},
        [
            {"generation": _FIRST},
            {"generation": _SECOND, "stop_reason": "stop"},
            {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 9}},
        ],
    ),
    (
        {"inputText": "Which ladder is free?"},
        {"results": [{"outputText": ANSWER, "completionReason": "FINISH"}]},
        [{"outputText": _FIRST}, {"outputText": _SECOND, "completionReason": "FINISH"}],
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
        {"choices": [{"message": {"role": "assistant", "content": ANSWER}}]},
        _CHAT,
    ),
]


def _seeds() -> list[Seed]:
    found: list[Seed] = []
    for surface in SURFACES:
        call = Call(_SAID, answer=(Think("So."), Say(ANSWER), Ask("c2")), tags=[("rag", "L2")])
        (line,) = lines(surface, [call])
        framed = surface.startswith("bedrock.")
        found.append(Seed(surface, line["request"], line["response"], _EVENTS[surface], framed))
    found += [Seed("bedrock.invoke_model", *parts, is_framed=True) for parts in _INVOKED]
    return found


SEEDS = _seeds()
