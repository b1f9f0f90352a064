"""LangChain's messages as the request and the answer of the provider's own API.

They become the blocks that a direct call would have. Source: the capture contract, section 13.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from ctxdiff_capture.hooks.langchain_tools import bedrock_config, gemini_config
from ctxdiff_capture.model import Json

_SURFACES = ("openai.chat", "anthropic.messages", "gemini.generate_content", "bedrock.converse")
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
_MARK = "langchain_type"
_MEMBERS = ("content", "role", "name", "tool_calls", "tool_call_id", "status", "additional_kwargs")
_RUN_TOGETHER = ("human", "system")
_OWN_ROLES = ("system", "tool", "function", "developer")


def request_body(
    surface: str, messages: Sequence[Any], tools: Json, choice: Json = None
) -> dict[str, Json]:
    """What would have been sent, without parameters.

    Args:
        surface: of the provider.
        messages: LangChain's own objects.
        tools: as LangChain bound them; None when there are none.
        choice: which of them is to be called, as LangChain has it; of OpenAI and Anthropic it is a
            parameter like any other, and not looked at.
    """
    system = [m for m in messages if role_of(m) == "system"]
    rest = [m for m in messages if role_of(m) != "system"]
    if surface == "anthropic.messages":
        body: dict[str, Json] = {"messages": _merged(map(_anthropic, rest))}
        if system:
            whole = [part for m in system for part in _anthropic_parts(m.content)]
            alone = len(system) == 1 and isinstance(system[0].content, str)
            body["system"] = system[0].content if alone else whole
        return body if not tools else {**body, "tools": tools}
    if surface == "gemini.generate_content":
        body = {"contents": [_gemini(m) for m in rest]}
        if system:
            parts = [_gemini_part(part) for m in system for part in _listed(m.content)]
            body["systemInstruction"] = {"parts": parts}
        return body | gemini_config(tools, choice)
    if surface == "bedrock.converse":
        body = {"messages": [_bedrock(m) for m in _runs(rest)]}
        if system:
            body["system"] = [_bedrock_part(p) for m in _runs(system) for p in _listed(m.content)]
        return body | bedrock_config(tools, choice)
    body = {"messages": [_openai(m) for m in messages]}
    return body if not tools else {**body, "tools": tools}


def langchain_dict(message: Any) -> dict[str, Json]:
    """What `request_body` needs of a message, as a dict that tells where it comes from."""
    known = {name: getattr(message, name, None) for name in _MEMBERS}
    return {_MARK: message.type, **{k: v for k, v in known.items() if v is not None}}


def langchain_objects(messages: Json) -> list[Any] | None:
    """The inverse for a list of such dicts; None when `messages` are anything else."""
    if not isinstance(messages, list) or not messages:
        return None
    if not all(isinstance(m, dict) and _MARK in m for m in messages):
        return None
    absent = dict.fromkeys(_MEMBERS)
    return [SimpleNamespace(**{**absent, **m, "type": m[_MARK]}) for m in messages]


def answer_body(surface: str, message: Any, text: str, reason: Json, usage: Json) -> Json:
    """The answer in the form of the provider's own.

    Args:
        surface: as above.
        message: LangChain's answer; None when it is a text alone.
        text: the answer's text.
        reason: why it ended, in the provider's words.
        usage: LangChain's usage metadata, or the provider's own.
    """
    spelled = _usage(surface, usage)
    told = getattr(message, "response_metadata", None) or {}
    facts = {"id": told.get("id"), "model": told.get("model_name") or told.get("model")}
    if surface == "anthropic.messages":
        content = _anthropic(message)["content"] if message is not None else text
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return {**facts, "role": "assistant", "content": parts, "stop_reason": reason, **spelled}
    if surface == "gemini.generate_content":
        content = _gemini(message) if message is not None else {"parts": [{"text": text}]}
        return {"candidates": [{"content": content, "finishReason": reason}], **spelled}
    if surface == "bedrock.converse":
        said = _bedrock(message) if message is not None else {"content": [{"text": text}]}
        return {"output": {"message": said}, "stopReason": reason, **spelled}
    said = _openai(message) if message is not None else {"role": "assistant", "content": text}
    return {**facts, "choices": [{"index": 0, "message": said, "finish_reason": reason}], **spelled}


def role_of(message: Any) -> str:
    """The role of a message: its own where it names one."""
    kind = message.type
    if kind in ("chat", "ChatMessageChunk"):
        return str(message.role)
    named = kind.removesuffix("MessageChunk").lower()
    return _ROLES.get(kind, named if named in _OWN_ROLES else "user")


def _openai(message: Any) -> dict[str, Json]:
    role, content = role_of(message), message.content
    body: dict[str, Json] = {"role": role, "content": content}
    if role == "tool":
        body["tool_call_id"] = message.tool_call_id
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
        }
        for call in getattr(message, "tool_calls", None) or ()
    ] or (getattr(message, "additional_kwargs", None) or {}).get("tool_calls")
    if role == "assistant" and calls:
        body |= {"tool_calls": calls, "content": content or None}
    return body


def _anthropic(message: Any) -> dict[str, Json]:
    role, content = role_of(message), message.content
    calls = getattr(message, "tool_calls", None) or ()
    if role == "tool":
        result = {
            "type": "tool_result",
            "tool_use_id": message.tool_call_id,
            "content": content if isinstance(content, str) else _anthropic_parts(content),
            "is_error": getattr(message, "status", None) == "error",
        }
        return {"role": "user", "content": [result]}
    if role == "assistant" and calls and isinstance(content, str):
        used = [
            {"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["args"]}
            for c in calls
        ]
        return {"role": role, "content": [*_anthropic_parts(content), *used]}
    if role == "user" and not isinstance(content, str):
        content = _anthropic_parts(content)
    return {"role": role, "content": content}


def _anthropic_parts(content: Json) -> list[Json]:
    return [_anthropic_part(part) for part in _listed(content)]


def _anthropic_part(part: Json) -> Json:
    if not isinstance(part, Mapping):
        return part
    if part.get("type") == "image_url":
        kind, data = _picture(part)
        url = part.get("image_url")
        source = (
            {"type": "base64", "media_type": kind, "data": data}
            if data
            else {"type": "url", "url": url.get("url") if isinstance(url, Mapping) else url}
        )
        return {"type": "image", "source": source}
    return {"type": "text", **part} if _has_text(part) else part


def _merged(messages: Iterable[dict[str, Json]]) -> list[dict[str, Json]]:
    """Messages of the user that follow one another as one, in parts."""
    merged: list[dict[str, Json]] = []
    for message in messages:
        if message["role"] == "user" and merged and merged[-1]["role"] == "user":
            parts = [p for m in (merged[-1], message) for p in _anthropic_parts(m["content"])]
            merged[-1] = {"role": "user", "content": parts}
        else:
            merged.append(message)
    return merged


def _gemini(message: Any) -> dict[str, Json]:
    role, content = role_of(message), message.content
    if role == "tool":
        response = {"name": message.name, "response": {"output": content}}
        return {"role": "user", "parts": [{"functionResponse": response}]}
    calls = [
        {"functionCall": {"name": call["name"], "args": call["args"]}}
        for call in getattr(message, "tool_calls", None) or ()
    ]
    parts = [_gemini_part(part) for part in _listed(content)]
    spoken = {"assistant": "model"}.get(role, role)
    return {"role": spoken, "parts": [*(part for part in parts if part), *calls]}


def _gemini_part(part: Json) -> Json:
    if isinstance(part, Mapping) and part.get("type") == "image_url":
        kind, data = _picture(part)
        return {"inlineData": {"mimeType": kind, "data": data}} if data else dict(part)
    return {"text": part["text"]} if _has_text(part) else part


def _runs(messages: Iterable[Any]) -> list[Any]:
    """Messages with those of one kind, the user's or the system's, that follow one another as one.

    Texts are joined by a line break.
    """
    merged: list[Any] = []
    for message in messages:
        before = merged[-1] if merged else None
        if before is None or before.type != message.type or message.type not in _RUN_TOGETHER:
            merged.append(message)
            continue
        both = (before.content, message.content)
        if all(isinstance(content, str) for content in both):
            content: Json = "\n".join(both)
        else:
            content = [part for content in both for part in _listed(content)]
        merged[-1] = SimpleNamespace(type=message.type, content=content)
    return merged


def _bedrock(message: Any) -> dict[str, Json]:
    role, content = role_of(message), message.content
    if role == "tool":
        listed = [_bedrock_part(part) for part in _listed(content)]
        result = {
            "toolUseId": message.tool_call_id,
            "content": listed,
            "status": getattr(message, "status", None) or "success",
        }
        return {"role": "user", "content": [{"toolResult": result}]}
    used = [
        {"toolUse": {"toolUseId": call["id"], "name": call["name"], "input": call["args"]}}
        for call in getattr(message, "tool_calls", None) or ()
    ]
    return {"role": role, "content": [*map(_bedrock_part, _listed(content)), *used]}


def _bedrock_part(part: Json) -> Json:
    if isinstance(part, Mapping) and part.get("type") == "image_url":
        kind, data = _picture(part)
        source = {"format": kind.rpartition("/")[2], "source": {"bytes": data}}
        return {"image": source} if data else dict(part)
    return {"text": part["text"]} if _has_text(part) else part


def _picture(part: Mapping[str, Json]) -> tuple[str, str]:
    """Media type and base64 of a data URI; empty when it is an address."""
    url = part.get("image_url")
    address = url.get("url") if isinstance(url, Mapping) else url
    head, found, data = str(address).partition(";base64,")
    return head.removeprefix("data:"), data if found else ""


def _has_text(part: Json) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("text"), str)


def _listed(content: Json) -> list[Json]:
    """A content as parts; an empty text is none."""
    if isinstance(content, str):
        return [{"text": content}] if content else []
    return [{"text": part} if isinstance(part, str) else part for part in content]


def _usage(surface: str, usage: Json) -> dict[str, Json]:
    """Usage under the provider's names; what LangChain sums up is taken apart again."""
    if not isinstance(usage, Mapping):
        return {}
    if "input_tokens" not in usage or surface not in _SURFACES:
        return {"usage": dict(usage)}
    read = (usage.get("input_token_details") or {}).get("cache_read")
    write = (usage.get("input_token_details") or {}).get("cache_creation")
    thought = (usage.get("output_token_details") or {}).get("reasoning")
    whole, said = usage["input_tokens"], usage.get("output_tokens") or 0
    total, fresh = usage.get("total_tokens"), whole - (read or 0) - (write or 0)
    if surface == "gemini.generate_content":
        return {
            "usageMetadata": _known(
                promptTokenCount=whole,
                candidatesTokenCount=said - (thought or 0),
                totalTokenCount=total,
                cachedContentTokenCount=read,
                thoughtsTokenCount=thought,
            )
        }
    if surface == "openai.chat":
        counts = _known(prompt_tokens=whole, completion_tokens=said, total_tokens=total)
        if read is not None:
            counts["prompt_tokens_details"] = {"cached_tokens": read}
        if thought is not None:
            counts["completion_tokens_details"] = {"reasoning_tokens": thought}
        return {"usage": counts}
    if surface == "anthropic.messages":
        counts = _known(
            input_tokens=fresh,
            output_tokens=said,
            cache_read_input_tokens=read,
            cache_creation_input_tokens=write,
        )
        return {"usage": counts}
    counts = _known(inputTokens=fresh, outputTokens=said, totalTokens=total)
    return {"usage": counts | _known(cacheReadInputTokens=read, cacheWriteInputTokens=write)}


def _known(**counts: Json) -> dict[str, Json]:
    return {name: count for name, count in counts.items() if count is not None}
