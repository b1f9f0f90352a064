"""What a client sends is never repeated raw, whatever it is, and every request is answered."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.tools.registry import BY_NAME
from tests.trust.everywhere.places import STYLES, Canaries
from tests.trust.everywhere.questions import FEW
from tests.trust.everywhere.reading import faults
from tests.trust.everywhere.story import folder
from tests.trust.goals import GOALS, IS_FULL

HOSTILE = "CNRY\x1b[31m\u202e<|im_start|>\u27e6end x 1\u27e7\x9b\u200b"
ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]")


def request(own_id: Any, method: Any = "tools/call", params: Any = None, **more: Any) -> Any:
    shape = {"jsonrpc": "2.0", "id": own_id, "method": method, **more}
    return shape if params is None else {**shape, "params": params}


def call(own_id: Any, name: Any = "ctxdiff_runs", **arguments: Any) -> Any:
    return request(own_id, params={"name": name, "arguments": arguments})


ANSWERED: dict[str, Any] = {
    "unknown method": request(1, HOSTILE, {}),
    "unknown tool": call(1, HOSTILE),
    "tool of another type": request(1, params={"name": 5, "arguments": {}}),
    "arguments of another type": request(1, params={"name": "ctxdiff_runs", "arguments": HOSTILE}),
    "parameters of another type": request(1, params=HOSTILE),
    "no parameters": request(1),
    "unknown argument": call(1, **{HOSTILE: HOSTILE}),
    "hostile arguments": call(1, "ctxdiff_explain", run=HOSTILE, agent=HOSTILE, run_b=HOSTILE),
    "cursor": request(1, "tools/list", {"cursor": HOSTILE}),
    "resource": request(1, "resources/read", {"uri": HOSTILE}),
    "prompt": request(1, "prompts/get", {"name": HOSTILE}),
    "completion": request(1, "completion/complete", {"ref": {"type": HOSTILE}}),
    "log level": request(1, "logging/setLevel", {"level": HOSTILE}),
    "subscription": request(1, "resources/subscribe", {"uri": HOSTILE}),
    "version of JSON-RPC": request(1, "ping", jsonrpc=HOSTILE),
    "method of another type": request(1, {"x": HOSTILE}),
    "version of the protocol": request(
        1,
        "tools/list",
        {"_meta": {"io.modelcontextprotocol/protocolVersion": HOSTILE}},
    ),
    "second handshake": request(
        1,
        "initialize",
        {
            "protocolVersion": HOSTILE,
            "capabilities": {HOSTILE: {}},
            "clientInfo": {"name": HOSTILE, "version": HOSTILE},
        },
    ),
    "progress token": request(
        1, params={"name": "ctxdiff_runs", "_meta": {"progressToken": HOSTILE}}
    ),
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ctxdiff_runs",'
    b'"arguments":{"limit":NaN}}}',
    "half a pair": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":'
    b'"ctxdiff_explain","arguments":{"run":"\\ud800CNRY"}}}',
    "nested": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ctxdiff_explain",'
    b'"arguments":{"run":' + b"[" * 400 + b"]" * 400 + b"}}}",
    "large argument": call(1, "ctxdiff_search", run="latest", query=HOSTILE * 5_000),
}
"""Requests with a good id: each has one answer, under that id."""

REFUSED: dict[str, Any] = {
    "no JSON": HOSTILE.encode(),
    "no UTF-8": b"\xff\xfe\x9b\x1b[2J",
    "cut off": b'{"jsonrpc":"2.0","id":1,"method":"CNRY',
    "list": json.dumps([call(1)]).encode(),
    "text": json.dumps(HOSTILE).encode(),
    "null": b"null",
    "bottomless": b'{"a":' * 20_000,
    "too long": b'{"x":"' + b"CNRY" * 300_000 + b'"}',
    "large id": request(HOSTILE * 2_000, "ping"),
    "huge id": request(10**40, "ping"),
    "id of 5,000 digits": b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}',
    "fractional id": request(1.5, "ping"),
    "id null": request(None, "ping"),
    "id of another type": request({"CNRY": HOSTILE}, "ping"),
}
"""Lines without an id that could come back: each is answered by an error without one."""

UNANSWERED: dict[str, Any] = {
    "unknown notification": {"jsonrpc": "2.0", "method": f"notifications/{HOSTILE}"},
    "cancellation": {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": HOSTILE, "reason": HOSTILE},
    },
    "progress": {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": HOSTILE, "progress": HOSTILE},
    },
    "answer": {"jsonrpc": "2.0", "id": 77, "result": {"x": HOSTILE}},
    "error": {"jsonrpc": "2.0", "id": 78, "error": {"code": 1, "message": HOSTILE}},
    "empty line": b"  ",
}


def leaks(line: bytes) -> bool:
    text = line.decode("utf-8")
    return "CNRY" in text or ACTING.search(text) is not None


def test_every_request_is_answered_under_its_id_and_nothing_of_it_is_repeated(
    talk: Callable[..., Any],
) -> None:
    asked = {
        name: one.replace(b'"id":1', b'"id":"%s"' % name.encode())
        if isinstance(one, bytes)
        else {**one, "id": name}
        for name, one in ANSWERED.items()
    }
    said = talk(*asked.values(), expected=len(asked))
    ids = [one["id"] for one in said.messages]
    assert sorted(ids) == sorted([*asked, "start", "last"])
    assert [line for line in said.lines if leaks(line)] == []
    assert all(len(line) <= 8_000 for line in said.lines)
    assert said.status == 0
    GOALS.echo.add(len(asked), part="requests")


def test_a_line_that_is_no_request_is_refused_in_fixed_words_and_the_server_goes_on(
    talk: Callable[..., Any],
) -> None:
    said = talk(*REFUSED.values(), expected=len(REFUSED))
    assert [one["id"] for one in said.messages].count(None) == len(REFUSED)
    words = {one["error"]["message"] for one in said.messages if one["id"] is None}
    assert words == {
        "the line is no JSON, or too long",
        "the message is no request of JSON-RPC 2.0",
    }
    assert not any(map(leaks, said.lines))
    assert (said.answer("last")["result"], said.stderr, said.status) == ({}, b"", 0)
    GOALS.echo.add(len(REFUSED), part="lines")


def test_what_awaits_no_answer_gets_none_and_leaves_nothing_raw_on_stderr(
    talk: Callable[..., Any],
) -> None:
    said = talk(*UNANSWERED.values(), expected=0)
    assert [one["id"] for one in said.messages] == ["start", "last"]
    assert ACTING.search(said.stderr.decode()) is None
    GOALS.echo.add(len(UNANSWERED), part="notifications")


def test_an_id_comes_back_as_it_was_and_in_ascii(talk: Callable[..., Any]) -> None:
    ids = [HOSTILE[:12], "né", "\u202eabc", 0, -5, 2**62]
    said = talk(*(request(one, "ping") for one in ids), call("\u05d0"), expected=len(ids) + 1)
    assert {one["id"] for one in said.messages} == {*ids, "\u05d0", "start", "last"}
    assert all(line.isascii() for line in said.lines if b"instructions" not in line)


LARGE = {"response_format": "detailed", "max_chars": 16_000}
"""Arguments that ask for more than the default."""


@pytest.mark.parametrize("style", STYLES if IS_FULL else ["hostile"])
def test_answers_about_a_trace_full_of_canaries_keep_their_size_on_the_wire(
    talk: Callable[..., Any], tmp_path: Path, style: str
) -> None:
    canaries = Canaries(style)
    folder(tmp_path / "runs", canaries)
    asked = [
        (tool, {**arguments, **more})
        for tool, arguments in FEW
        for more in ({}, {"run": "r3"}, *({key: value} for key, value in LARGE.items()))
        if more.keys() <= {one.name for one in BY_NAME[tool].arguments}
    ]
    asked += [("ctxdiff_block", {"run": "latest", "content_hash": "b7", "max_chars": 16_000})]
    said = talk(
        *(call(number, tool, **arguments) for number, (tool, arguments) in enumerate(asked)),
        expected=len(asked),
    )
    names = [f"odd#{canaries('Session.id')[:8]}"]
    lines = {json.loads(line)["id"]: line for line in said.lines}
    for number, (tool, arguments) in enumerate(asked):
        most = 20_000 if arguments.keys() & LARGE.keys() else 8_000
        assert len(lines[number]) <= most, (tool, arguments)
        text = json.loads(lines[number].decode("utf-8"))["result"]["content"][0]["text"]
        assert faults(text, names) == [], (tool, arguments)
    GOALS.cap.add(len(asked), part=f"canaries, {style}")


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": HOSTILE, "version": HOSTILE},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_the_newer_protocol_repeats_nothing_either(talk: Callable[..., Any]) -> None:
    params = {"_meta": MODERN}
    lines = {
        "method": request("method", HOSTILE, params),
        "tool": request("tool", params={"name": HOSTILE, "arguments": {}, **params}),
        "cursor": request("cursor", "tools/list", {"cursor": HOSTILE, **params}),
        "version": request(
            "version", "tools/list", {"_meta": {**MODERN, next(iter(MODERN)): HOSTILE}}
        ),
        "handshake": request("handshake", "initialize", {"protocolVersion": HOSTILE}),
        "last": request("last", "server/discover", params),
    }
    said = talk(*lines.values(), expected=len(lines), opening=(), closing=())
    assert {one["id"] for one in said.messages} == set(lines)
    assert not any(map(leaks, said.lines))
    version = said.answer("version")["error"]
    assert version["data"] == {"supported": ["2026-07-28"], "requested": "unknown"}
    GOALS.echo.add(len(lines), part="requests of 2026-07-28")


# The key is in pieces: from Python 3.13 on a traceback quotes code of `-c` too.
TOOLS = """
from ctxdiff_mcp.tools import registry
from ctxdiff_mcp.tools.tool import Tool
def failing(context, values):
    raise RuntimeError("CNRY\\x1b[2J\\u202e\\x9b\\ud800 sk-" + "ant-api03-" + "aB3" * 31 + "AA\\nforged line")
