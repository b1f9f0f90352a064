"""Faults of calls, answers, settings and cost, beside those of `faults`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.analyzers.faults import (
    Faulty,
    Json,
    Script,
    at,
    clean,
    fault,
    results,
    since,
    spelled,
    with_said,
)
from tests.analyzers.wire import Got

CUT: Mapping[str, str] = {
    "openai.chat": "length",
    "anthropic.messages": "max_tokens",
    "bedrock.invoke_model": "max_tokens",
    "gemini.generate_content": "MAX_TOKENS",
    "bedrock.converse": "max_tokens",
}
REFUSED: Mapping[str, str] = {
    "openai.chat": "content_filter",
    "anthropic.messages": "refusal",
    "bedrock.invoke_model": "refusal",
    "gemini.generate_content": "SAFETY",
    "bedrock.converse": "guardrail_intervened",
}


def finish(response: Json, surface: str, reason: str) -> None:
    """Put a finish reason into an answer."""
    if surface == "openai.chat":
        response["choices"][0]["finish_reason"] = reason
    elif surface == "gemini.generate_content":
        response["candidates"][0]["finishReason"] = reason
    elif surface == "bedrock.converse":
        response["stopReason"] = reason
    elif surface == "openai.responses":
        response["status"] = "incomplete"
        response["incomplete_details"] = {"reason": reason}
    else:
        response["stop_reason"] = reason


def texts(value: Json) -> list[tuple[Any, Any]]:
    """(holder, key) of every text of an answer."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("text", "content") and isinstance(inner, str):
                found.append((value, key))
            found += texts(inner)
    elif isinstance(value, list):
        for inner in value:
            found += texts(inner)
    return found


@fault
def cut_answer(surface: str, script: Script) -> Faulty:
    log = clean(surface, script)
    turn = len(log)
    for holder, key in texts(log[-1]["response"]):
        holder[key] = holder[key][: len(holder[key]) // 2]
    finish(log[-1]["response"], surface, CUT.get(surface, "max_output_tokens"))
    return Faulty(log, turn, frozenset(("output_truncated",)))


@fault
def refused_answer(surface: str, script: Script) -> Faulty:
    log = clean(surface, script)
    finish(log[-1]["response"], surface, REFUSED.get(surface, "content_filter"))
    return Faulty(log, len(log), frozenset(("output_refused",)))


@fault
def empty_answer(surface: str, script: Script) -> Faulty:
    log = clean(surface, script)
    for holder, key in texts(log[-1]["response"]):
        holder[key] = ""
    return Faulty(log, len(log), frozenset(("output_empty",)))


ERRORS = (
    {"type": "RateLimitError", "status": 429, "message": "too many tokens per minute for this key"},
    {"type": "InternalServerError", "status": 500, "message": "shard restarted"},
    {"type": "APITimeoutError", "status": None, "message": "no answer within 600 s"},
    {"type": "PermissionDeniedError", "status": 403, "message": "model not enabled"},
)


@fault
def failed_call(surface: str, script: Script) -> Faulty:
    error = ERRORS[(len(surface) + len(script.name)) % len(ERRORS)]
    calls = at(script.calls(), 5, answer=None, error=error)[:5]
    return Faulty(spelled(surface, calls), 5, frozenset(("call_failed",)))


@fault
def retried_call(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    error = {"type": "OverloadedError", "status": 529, "message": "overloaded"}
    twice = [*calls[:3], replace(calls[3], answer=None, error=error), *calls[3:]]
    return Faulty(spelled(surface, twice), 5, frozenset(("call_retried",)))


@fault
def other_model(surface: str, script: Script) -> Faulty:
    log = clean(surface, script)
    for line in log[4:]:
        key = "modelId" if "modelId" in line["request"] else "model"
        line["request"][key] += "-mini"
    return Faulty(log, 5, frozenset(("model_changed",)))


@fault
def warmer(surface: str, script: Script) -> Faulty:
    value = {"temperature": 1.0}
    params: dict[str, Json] = {
        "gemini.generate_content": {"generationConfig": value},
        "bedrock.converse": {"inferenceConfig": value},
    }.get(surface, value)
    calls = since(script.calls(), 5, lambda c: replace(c, params=params))
    return Faulty(spelled(surface, calls), 5, frozenset(("params_changed",)))


@fault
def chained(surface: str, script: Script) -> Faulty | None:
    if surface == "openai.responses":
        params: dict[str, Json] = {"previous_response_id": "resp_1"}
    elif surface == "gemini.generate_content":
        params = {"cachedContent": "cachedContents/77"}
    else:
        return None
    calls = script.calls()
    kept = len(calls[3].said)
    bad = since(calls, 5, lambda c: replace(c, params=params, said=c.said[kept:]))
    return Faulty(spelled(surface, bad), 5, frozenset(("context_hidden",)))


@fault
def huge_result(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    turn, index = results(calls)[3]
    got = calls[-1].said[index]
    assert isinstance(got, Got)
    rows = "\n".join(f"{n};{n * 37 % 991};shelf {n % 17}" for n in range(1_500))
    bad = since(calls, turn, lambda c: with_said(c, index, [replace(got, text=rows)]))
    return Faulty(spelled(surface, bad), turn, frozenset(("growth_spike",)))


@fault
def refused_as_too_long(surface: str, script: Script) -> Faulty:
    words = "input length and max_tokens exceed context limit: 199120 + 8192 > 200000"
    error = {"type": "BadRequestError", "status": 400, "message": words}
    calls = at(script.calls(), 5, answer=None, error=error)[:5]
    return Faulty(spelled(surface, calls), 5, frozenset(("window_pressure",)))


DEAR = frozenset(("dead_schemas", "cache_unused"))
"""Where nothing is cached, a long tool makes a long prefix that is paid in full."""


@fault
def dear_tool(surface: str, script: Script) -> Faulty:
    log = clean(surface, script)
    text = " ".join(f"Field {n} names the berth of quay {n % 7}." for n in range(150))
    for line in log:
        last = script.tools[-1]
        line["request"] = _longer(line["request"], f"Uses {last}.", text)
    unused = [name for name in script.tools if name == script.tools[-1]]
    asked = {ask.name for ask in script.said if hasattr(ask, "args")}
    if asked.intersection(unused):
        return _with_extra_tool(surface, script, text)
    return Faulty(log, 6, DEAR)


def _with_extra_tool(surface: str, script: Script, text: str) -> Faulty:
    calls = [replace(c, tools=(*c.tools, "quay_plan")) for c in script.calls()]
    log = spelled(surface, calls)
    for line in log:
        line["request"] = _longer(line["request"], "Uses quay_plan.", text)
    return Faulty(log, 6, DEAR)


def _longer(value: Json, old: str, new: str) -> Json:
    if isinstance(value, str):
        return new if value == old else value
    if isinstance(value, list):
        return [_longer(one, old, new) for one in value]
    if isinstance(value, dict):
        return {key: _longer(one, old, new) for key, one in value.items()}
    return value


@fault
def stream_without_usage(surface: str, script: Script) -> Faulty | None:
    if surface != "openai.chat":
        return None
    log = clean(surface, script)
    for line in log:
        line["request"]["stream"] = True
        del line["response"]["usage"]
    return Faulty(log, 5, frozenset(("usage_missing",)))
