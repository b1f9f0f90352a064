"""What a body costs grows with its size, whatever makes it large."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from time import thread_time
from typing import Any

import pytest
from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.model import Exchange
from ctxdiff_capture.tokens.counter import TokenCounter

from tests.trust.fuzz.budget import tally
from tests.trust.fuzz.seeds import SEEDS, Seed
from tests.trust.goals import attempts

STARTED = "2026-11-30T11:39:03.079952+00:00"
BY_SURFACE = {seed.surface: seed for seed in reversed(SEEDS)}
TEXT = "words of an answer " * 60
Json = Any


def chat(delta: Json) -> Json:
    return {"choices": [{"index": 0, "delta": delta}]}


def anthropic(delta: Json) -> Json:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def gemini(part: Json) -> Json:
    return {"candidates": [{"content": {"parts": [part]}}]}


def converse(delta: Json) -> Json:
    return {"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}}


def responses(kind: str, **more: Json) -> Json:
    return {"type": f"response.{kind}.delta", "output_index": 0, "delta": TEXT, **more}


DELTAS: dict[str, list[Callable[[int], Json]]] = {
    "openai.chat": [
        lambda _: chat({"content": TEXT}),
        lambda _: chat({"reasoning_content": TEXT}),
        lambda _: chat({"function_call": {"arguments": TEXT}}),
        lambda _: chat({"tool_calls": [{"index": 0, "function": {"arguments": TEXT}}]}),
        lambda n: chat({"tool_calls": [{"index": n, "id": "c", "function": {"arguments": "1"}}]}),
        lambda n: {"choices": [{"index": n, "delta": {"content": "x"}}]},
        lambda n: {f"member {n}": n, "choices": []},
    ],
    "openai.responses": [
        lambda _: responses("output_text", content_index=0),
        lambda _: responses("function_call_arguments"),
        lambda n: responses("output_text", content_index=n) | {"delta": "x"},
        lambda n: responses("output_text") | {"output_index": n, "delta": "x"},
    ],
    "anthropic.messages": [
        lambda _: anthropic({"type": "text_delta", "text": TEXT}),
        lambda _: anthropic({"type": "thinking_delta", "thinking": TEXT}),
        lambda _: anthropic({"type": "input_json_delta", "partial_json": TEXT}),
        lambda _: anthropic({"type": "citations_delta", "citation": {"cited_text": "x"}}),
        lambda n: {"type": "message_delta", "usage": {f"counter {n}": n}},
    ],
    "gemini.generate_content": [
        lambda _: gemini({"text": TEXT}),
        lambda _: gemini({"text": TEXT, "thought": True}),
        lambda n: gemini({"functionCall": {"name": f"f{n}"}}),
    ],
    "bedrock.converse": [
        lambda _: converse({"text": TEXT}),
        lambda _: converse({"toolUse": {"input": TEXT}}),
        lambda _: converse({"reasoningContent": {"text": TEXT}}),
        lambda _: converse({"reasoningContent": {"redactedContent": "QUJD" * 200}}),
        lambda n: converse({"citation": {"title": f"{n}"}}),
        lambda n: converse({"toolResult": [{"text": f"{n}"}]}),
        lambda n: converse({"image": {f"member {n}": n}}),
    ],
}
STREAMS = [(surface, number) for surface, made in DELTAS.items() for number in range(len(made))]


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds, the least of a few tries: what else the machine does only adds."""
    found = []
    for _ in range(2):
        gc.disable()
        start = thread_time()
        try:
            work()
        finally:
            found.append(thread_time() - start)
            gc.enable()
    return min(found)


def decoding(seed: Seed, request: bytes, response: bytes, **known: Any) -> Callable[[], object]:
    exchange = Exchange(seed.surface, request, STARTED, response=response, **known)
    return lambda: decode(exchange, seq=1, call_id="c" * 32, count=TokenCounter())