def large(size):
    return Tool("large", "", "", (), lambda *_: "x" * size)
registry.BY_NAME = {
    "above": large(%d - 80), "below": large(%d - 200), "failing": Tool("failing", "", "", (), failing)
}
"""


def tools(most: int) -> str:
    """Code that gives a server, and the worker that answers for it, tools that do wrong."""
    made = TOOLS % (most, most)
    return f"""{made}
from ctxdiff_mcp.worker import process
paths, _, rest = process.BOOT.partition("; from")
process.BOOT = paths + "\\n" + {made!r} + "\\nfrom" + rest
"""


@pytest.mark.parametrize(("options", "most"), [("", 20_000), (", 'all', hard_cap=8_000", 8_000)])
def test_no_result_above_the_cap_leaves_whatever_a_tool_made(
    talk: Callable[..., Any], options: str, most: int
) -> None:
    calls = [call("above", "above"), call("below", "below")]
    said = talk(*calls, expected=2, options=options, inside=tools(most))
    result = said.answer("above")["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("error too_large: ")
    assert said.answer("below")["result"]["isError"] is False
    assert all(len(line) <= most for line in said.lines)
    GOALS.cap.add(2, part=f"made too large for {most:,}")


def test_an_unforeseen_error_is_told_on_stderr_in_lines_that_act_on_nothing(
    talk: Callable[..., Any],
) -> None:
    said = talk(call("bad", "failing"), expected=1, inside=tools(1_000))
    text = said.answer("bad")["result"]["content"][0]["text"]
    assert re.fullmatch(
        r"error internal error [0-9a-f]{6}: this answer could not be made; the server goes on\n"
        r"next: ctxdiff_runs\(\)\n",
        text,
    )
    told = said.stderr.decode()
    assert text.split()[3].rstrip(":") in told
    assert "RuntimeError" in told
    assert "CNRY\u27e61B\u27e7[2J" in told
    assert "\n  | forged line" in told
    assert not any(piece in told for piece in ("sk-ant", "aB3aB3"))
    assert ACTING.search(told) is None


def test_in_redact_mode_stderr_is_silent_about_it(talk: Callable[..., Any]) -> None:
    said = talk(call("bad", "failing"), expected=1, options=", 'text'", inside=tools(1_000))
    assert said.stderr == b""
    assert "internal error 000000" in said.answer("bad")["result"]["content"][0]["text"]
