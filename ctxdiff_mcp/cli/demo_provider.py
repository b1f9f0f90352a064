"""A provider on the loopback interface that answers from a script, in the real wire shapes."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

PATHS = {
    "/v1/chat/completions": "openai.chat",
    "/v1/messages": "anthropic.messages",
}
CREATED = 1_764_500_000
"""Unix time in every answer, so that two recordings have the same bytes."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What the scripted model says when it wants a tool."""

    name: str
    arguments: Mapping[str, Any]


Answer = str | ToolUse
"""The scripted model's next answer: a text or a tool call."""


@dataclass(slots=True)
class Provider:
    """The running provider, and what it was sent."""

    url: str
    answers: list[Answer]
    """Still to be given, next one first."""
    exchanges: list[tuple[str, dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    """(surface, request body, response body) in the order of the calls."""

    def answer(self, surface: str, request: dict[str, Any]) -> dict[str, Any]:
        """The response body for a request; takes the next answer from the script."""
        number = len(self.exchanges) + 1
        respond = chat_completion if surface == "openai.chat" else anthropic_message
        response = respond(number, request, self.answers.pop(0))
        self.exchanges.append((surface, request, response))
        return response


def tokens_of(value: object) -> int:
    """A provider's count, roughly: four characters of JSON to a token."""
    return len(json.dumps(value)) // 4


def chat_completion(number: int, request: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """A Chat Completions response."""
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if isinstance(answer, str):
        message["content"] = answer
    else:
        function = {"name": answer.name, "arguments": json.dumps(answer.arguments)}
        message["tool_calls"] = [
            {"id": f"call_demo{number:02}", "type": "function", "function": function}
        ]
    prompt = tokens_of([request["messages"], request.get("tools")])
    output = tokens_of(message)
    return {
        "id": f"chatcmpl-demo{number:02}",
        "object": "chat.completion",
        "created": CREATED,
        "model": request["model"],
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": "stop" if isinstance(answer, str) else "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
        },
    }


def anthropic_message(number: int, request: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """A Messages response."""
    content: dict[str, Any] = (
        {"type": "text", "text": answer}
        if isinstance(answer, str)
        else {
            "type": "tool_use",
            "id": f"toolu_demo{number:02}",
            "name": answer.name,
            "input": dict(answer.arguments),
        }
    )
    return {
        "id": f"msg_demo{number:02}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [content],
        "stop_reason": "end_turn" if isinstance(answer, str) else "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens_of([request.get("system"), request["messages"]]),
            "output_tokens": tokens_of(content),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


@contextmanager
def provider(answers: Sequence[Answer]) -> Generator[Provider, None, None]:
    """A provider that serves on a free loopback port while the block runs."""
    running = Provider("", list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            surface = PATHS[self.path.partition("?")[0]]
            payload = json.dumps(running.answer(surface, json.loads(body))).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            """Say nothing: the terminal belongs to the demo."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        running.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield running
        finally:
            server.shutdown()