def is_linear(work_of: Callable[[int], Callable[[], object]], size: int) -> bool:
    """Whether four times the size takes less than nine times as long; sixteen were quadratic."""
    small, large = work_of(size), work_of(4 * size)
    # What else the machine does may spoil a try, but cannot make a quadratic one pass.
    return any(seconds(large) < 9 * max(seconds(small), 0.002) for _ in range(3))


@pytest.mark.parametrize(("surface", "number"), STREAMS)
def test_a_stream_of_many_events_is_folded_in_linear_time(surface: str, number: int) -> None:
    seed, delta = BY_SURFACE[surface], DELTAS[surface][number]
    with tally("growing streams") as tried:

        def of_size(size: int) -> Callable[[], object]:
            tried.one()
            events = [json.dumps(delta(at)).encode() for at in range(size)]
            request = json.dumps(seed.request).encode()
            return decoding(seed, request, seed.stream(events), is_event_stream=True)

        assert is_linear(of_size, attempts(100, 1_500))


REQUESTS: dict[str, Callable[[int], bytes]] = {
    "messages": lambda n: json.dumps({"messages": [{"role": "user", "content": f"{i}"} for i in range(n)]}).encode(),
    "numbers": lambda n: b'{"messages": [' + b",".join([b"1"] * 10 * n) + b"]}",
    "parts": lambda n: json.dumps({"messages": [{"role": "user", "content": [{"text": "x"}] * n}]}).encode(),
    "members": lambda n: json.dumps({f"m{i}": i for i in range(10 * n)}).encode(),
    "the same member": lambda n: b"{" + b'"messages": [1, 2],' * n + b'"n": 1}',
    "blanks": lambda n: b'{"messages":' + b" " * 100 * n + b"[]}",
    "brackets": lambda n: b'{"messages": ' + b"[" * 10 * n,
    "quotes": lambda n: b'{"messages": "' + b'\\"' * 100 * n,
    "base64": lambda n: json.dumps({"messages": [{"role": "user", "content": [{"data": "QUJD" * 100 * n}]}]}).encode(),
    "almost base64": lambda n: json.dumps({"tools": [{"encrypted_content": "A" * 400 * n + "!"}]}).encode(),
    "addresses": lambda n: json.dumps({"server": "http://a?" + "key=" * 100 * n}).encode(),
    "headers": lambda n: json.dumps({"tools": [{"headers": {f"h{i}": "x" for i in range(n)}}]}).encode(),
    "unread names": lambda n: b'"api-key-' * 20 * n,
}  # fmt: skip


@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("surface", ["openai.chat", "bedrock.invoke_model"])
def test_a_large_request_is_read_in_linear_time(surface: str, kind: str) -> None:
    with tally("growing requests") as tried:

        def of_size(size: int) -> Callable[[], object]:
            tried.one()
            return decoding(BY_SURFACE[surface], REQUESTS[kind](size), b"{}")

        assert is_linear(of_size, attempts(100, 1_500))


ANSWERS: dict[str, Callable[[int], bytes]] = {
    "blank lines": lambda n: b"data: {}" + b"\n" * 100 * n,
    "carriage returns": lambda n: b"data: {}" + b"\r" * 100 * n,
    "data lines": lambda n: b"data: 1\n" * 20 * n,
    "names": lambda n: b"event: x\n" * 20 * n,
    "colons": lambda n: b":" * 100 * n,
    "torn objects": lambda n: b"[" + b'{"a":' * 20 * n,
    "frames": lambda n: b"\0\0\0\x10\0\0\0\0" * 10 * n,
    "page": lambda n: b"<html>" * 100 * n,
}


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("surface", DELTAS)
def test_a_large_answer_is_read_in_linear_time(surface: str, kind: str) -> None:
    with tally("growing answers") as tried:

        def of_size(size: int) -> Callable[[], object]:
            tried.one()
            return decoding(BY_SURFACE[surface], b"{}", ANSWERS[kind](size), is_event_stream=True)

        assert is_linear(of_size, attempts(100, 1_500))
