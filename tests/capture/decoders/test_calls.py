"""Whole calls: what a decoder tells of requests, answers, streams and failures."""

import json
from hashlib import sha256

import pytest
from ctxdiff_capture.decoders.dispatch import DECODERS, decode
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import (
    SURFACES,
    Attempt,
    Block,
    Call,
    CallError,
    Exchange,
    Placement,
    Tag,
)
from hypothesis import given
from hypothesis import strategies as st

STARTED = "2026-11-30T11:39:03.079952+00:00"
ANTHROPIC = "anthropic.messages"
REQUEST = {
    "model": "gpt-4o",
    "temperature": 0.2,
    "messages": [{"role": "user", "content": "Say hello"}],
}
ANSWER = {
    "id": "c1",
    "model": "gpt-4o-2024",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}},
}


def text_block(role, text, tokens, method="tiktoken"):
    return Block(digest_of(role, "message", text), role, "message", text, tokens, method)


def texts(placements):
    return [p.block.text for p in placements]


def sse(*events):
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def test_each_surface_has_a_decoder():
    assert set(DECODERS) == set(SURFACES)


def test_a_surface_without_a_decoder_is_a_programmers_mistake(counter):
    with pytest.raises(ValueError, match="acme"):
        decode(Exchange("acme.chat", b"{}", STARTED), seq=1, call_id="c", count=counter)


def test_a_call_is_decoded_whole(decoded):
    data = json.dumps(REQUEST).encode()
    call = decoded(
        data,
        ANSWER,
        status=200,
        first_byte_ms=30,
        latency_ms=40,
        url="https://api.openai.com/v1/chat/completions",
        request_id="req_1",
        agent="desk",
        step="answer",
        tags=(Tag("rag", "hello"),),
        metadata={"cost": 0.2},
    )
    assert call == Call(
        id="c" * 32,
        seq=1,
        provider="openai",
        surface="openai.chat",
        inputs=(
            Placement(text_block("user", "Say hello", 2), "rag", "tagged", "/messages/0/content"),
        ),
        params={"model": "gpt-4o", "temperature": 0.2},
        outputs=(
            Placement(
                text_block("assistant", "hello", 1), "rag", "tagged", "/choices/0/message/content"
            ),
        ),
        usage=ANSWER["usage"],
        finish_reason="stop",
        response_id="c1",
        response_model="gpt-4o-2024",
        request_id="req_1",
        attempts=(Attempt(1, STARTED, 40, 200),),
        agent="desk",
        step="answer",
        tags=(Tag("rag", "hello"),),
        started_at=STARTED,
        first_byte_ms=30,
        latency_ms=40,
        endpoint="https://api.openai.com/v1/chat/completions",
        request_pieces=(
            b'{"model": "gpt-4o", "temperature": 0.2, "messages": [',
            b'{"role": "user", "content": "Say hello"}',
            b"]}",
        ),
        request_digest=sha256(data).hexdigest(),
        metadata={"cost": 0.2},
    )


def test_an_invocation_that_was_retried_starts_with_its_first_sending(decoded):
    failed = Attempt(1, "2026-11-30T11:39:01.079952+00:00", 15, 429, CallError("RateLimitError"))
    call = decoded(REQUEST, ANSWER, status=200, latency_ms=40, first_byte_ms=30, attempts=(failed,))
    assert (call.started_at, call.latency_ms, call.first_byte_ms) == (failed.started_at, 2040, 2030)
    assert call.attempts == (failed, Attempt(2, STARTED, 40, 200))


@pytest.mark.parametrize(
    ("surface", "status", "body", "error"),
    [
        (
            "openai.chat",
            429,
            {"error": {"message": "slow", "type": "t"}},
            CallError("RateLimitError", "slow", 429),
        ),
        ("openai.chat", 418, {"detail": "teapot"}, CallError("APIStatusError", "teapot", 418)),
        (
            "openai.chat",
            502,
            b"<h1>Bad gateway</h1>",
            CallError("InternalServerError", "<h1>Bad gateway</h1>", 502),
        ),
        ("openai.chat", 500, b"", CallError("InternalServerError", None, 500)),
        (
            ANTHROPIC,
            529,
            {"type": "error", "error": {"message": "busy"}},
            CallError("OverloadedError", "busy", 529),
        ),
        (ANTHROPIC, 413, {"error": "too big"}, CallError("ContentTooLargeError", "too big", 413)),
    ],
)
def test_a_refused_call_has_the_error_that_the_sdk_raises(decoded, surface, status, body, error):
    call = decoded(REQUEST, body, surface=surface, status=status)
    assert (call.error, call.outputs, call.usage) == (error, (), None)
    assert call.attempts[-1].error == error
    assert texts(call.inputs) == ["Say hello"]


def test_an_error_that_the_exchange_brings_along_names_the_type(decoded):
    call = decoded(REQUEST, {"error": {"message": "slow"}}, status=429, error=CallError("MyError"))
    assert call.error == CallError("MyError", "slow", 429)


def test_a_call_without_an_answer_has_none(decoded):
    error = CallError("APIConnectionError", "refused")
    call = decoded(REQUEST, None, error=error)
    assert (call.error, call.outputs, call.usage, call.finish_reason) == (error, (), None, None)


def test_a_body_that_is_no_json_is_a_call_without_inputs_that_says_so(decoded):
    call = decoded(b'{"messages": [', ANSWER)
    assert (call.inputs, call.params, call.request_pieces) == ((), {}, (b'{"messages": [',))
    assert call.metadata == {"problem": "the request body is not a JSON object"}
    assert texts(call.outputs) == ["hello"]


@pytest.mark.parametrize("depth", [100, 600, 5_000, 200_000])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"content":', "}")])
@pytest.mark.parametrize(
    "place", ['{"a": %s}', '{"tools": [%s]}', '{"messages": [{"content": [%s]}]}']
)
def test_no_depth_of_nesting_raises(decoded, depth, start, end, place):
    data = (place % (start * depth + "1" + end * depth)).encode()
    call = decoded(data)
    assert b"".join(call.request_pieces) == data
    assert (
        call.metadata == {} if depth == 100 else "deeply" in call.metadata.get("problem", "deeply")
    )
    assert decoded(REQUEST, data, surface=ANTHROPIC).request_pieces


def test_equal_texts_count_alike_wherever_they_are_seen_again(decoded):
    turns = [{"role": "user", "content": f"turn {n}"} for n in range(30)]
    for end in (10, 20, 30):
        call = decoded({"messages": turns[:end]})
        assert texts(call.inputs) == [f"turn {n}" for n in range(end)]
        assert [p.path for p in call.inputs] == [f"/messages/{n}/content" for n in range(end)]
    assert {p.label for p in call.inputs} == {"user"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "messages",
                        "tools",
                        "system",
                        "role",
                        "content",
                        "type",
                        "text",
                        "tool_calls",
                        "source",
                    ),
                    *(
                        "choices",
                        "message",
                        "delta",
                        "index",
                        "function",
                        "arguments",
                        "cache_control",
                        "usage",
                        "error",
                    ),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(JSON, JSON, st.sampled_from(SURFACES), st.booleans(), st.sampled_from([None, 200, 404]))
def test_no_shape_of_request_or_answer_raises(counter, request, answer, surface, is_stream, status):
    response = sse(answer, answer) if is_stream else json.dumps(answer).encode()
    data = json.dumps(request).encode()
    exchange = Exchange(
        surface, data, STARTED, response=response, is_event_stream=is_stream, status=status
    )
    call = decode(exchange, seq=1, call_id="c", count=counter)
    assert b"".join(call.request_pieces) == data
