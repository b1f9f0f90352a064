"""Tool calls and tool results as a conversation holds them, in the shape of any provider.

Texts are the normal form of the providers' parts. Every function takes any text and answers for
text that is no such part with nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxdiff_analyzers.content import CALL_TYPES, RESULT_TYPES, WRAPPED_CALLS, WRAPPED_RESULTS

BARE_ROLES = frozenset(("tool", "function"))
"""Roles of messages that are a tool's result as it is, beside its id."""
FREE_TEXT = frozenset(("custom_tool_call", "custom"))
"""Calls whose input is a text and no JSON."""
ACTIONS = ("action", "operation", "commands")
"""What a call of a provider's own tool asks for, in place of arguments."""
FAILED = frozenset(("failed", "error", "incomplete"))
FAILED_OUTCOMES = frozenset(("outcome_failed", "outcome_deadline_exceeded"))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model asked a tool for. Captured text."""

    name: str
    id: str | None
    arguments: str
    """Canonical JSON; the text as written where that is no JSON."""
    is_json: bool
    is_free_text: bool = False
    """True for a custom tool, whose input has no schema."""
    is_hosted: bool = False
    """True where the provider runs the tool: an MCP server's, or one of its own."""

    def argument_names(self) -> frozenset[str]:
        """The names of the arguments; none where they are no JSON object."""
        if not self.is_json or self.is_free_text:
            return frozenset()
        given = json.loads(self.arguments)
        return frozenset(given) if isinstance(given, dict) else frozenset()


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back. Captured text."""

    id: str | None
    name: str | None
    content: Any
    """A text, or what JSON can spell."""
    flag: str | None
    """The member in which the result says that it is a failure: `is_error`, `status`."""


def asked_of(text: str) -> Asked | None:
    """The tool call that a block is."""
    part = _part(text)
    if part is None:
        return None
    kind = part.get("type")
    kind = kind if isinstance(kind, str) else None
    for key in ("function", "custom", *WRAPPED_CALLS):
        inner = part.get(key)
        if isinstance(inner, dict):
            return _asked(inner, part, is_free_text=key == "custom")
    hosted = kind in ("mcp_call", "mcp_tool_use", "server_tool_use")
    if kind in CALL_TYPES or hosted:
        return _asked(part, part, is_free_text=kind in FREE_TEXT, is_hosted=hosted)
    if kind is None and set(part) == {"name", "arguments"}:
        return _asked(part, part)
    if kind is not None and kind.endswith("_call") and "name" not in part:
        action = next((part[key] for key in ACTIONS if part.get(key)), None)
        if action is not None:
            return Asked(
                kind.removesuffix("_call"), _id(part), _canonical(action), True, is_hosted=True
            )
    return None


def result_of(text: str, role: str) -> Result | None:
    """The tool result that a block is; for a bare message its text, without name and id."""
    part = _part(text)
    found = None if part is None else _result(part)
    if found is None and role in BARE_ROLES:
        return Result(None, None, _bare(part, text), None)
    return found


def canonical(arguments: Any) -> tuple[str, bool]:
    """Arguments in one spelling, and whether they are JSON."""
    if not isinstance(arguments, str):
        return _canonical({} if arguments is None else arguments), True
    if not arguments.strip():
        return "{}", True
    try:
        return _canonical(json.loads(arguments)), True
    except (ValueError, RecursionError):
        return arguments, False


def joined(content: Any) -> Any:
    """A result's content with its text parts joined; other content as it is."""
    if not isinstance(content, list) or not content:
        return content
    texts = [_text_of(part) for part in content]
    told = [text for text in texts if text is not None]
    if told and len(told) == len(content):
        return "\n".join(told)
    # Images and files beside a text say nothing of how it went.
    values = [part["json"] for part in content if isinstance(part, dict) and "json" in part]
    if len(values) == 1 and not told:
        return values[0]
    return "\n".join(told) if told else content


def _asked(
    holder: Mapping[str, Any],
    ids: Mapping[str, Any],
    *,
    is_free_text: bool = False,
    is_hosted: bool = False,
) -> Asked | None:
    name = holder.get("name")
    if not isinstance(name, str) or not name:
        return None
    given = next((holder[k] for k in ("arguments", "args", "input") if k in holder), None)
    if is_free_text and isinstance(given, str):
        return Asked(name, _id(ids), given, True, is_free_text=True)
    arguments, is_json = canonical(given)
    return Asked(name, _id(holder) or _id(ids), arguments, is_json, is_free_text, is_hosted)


def _id(part: Mapping[str, Any]) -> str | None:
    keys = ("call_id", "tool_call_id", "tool_use_id", "toolUseId", "id")
    return next((part[key] for key in keys if isinstance(part.get(key), str)), None)


def _result(part: dict[str, Any]) -> Result | None:
    for key in WRAPPED_RESULTS:
        inner = part.get(key)
        if isinstance(inner, dict):
            return _wrapped(inner)
    kind = part.get("type")
    if not isinstance(kind, str):
        code = part.get("code_execution_result", part.get("codeExecutionResult"))
        return _code_result(code) if isinstance(code, dict) else None
    if kind == "mcp_call":
        flag = "error" if part.get("error") else "status" if _failed(part) else None
        return Result(_id(part), part.get("name"), part.get("error") or part.get("output"), flag)
    if kind.endswith(("_call_output", "_tool_result")) or kind in RESULT_TYPES:
        content = next((part[k] for k in ("output", "content") if k in part), None)
        return Result(_id(part), None, joined(content), _flag(part, content))
    return None


def _wrapped(inner: dict[str, Any]) -> Result:
    """A result of Gemini or Bedrock."""
    name = inner.get("name")
    name = name if isinstance(name, str) else None
    if "response" in inner:
        said = inner["response"]
        flag = "error" if isinstance(said, dict) and _is_said(said.get("error")) else None
        return Result(_id(inner), name, said, flag)
    return Result(_id(inner), name, joined(inner.get("content")), _flag(inner, None))


def _code_result(code: dict[str, Any]) -> Result:
    outcome = str(code.get("outcome", "")).lower()
    flag = "outcome" if outcome in FAILED_OUTCOMES else None
    return Result(None, "code_execution", code.get("output", ""), flag)


def _flag(part: Mapping[str, Any], content: Any) -> str | None:
    if part.get("is_error") is True or part.get("isError") is True:
        return "is_error"
    if _failed(part):
        return "status"
    if isinstance(content, dict):
        # What the provider's own tools give: an error in place of the result, or how code ended.
        if str(content.get("type", "")).endswith("_error"):
            return "error_code"
        if _is_nonzero(content.get("return_code")):
            return "return_code"
    for entry in content if isinstance(content, list) else ():
        outcome = entry.get("outcome") if isinstance(entry, dict) else None
        if isinstance(outcome, dict) and (
            outcome.get("type") == "timeout" or _is_nonzero(outcome.get("exit_code"))
        ):
            return "outcome"
    return None


def _failed(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("status"), str) and part["status"].lower() in FAILED


def _is_nonzero(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value != 0


def _is_said(error: Any) -> bool:
    return error not in (None, False, "", 0, [], {})


def _bare(part: Mapping[str, Any] | None, text: str) -> Any:
    """The text of a bare result; a lone text part counts as the text that it carries."""
    told = None if part is None or part.get("type") != "text" else part.get("text")
    return told if isinstance(told, str) else text


def _text_of(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else None


def _part(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        part = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return part if isinstance(part, dict) else None


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
