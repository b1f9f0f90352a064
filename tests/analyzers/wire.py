"""Conversations as each provider's wire spells them, asked through importer and store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding
from ctxdiff_analyzers.timeline import Timeline
from ctxdiff_capture.importers.base import import_log

from ctxdiff_mcp.answers.select import find_run
from ctxdiff_mcp.answers.source import Source

SURFACES = (
    "openai.chat",
    "openai.responses",
    "anthropic.messages",
    "gemini.generate_content",
    "bedrock.converse",
    "bedrock.invoke_model",
)
SYSTEM = "You keep the ledger of the Alder Street tool library. Answer in one sentence."
Json = Any


@dataclass(frozen=True)
class User:
    text: str


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Ask:
    """A tool call of the model."""

    id: str
    name: str = "lookup"
    args: tuple[tuple[str, Json], ...] = (("q", "1"),)

    @property
    def arguments(self) -> dict[str, Json]:
        return dict(self.args)


@dataclass(frozen=True)
class Got:
    """A tool's result."""

    id: str
    text: str
    name: str = "lookup"


@dataclass(frozen=True)
class Think:
    text: str


@dataclass(frozen=True)
class Image:
    data: str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


Said = User | Say | Ask | Got | Think | Image


def is_models(said: Said) -> bool:
    return isinstance(said, Say | Ask | Think)


@dataclass(frozen=True)
class Call:
    """One line of an exchange log, before a surface spells it."""

    said: Sequence[Said]
    answer: Sequence[Said] | None = (Say("Noted."),)
    system: str | None = SYSTEM
    agent: str | None = None
    tools: Sequence[str] = ("lookup",)
    error: Json = None
    params: dict[str, Json] = field(default_factory=dict)
    response: dict[str, Json] = field(default_factory=dict)
    """Members added to the answer's body."""
    tags: Sequence[tuple[str, str]] = ()


def lines(surface: str, calls: Iterable[Call]) -> list[Json]:
    """The log of the calls; they start a minute apart."""
    spell = SPELLINGS[surface]
    log = []
    for number, call in enumerate(calls):
        answered = None if call.answer is None else spell.answer(call.answer) | call.response
        log.append(
            {
                "provider": surface,
                "agent": call.agent,
                "started_at": f"2026-11-30T10:{number:02d}:00.000Z",
                "request": spell.request(call) | call.params,
                "response": answered,
                "error": call.error,
                "tags": [{"label": label, "text": text} for label, text in call.tags],
            }
        )
    return log


def recorded(log: Sequence[Json], folder: Path) -> Timeline:
    """The log as a trace on disk, open."""
    number = sum(1 for _ in folder.glob("log*.jsonl"))
    path, trace = folder / f"log{number}.jsonl", folder / f"log{number}.ctrace"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in log), encoding="utf-8")
    report = import_log(path, trace)
    assert report.errors == ()
    return find_run(Source(trace), "latest").timeline


def findings(
    surface: str, calls: Sequence[Call], folder: Path, turn: int | None = None
) -> tuple[Finding, ...]:
    """Those of a turn, the last unless given; best first."""
    timeline = recorded(lines(surface, calls), folder)
    return explain(timeline, turn or len(timeline.turns)).findings


def grown(said: Sequence[Said], **more: Any) -> list[Call]:
    """One call per answer of the model in `said`, each with all that was said before it."""
    calls = []
    start = 0
    while start < len(said):
        end = start
        while end < len(said) and not is_models(said[end]):
            end += 1
        stop = end
        while stop < len(said) and is_models(said[stop]):
            stop += 1
        calls.append(Call(said[:end], said[end:stop] or (Say("Noted."),), **more))
        start = stop
    return calls


@dataclass(frozen=True)
class Spelling:
    request: Callable[[Call], dict[str, Json]]
    answer: Callable[[Sequence[Said]], dict[str, Json]]


