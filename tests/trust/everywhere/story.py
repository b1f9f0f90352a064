"""A runs folder whose every place is filled: a run that breaks, its other sessions, bad files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import (
    Block,
    Call,
    CallError,
    Decision,
    Placement,
    Stage,
)
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session

from tests.trust.everywhere.places import Canaries, filled

Canary = Callable[[str], str]

SENT = {"model": "gpt-5.4", "temperature": 1}


def placed(text: str, role: str, label: str, kind: str = "message", *, tagged: bool = False) -> Any:
    """A block at its place, as a recorder stores it."""
    block = Block(digest_of(role, kind, text), role, kind, text, 40, "tiktoken")
    return Placement(block, label, "tagged" if tagged else "heuristic")


def schema(canary: Canary, name: str, more: str = "") -> Placement:
    """A tool's schema with a text in each of its members."""
    place = f"schema {name}"
    parts = {
        "name": canary(f"{place} name"),
        "description": canary(f"{place} description") + more,
        "parameters": {
            "type": "object",
            "properties": {
                canary(f"{place} property"): {"type": "string", "enum": [canary(place)]}
            },
        },
    }
    return placed(json.dumps(parts), "system", "tool_schema", "tool_schema")


def tool_call(canary: Canary, number: int) -> Placement:
    """A call of a tool, as Anthropic and OpenAI spell it."""
    value = canary("argument of a tool call")
    if number % 2:
        part = {"type": "tool_use", "id": canary("tool call id"), "name": canary("schema a name")}
        part |= {"input": {canary("name of an argument"): value, "list": [value]}}  # type: ignore[dict-item]
    else:
        arguments = json.dumps({canary("name of an argument"): value})
        function = {"name": canary("schema a name"), "arguments": arguments}
        part = {"type": "function", "id": canary("tool call id"), "function": function}  # type: ignore[dict-item]
    return placed(json.dumps(part), "assistant", "history", "content_part")


def tool_result(canary: Canary, more: str = "") -> Placement:
    """What the tool gave, an error."""
    part = {
        "type": "tool_result",
        "tool_use_id": canary("tool call id"),
        "is_error": True,
        "content": f"Error: {canary('tool result')}{more}",
    }
    return placed(json.dumps(part), "user", "tool_output", "content_part")


def turns(canary: Canary) -> list[dict[str, Any]]:
    """Six turns of two agents: what they lose, alter and repeat fills every kind of finding."""
    rules, other_rules = canary("system prompt"), canary("other system prompt")
    note = placed(canary("tagged note"), "user", canary("label"), tagged=True)
    question = placed(canary("question"), "user", "user")
    said = placed(canary("answer"), "assistant", "history")
    image = placed(canary("image"), "user", "user", "image")
    odd = placed(canary("odd block"), canary("role"), canary("odd label"), canary("kind"))
    long = placed(canary("long text") + " row" * 3_000, "user", canary("label of a long text"))
    a, b = schema(canary, "a"), schema(canary, "b")
    first = [placed(f"{rules} v1", "system", "system"), a, b, note, question, image]
    later = [placed(f"{rules} v2", "system", "system"), b, schema(canary, "a", "!"), question, odd]
    mine = {"agent": canary("agent"), "step": canary("step")}
    theirs = {"agent": canary("other agent"), "step": canary("other step")}
    error = CallError(canary("error type"), canary("error message"), 429)
    said_before = {
        "stages": (Stage(canary("stage"), canary("stage time"), (*first, long)),),
        "decisions": (
            Decision(
                canary("tagged note"), canary("disposition"), canary("reason of a decision"), 1, 9
            ),
        ),
    }
    more = {canary("parameter"): canary("value of a parameter"), "stop": [canary("stop word")]}
    return [
        {"inputs": first, "outputs": [tool_call(canary, 1)], **mine},
        {"inputs": [*first, tool_call(canary, 1), tool_result(canary)], "outputs": [said], **mine},
        {
            "inputs": [placed(other_rules, "system", "system"), said],
            "outputs": [tool_call(canary, 2)],
            **theirs,
        },
        {
            "inputs": [*later, tool_call(canary, 2), tool_result(canary, "?"), question],
            "params": {**SENT, **more, "metadata": {canary("key of metadata"): canary("metadata")}},
            "finish_reason": canary("finish reason"),
            "response_model": canary("response model"),
            "error": error,
            **said_before,
            **mine,
        },
        {
            "inputs": [*later, said, said, long],
            "params": {**SENT, "model": canary("model")},
            **mine,
        },
        {
            "inputs": [placed(other_rules + "!", "system", "system"), said, question],
            "outputs": [placed(canary("refusal"), "assistant", "history")],
            "finish_reason": "length",
            "usage": {"prompt_tokens": 90, "completion_tokens": 4, canary("usage"): 1},
            **theirs,
        },
    ]


def write(
    path: Path, calls: Sequence[Mapping[str, Any]], canary: Canary, session_id: str, day: int = 30
) -> None:
    """A session of these calls; what a call does not name is plain."""
    session = create_session(
        Destination(path=path),
        project=canary("Session.project"),
        provider=canary("Session.provider"),
        started_at=f"2026-11-{day:02d}T10:00:00.000000+00:00",
        session_id=session_id,
    )
    for seq, call in enumerate(calls, 1):
        given: dict[str, Any] = {
            "id": f"{session_id[:24]}{seq:08d}",
            "provider": "openai",
            "surface": "openai.chat",
            "params": SENT,
            "usage": {"prompt_tokens": 400 * seq, "completion_tokens": 9},
            "finish_reason": "stop",
            "started_at": f"2026-11-{day:02d}T10:00:{seq:02d}.000000+00:00",
            "latency_ms": 100,
            **call,
        }
        for side in ("inputs", "outputs"):
            given[side] = tuple(given.get(side, ()))
        session.write(Call(seq=seq, **given))
    session.close()


def walked(canary: Canary) -> list[dict[str, Any]]:
    """Calls of which every field is filled, by walking the model; well formed where needed."""
    hints = get_type_hints(Call)
    calls = []
    for known in ({}, {"role": "user", "kind": "message", "surface": "openai.chat"}):
        given = {
            f"Call.{name}": value for name, value in known.items() if name not in ("role", "kind")
        }
        for held in ("inputs[]", "outputs[]", "stages[].inputs[]"):
            for name in ("role", "kind"):
                if name in known:
                    given[f"Call.{held}.block.{name}"] = known[name]
        calls.append(
            {
                name: filled(hints[name], f"Call.{name}", canary, given)
                for name in Call.__dataclass_fields__
                if name not in ("id", "seq")
            }
        )
    return calls


def folder(path: Path, canaries: Canaries) -> Path:
    """The runs folder: two files of two sessions, one whose name is a text, two bad ones."""
    path.mkdir()
    named = canaries("name of a folder").replace("/", "")
    (path / named).mkdir()
    story = path / "demo.ctrace"
    write(story, turns(canaries), canaries, "5e55" + "0" * 28)
    write(story, turns(canaries)[2:], canaries, "07" * 16, day=29)
    file = path / named / f"{canaries('name of a file').replace('/', '')}.ctrace"
    write(file, walked(canaries), canaries, "0a" * 16, day=28)
    odd = path / "odd.ctrace"
    write(odd, walked(canaries), canaries, canaries("Session.id"), day=27)
    write(odd, walked(canaries), canaries, "0b" * 16, day=26)
    bad = canaries("name of a bad file").replace("/", "")
    (path / f"{bad}.ctrace").write_bytes(b"CNRY no database")
    (path / f"{bad}link.ctrace").symlink_to(story)
    return path
