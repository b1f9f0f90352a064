"""The same conversation as every provider's request, and its usage by the provider's rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ctxdiff_analyzers.cache.verdict import Verdict, cache_verdict
from ctxdiff_capture.importers.base import import_log

from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.select import find_run
from ctxdiff_mcp.answers.source import Source

Json = dict[str, Any]
SURFACES = (
    "openai.chat",
    "openai.responses",
    "anthropic.messages",
    "gemini.generate_content",
    "bedrock.converse",
    "bedrock.invoke_model",
)
MARKED = ("anthropic.messages", "bedrock.converse", "bedrock.invoke_model")
MODELS = {
    "openai.chat": "gpt-5.1",
    "openai.responses": "gpt-5.1",
    "anthropic.messages": "claude-sonnet-4-5",
    "gemini.generate_content": "gemini-2.5-flash",
    "bedrock.converse": "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock.invoke_model": "anthropic.claude-sonnet-4-5-20250929-v1:0",
}
RULES = "You plan the watering of the botanical garden. Be exact and brief. " * 120
"""About two thousand tokens, enough for every minimum."""
MARK = {"cache_control": {"type": "ephemeral"}}


@dataclass(frozen=True)
class Ask:
    """One request in no provider's words."""

    system: str | tuple[str, ...] = RULES
    tools: tuple[Json, ...] = ()
    """Each with `name`, `description` and `schema`."""
    said: tuple[tuple[str, Any], ...] = (("user", "Which beds first?"),)
    """Role and text; a list is the provider's own parts."""
    marks: tuple[int | str, ...] = ("last",)
    """Markers: `system`, `tools`, `last`, or the index of a message; none at providers without."""
    ttl: str | None = None
    model: str | None = None
    params: Json = field(default_factory=dict)

    def then(self, *said: tuple[str, Any], **changes: Any) -> Ask:
        """The request that goes on from this one."""
        return replace(self, said=(*self.said, *said), **changes)


@dataclass(frozen=True)
class Sent:
    """A request with when it was sent and what the provider billed."""

    ask: Ask
    at_s: float = 0
    read: int | None = None
    written: int | None = None
    rest: int = 20
    agent: str | None = None
    session: str | None = None
    error: Json | None = None
    latency_ms: int = 900


def tool(name: str, description: str = "Look it up.", **properties: Any) -> Json:
    schema = {"type": "object", "properties": properties or {"bed": {"type": "string"}}}
    return {"name": name, "description": description, "schema": schema}


def request(surface: str, ask: Ask) -> Json:
    """The body of the request."""
    body = {
        "openai.chat": _chat,
        "openai.responses": _responses,
        "anthropic.messages": _anthropic,
        "gemini.generate_content": _gemini,
        "bedrock.converse": _converse,
        "bedrock.invoke_model": _invoke,
    }[surface](ask)
    key = "modelId" if surface.startswith("bedrock") else "model"
    return {key: ask.model or MODELS[surface], **body, **ask.params}


def usage(surface: str, sent: Sent) -> Json:
    """What the provider would bill, in its own words."""
    read, written = sent.read or 0, sent.written or 0
    if surface == "anthropic.messages" or surface == "bedrock.invoke_model":
        return {
            "input_tokens": sent.rest,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 9,
        }
    if surface == "bedrock.converse":
        return {
            "inputTokens": sent.rest,
            "outputTokens": 9,
            "totalTokens": sent.rest + 9,
            "cacheReadInputTokens": read,
            "cacheWriteInputTokens": written,
        }
    prompt = read + written + sent.rest
    if surface == "gemini.generate_content":
        cached = {"cachedContentTokenCount": read} if read else {}
        return {"promptTokenCount": prompt, "candidatesTokenCount": 9, **cached}
    if surface == "openai.responses":
        details = {"input_tokens_details": {"cached_tokens": read}}
        return {"input_tokens": prompt, "output_tokens": 9, **details}
    details = {"prompt_tokens_details": {"cached_tokens": read}}
    return {"prompt_tokens": prompt, "completion_tokens": 9, **details}


def recorded(folder: Path, surface: str, *sent: Sent) -> Source:
    """The requests as an imported trace."""
    start = datetime(2026, 5, 4, 8, tzinfo=timezone.utc)
    lines = []
    for one in sent:
        line: Json = {
            "provider": surface,
            "request": request(surface, one.ask),
            "started_at": (start + timedelta(seconds=one.at_s)).isoformat(timespec="milliseconds"),
            "latency_ms": one.latency_ms,
        }
        key = "usageMetadata" if surface == "gemini.generate_content" else "usage"
        if one.read is not None or one.written is not None:
            line["response"] = {key: usage(surface, one)}
        line |= {k: v for k in ("agent", "session", "error") if (v := getattr(one, k)) is not None}
        lines.append(line)
    log, trace = folder / "log.jsonl", folder / "trace.ctrace"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    report = import_log(log, trace)
    assert (report.errors, report.calls) == ((), len(sent))
    return Source(trace)


def verdicts(folder: Path, surface: str, *sent: Sent) -> list[Verdict]:
    """The verdict on every turn."""
    run: OpenRun = find_run(recorded(folder, surface, *sent), "latest")
    return [cache_verdict(run.timeline, turn) for turn in run.timeline.turns]


def last_verdict(folder: Path, surface: str, *sent: Sent) -> Verdict:
    """The verdict on the last turn."""
    return verdicts(folder, surface, *sent)[-1]


def _texts(ask: Ask) -> tuple[str, ...]:
    return (ask.system,) if isinstance(ask.system, str) else ask.system