def _schema(name: str) -> dict[str, Json]:
    return {
        "name": name,
        "description": f"Uses {name}.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    }


def _runs(said: Sequence[Said]) -> list[list[Said]]:
    return [list(run) for _, run in groupby(said, key=is_models)]


# OpenAI Chat Completions


def _chat(call: Call) -> dict[str, Json]:
    messages: list[Json] = []
    if call.system is not None:
        messages.append({"role": "system", "content": call.system})
    for run in _runs(call.said):
        if is_models(run[0]):
            messages.append(_chat_message(run))
        else:
            messages += [_chat_other(said) for said in run]
    tools = [{"type": "function", "function": _schema(name)} for name in call.tools]
    return {"model": "gpt-5.1", "messages": messages} | ({"tools": tools} if tools else {})


def _chat_message(run: Sequence[Said]) -> Json:
    text = "\n".join(said.text for said in run if isinstance(said, Say))
    calls = [
        {
            "id": said.id,
            "type": "function",
            "function": {"name": said.name, "arguments": json.dumps(said.arguments)},
        }
        for said in run
        if isinstance(said, Ask)
    ]
    message: Json = {"role": "assistant", "content": text or None}
    return message | ({"tool_calls": calls} if calls else {})


def _chat_other(said: Said) -> Json:
    if isinstance(said, Got):
        return {"role": "tool", "tool_call_id": said.id, "content": said.text}
    if isinstance(said, Image):
        url = {"url": f"data:image/png;base64,{said.data}"}
        return {"role": "user", "content": [{"type": "image_url", "image_url": url}]}
    assert isinstance(said, User)
    return {"role": "user", "content": said.text}


def _chat_answer(said: Sequence[Said]) -> dict[str, Json]:
    asks = any(isinstance(one, Ask) for one in said)
    choice = {
        "index": 0,
        "message": _chat_message(said),
        "finish_reason": "tool_calls" if asks else "stop",
    }
    return {
        "id": "chatcmpl-1",
        "choices": [choice],
        "usage": {"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 109},
    }


# OpenAI Responses


def _responses(call: Call) -> dict[str, Json]:
    body: dict[str, Json] = {"model": "gpt-5.1", "input": [_item(said) for said in call.said]}
    if call.system is not None:
        body["instructions"] = call.system
    if call.tools:
        body["tools"] = [{"type": "function", **_schema(name)} for name in call.tools]
    return body


def _item(said: Said) -> Json:
    if isinstance(said, User):
        return {"role": "user", "content": said.text}
    if isinstance(said, Say):
        part = {"type": "output_text", "text": said.text, "annotations": []}
        return {"type": "message", "role": "assistant", "content": [part]}
    if isinstance(said, Ask):
        return {
            "type": "function_call",
            "call_id": said.id,
            "name": said.name,
            "arguments": json.dumps(said.arguments),
        }
    if isinstance(said, Got):
        return {"type": "function_call_output", "call_id": said.id, "output": said.text}
    if isinstance(said, Image):
        url = f"data:image/png;base64,{said.data}"
        return {"role": "user", "content": [{"type": "input_image", "image_url": url}]}
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": said.text}


def _responses_answer(said: Sequence[Said]) -> dict[str, Json]:
    return {
        "id": "resp_1",
        "status": "completed",
        "output": [_item(one) for one in said],
        "usage": {"input_tokens": 100, "output_tokens": 9, "total_tokens": 109},
    }


# Anthropic Messages, also on Bedrock


def _anthropic(call: Call) -> dict[str, Json]:
    body: dict[str, Json] = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 500,
        "messages": [
            {
                "role": "assistant" if is_models(run[0]) else "user",
                "content": [_anthropic_part(said) for said in run],
            }
            for run in _runs(call.said)
        ],
    }
    if call.system is not None:
        body["system"] = [{"type": "text", "text": call.system}]
    if call.tools:
        body["tools"] = [
            {
                "name": name,
                "description": f"Uses {name}.",
                "input_schema": _schema(name)["parameters"],
            }
            for name in call.tools
        ]
    return body


def _anthropic_part(said: Said) -> Json:
    if isinstance(said, User | Say):
        return {"type": "text", "text": said.text}
    if isinstance(said, Ask):
        return {"type": "tool_use", "id": said.id, "name": said.name, "input": said.arguments}
    if isinstance(said, Got):
        return {"type": "tool_result", "tool_use_id": said.id, "content": said.text}
    if isinstance(said, Image):
        source = {"type": "base64", "media_type": "image/png", "data": said.data}
        return {"type": "image", "source": source}
    return {"type": "thinking", "thinking": said.text, "signature": "c2ln"}


def _anthropic_answer(said: Sequence[Said]) -> dict[str, Json]:
    asks = any(isinstance(one, Ask) for one in said)
    return {
        "id": "msg_1",
        "content": [_anthropic_part(one) for one in said],
        "stop_reason": "tool_use" if asks else "end_turn",
        "usage": {"input_tokens": 100, "output_tokens": 9},
    }


def _invoke(call: Call) -> dict[str, Json]:
    body = _anthropic(call) | {"anthropic_version": "bedrock-2023-05-31"}
    body["modelId"] = f"anthropic.{body.pop('model')}"
    return body


# Gemini


def _gemini(call: Call) -> dict[str, Json]:
    body: dict[str, Json] = {
        "model": "gemini-3-pro",
        "contents": [
            {
                "role": "model" if is_models(run[0]) else "user",
                "parts": [_gemini_part(said) for said in run],
            }
            for run in _runs(call.said)
        ],
    }
    if call.system is not None:
        body["systemInstruction"] = {"parts": [{"text": call.system}]}
    if call.tools:
        body["tools"] = [{"functionDeclarations": [_schema(name) for name in call.tools]}]
    return body


def _gemini_part(said: Said) -> Json:
    if isinstance(said, User | Say):
        return {"text": said.text}
    if isinstance(said, Ask):
        return {"functionCall": {"name": said.name, "args": said.arguments}}
    if isinstance(said, Got):
        return {"functionResponse": {"name": said.name, "response": {"output": said.text}}}
    if isinstance(said, Image):
        return {"inlineData": {"mimeType": "image/png", "data": said.data}}
    return {"text": said.text, "thought": True}


def _gemini_answer(said: Sequence[Said]) -> dict[str, Json]:
    content = {"role": "model", "parts": [_gemini_part(one) for one in said]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 9},
    }


# Bedrock Converse


def _converse(call: Call) -> dict[str, Json]:
    body: dict[str, Json] = {
        "modelId": "amazon.nova-pro-v1:0",
        "messages": [
            {
                "role": "assistant" if is_models(run[0]) else "user",
                "content": [_converse_part(said) for said in run],
            }
            for run in _runs(call.said)
        ],
    }
    if call.system is not None:
        body["system"] = [{"text": call.system}]
    if call.tools:
        body["toolConfig"] = {
            "tools": [
                {
                    "toolSpec": {
                        "name": name,
                        "description": f"Uses {name}.",
                        "inputSchema": {"json": _schema(name)["parameters"]},
                    }
                }
                for name in call.tools
            ]
        }
    return body


def _converse_part(said: Said) -> Json:
    if isinstance(said, User | Say):
        return {"text": said.text}
    if isinstance(said, Ask):
        return {"toolUse": {"toolUseId": said.id, "name": said.name, "input": said.arguments}}
    if isinstance(said, Got):
        content = [{"text": said.text}]
        return {"toolResult": {"toolUseId": said.id, "content": content, "status": "success"}}
    if isinstance(said, Image):
        return {"image": {"format": "png", "source": {"bytes": said.data}}}
    reasoning = {"reasoningText": {"text": said.text, "signature": "c2ln"}}
    return {"reasoningContent": reasoning}


def _converse_answer(said: Sequence[Said]) -> dict[str, Json]:
    asks = any(isinstance(one, Ask) for one in said)
    content = [_converse_part(one) for one in said]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use" if asks else "end_turn",
        "usage": {"inputTokens": 100, "outputTokens": 9, "totalTokens": 109},
    }


SPELLINGS = {
    "openai.chat": Spelling(_chat, _chat_answer),
    "openai.responses": Spelling(_responses, _responses_answer),
    "anthropic.messages": Spelling(_anthropic, _anthropic_answer),
    "gemini.generate_content": Spelling(_gemini, _gemini_answer),
    "bedrock.converse": Spelling(_converse, _converse_answer),
    "bedrock.invoke_model": Spelling(_invoke, _anthropic_answer),
}