def _functions(ask: Ask, key: str) -> list[Json]:
    return [
        {"name": one["name"], "description": one["description"], key: one["schema"]}
        for one in ask.tools
    ]


def _chat(ask: Ask) -> Json:
    said = [{"role": "system", "content": text} for text in _texts(ask)]
    said += [{"role": role, "content": content} for role, content in ask.said]
    tools = [{"type": "function", "function": one} for one in _functions(ask, "parameters")]
    return {"messages": said, **({"tools": tools} if tools else {})}


def _responses(ask: Ask) -> Json:
    tools = [{"type": "function", **one} for one in _functions(ask, "parameters")]
    said = [{"role": role, "content": content} if role else content for role, content in ask.said]
    return {
        "instructions": "\n".join(_texts(ask)),
        "input": said,
        **({"tools": tools} if tools else {}),
    }


def _anthropic(ask: Ask) -> Json:
    mark = {"cache_control": {"type": "ephemeral", **({"ttl": ask.ttl} if ask.ttl else {})}}
    system: list[Json] = [{"type": "text", "text": text} for text in _texts(ask)]
    tools = _functions(ask, "input_schema")
    said = [{"role": role, "content": content} for role, content in ask.said]
    for where in ask.marks:
        if where == "tools":
            tools[-1] |= mark
        elif where == "system":
            system[-1] |= mark
        else:
            at = len(said) - 1 if where == "last" else int(where)
            content = said[at]["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            said[at]["content"] = [*parts[:-1], {**parts[-1], **mark}]
    return {
        "max_tokens": 90,
        **({"system": system} if system else {}),
        **({"tools": tools} if tools else {}),
        "messages": said,
    }


def _invoke(ask: Ask) -> Json:
    return {"anthropic_version": "bedrock-2023-05-31", **_anthropic(ask)}


def _converse(ask: Ask) -> Json:
    point = {"cachePoint": {"type": "default", **({"ttl": ask.ttl} if ask.ttl else {})}}
    system: list[Json] = [{"text": text} for text in _texts(ask)]
    tools: list[Json] = [
        {
            "toolSpec": {
                "name": one["name"],
                "description": one["description"],
                "inputSchema": {"json": one["schema"]},
            }
        }
        for one in ask.tools
    ]
    said: list[Json] = [
        {"role": role, "content": [{"text": content}] if isinstance(content, str) else [*content]}
        for role, content in ask.said
    ]
    for where in ask.marks:
        if where == "tools":
            tools.append(point)
        elif where == "system":
            system.append(point)
        else:
            said[len(said) - 1 if where == "last" else int(where)]["content"].append(point)
    return {
        **({"system": system} if system else {}),
        "messages": said,
        **({"toolConfig": {"tools": tools}} if tools else {}),
    }


def _gemini(ask: Ask) -> Json:
    roles = {"assistant": "model"}
    tools = [{"functionDeclarations": _functions(ask, "parameters")}] if ask.tools else []
    return {
        "systemInstruction": {"parts": [{"text": text} for text in _texts(ask)]},
        "contents": [
            {
                "role": roles.get(role, role),
                "parts": [{"text": content}] if isinstance(content, str) else content,
            }
            for role, content in ask.said
        ],
        **({"tools": tools} if tools else {}),
    }


def path_of_system(surface: str, at: int = 0) -> str:
    """The dotted place of a system text."""
    return {
        "openai.chat": f"messages[{at}].content",
        "openai.responses": "instructions",
        "anthropic.messages": f"system[{at}].text",
        "gemini.generate_content": f"systemInstruction.parts[{at}].text",
        "bedrock.converse": f"system[{at}].text",
        "bedrock.invoke_model": f"system[{at}].text",
    }[surface]


def path_of_said(surface: str, at: int, *, systems: int = 1, is_part: bool = False) -> str:
    """The dotted place of a message's text. `is_part`: it is sent as a list of one part."""
    if surface == "openai.chat":
        return f"messages[{at + systems}].content"
    if surface == "openai.responses":
        return f"input[{at}].content"
    if surface == "gemini.generate_content":
        return f"contents[{at}].parts[0].text"
    if surface == "bedrock.converse" or is_part:
        return f"messages[{at}].content[0].text"
    return f"messages[{at}].content"


def path_of_tool(surface: str, at: int) -> str:
    """The dotted place of a tool."""
    return {
        "openai.chat": f"tools[{at}]",
        "openai.responses": f"tools[{at}]",
        "anthropic.messages": f"tools[{at}]",
        "gemini.generate_content": f"tools[0].functionDeclarations[{at}]",
        "bedrock.converse": f"toolConfig.tools[{at}]",
        "bedrock.invoke_model": f"tools[{at}]",
    }[surface]


def grown(ask: Ask, turns: Sequence[tuple[str, str]]) -> list[Ask]:
    """One request per exchange, each going on from the one before."""
    asks = [ask]
    for answer, question in turns:
        asks.append(asks[-1].then(("assistant", answer), ("user", question)))
    return asks


FULL = 2_048
"""Tokens that a turn before has left in the cache."""


def pair(
    folder: Path, surface: str, old: Ask, new: Ask, *, read: int | None = 0, **more: Any
) -> Any:
    """The verdict on `new`, sent after `old`, which filled the cache."""
    before = Sent(old, 0, read=0, written=FULL)
    written = None if read is None else FULL + 200 - read
    return last_verdict(folder, surface, before, Sent(new, 20, read=read, written=written, **more))
