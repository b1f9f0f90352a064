"""Whole calls: what a decoder tells of requests, answers, streams and failures."""

import json
from base64 import b64encode
from hashlib import sha256

import pytest
from ctxdiff_capture.decoders import DECODERS, decode
from ctxdiff_capture.hashing import canonical_json, digest_of
from ctxdiff_capture.model import (
    SURFACES,
    Attempt,
    Block,
    Call,
    CallError,
    Exchange,
    Marker,
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


def chunk(delta, index=0, reason=None, **more):
    return {
        "id": "c1",
        "model": "m",
        "choices": [{"index": index, "delta": delta, "finish_reason": reason}],
        **more,
    }


def test_openai_chunks_are_folded_by_choice_and_by_tool_call(decoded):
    call = decoded(
        REQUEST,
        sse(
            chunk({"role": "assistant", "content": None}, usage=None),
            chunk({"role": "assistant", "content": "se"}, index=1),
            chunk(
                {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "a",
                            "type": "function",
                            "function": {"name": "f", "arguments": ""},
                        }
                    ]
                }
            ),
            chunk(
                {
                    "tool_calls": [
                        {
                            "index": 1,
                            "id": "b",
                            "type": "function",
                            "function": {"name": "g", "arguments": "{"},
                        }
                    ]
                }
            ),
            chunk(
                {
                    "tool_calls": [
                        {"index": 0, "function": {"arguments": '{"x":1}'}},
                        {"index": 1, "function": {"arguments": "}"}},
                    ]
                }
            ),
            chunk({"content": "cond"}, index=1, reason="stop"),
            chunk({}, reason="tool_calls"),
            {"id": "c1", "model": "m", "choices": [], "usage": {"prompt_tokens": 9}},
        )
        + b"data: [DONE]\n\n",
        is_event_stream=True,
    )
    assert [(p.block.kind, p.block.text, p.tool_call_id) for p in call.outputs] == [
        (
            "content_part",
            canonical_json(
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}
            ),
            "a",
        ),
        (
            "content_part",
            canonical_json(
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}
            ),
            "b",
        ),
        ("message", "second", None),
    ]
    assert (call.finish_reason, call.usage, call.response_model) == (
        "tool_calls",
        {"prompt_tokens": 9},
        "m",
    )


def test_a_refusal_is_kept_beside_its_empty_block(decoded):
    refused = {"role": "assistant", "content": None, "refusal": "I cannot."}
    plain = decoded(REQUEST, {"choices": [{"message": refused, "finish_reason": "stop"}]})
    streamed = decoded(
        REQUEST, sse(chunk({"refusal": "I "}), chunk({"refusal": "cannot."})), is_event_stream=True
    )
    for call in (plain, streamed):
        assert (texts(call.outputs), call.metadata) == ([""], {"refusal": "I cannot."})


def test_of_a_stream_that_broke_off_what_had_come_is_kept(decoded):
    torn = sse(chunk({"role": "assistant", "content": "Hel"}), chunk({"content": "lo"}))[:-20]
    error = CallError("ReadError", "connection lost")
    call = decoded(REQUEST, torn, is_event_stream=True, error=error, status=200)
    assert (texts(call.outputs), call.finish_reason) == (["Hel"], None)
    assert call.error == CallError("ReadError", "connection lost", 200)


def test_an_error_inside_a_stream_is_the_error_of_the_call(decoded):
    openai = decoded(
        REQUEST,
        sse(chunk({"content": "Hel"}), {"error": {"message": "boom"}}),
        is_event_stream=True,
    )
    assert (openai.error, texts(openai.outputs)) == (CallError("APIError", "boom"), ["Hel"])
    claude = decoded(
        REQUEST,
        sse(
            {"type": "message_start", "message": {"id": "m1", "content": []}},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Hel"},
            },
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
        surface=ANTHROPIC,
        is_event_stream=True,
    )
    assert claude.error == CallError("APIStatusError", "Overloaded")
    assert texts(claude.outputs) == ['{"text": "Hel", "type": "text"}']


def test_a_stream_that_was_refused_with_json_is_read_as_json(decoded):
    call = decoded(REQUEST, {"error": {"message": "slow"}}, is_event_stream=True, status=429)
    assert call.error == CallError("RateLimitError", "slow", 429)


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


def test_cache_breakpoints_have_their_place_and_life_time(decoded):
    control = {"type": "ephemeral"}
    nested = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "x", "cache_control": control}],
    }
    call = decoded(
        {
            "cache_control": {**control, "ttl": "5m"},
            "system": [
                {"type": "text", "text": "a"},
                {"type": "text", "text": "b", "cache_control": {**control, "ttl": "1h"}},
            ],
            "tools": [{"name": "f", "cache_control": control}],
            "messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": [nested]}],
        },
        surface=ANTHROPIC,
    )
    assert call.markers == (
        Marker(1, "/system/1/cache_control", "1h"),
        Marker(2, "/tools/0/cache_control"),
        Marker(4, "/messages/1/content/0/content/0/cache_control"),
        Marker(None, "/cache_control", "5m"),
    )
    assert [p.path for p in call.inputs] == [
        "/system/0/text",
        "/system/1/text",
        "/tools/0",
        "/messages/0/content",
        "/messages/1/content/0",
    ]


@pytest.mark.parametrize("needle", ['says "no"', "two\nlines", "back\\slash", "plain"])
def test_a_tag_matches_the_words_inside_a_part(decoded, needle):
    part = {"type": "text", "text": f"note: {needle}!"}
    call = decoded({"messages": [{"role": "user", "content": [part]}]}, tags=(Tag("rag", needle),))
    assert [(p.label, p.label_source) for p in call.inputs] == [("rag", "tagged")]


def test_a_tag_does_not_match_what_only_looks_like_it_in_json(decoded):
    part = {"type": "text", "text": "C:\\new"}
    call = decoded(
        {"messages": [{"role": "user", "content": [part]}]}, tags=(Tag("rag", "\new"), Tag("x", ""))
    )
    assert [p.label for p in call.inputs] == ["user"]


def test_the_first_tag_wins_and_reaches_tool_schemas(decoded):
    request = {"tools": [{"name": "find"}], "messages": [{"role": "user", "content": "find it"}]}
    call = decoded(request, tags=(Tag("a", "find"), Tag("b", "it")))
    assert [p.label for p in call.inputs] == ["a", "a"]


def test_payloads_are_described_and_hashed_as_they_were_sent(decoded):
    pdf = b64encode(b"%PDF" * 10_000).decode()
    part = {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": pdf},
    }
    call = decoded({"messages": [{"role": "user", "content": [part]}]}, surface=ANTHROPIC)
    block = call.inputs[0].block
    described = f"[base64 40000 bytes sha256:{sha256(b'%PDF' * 10_000).hexdigest()[:12]}]"
    assert json.loads(block.text)["source"]["data"] == described
    assert block.content_hash == digest_of("user", "content_part", part)
    assert (block.token_count < 60, block.token_method) == (True, "estimate")


def test_a_picture_in_a_tool_result_costs_what_a_picture_costs(decoded):
    png = (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
        + (750).to_bytes(4, "big")
        + (1000).to_bytes(4, "big")
        + b"\0" * 99
    )
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(png).decode()}
    part = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "image", "source": source}],
    }
    block = (
        decoded({"messages": [{"role": "user", "content": [part]}]}, surface=ANTHROPIC)
        .inputs[0]
        .block
    )
    assert 1000 < block.token_count < 1100
    assert source["data"] not in block.text


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": "A" * 400, "format": "wav"}},
        {
            "type": "file",
            "file": {"file_data": "data:application/pdf;base64," + "A" * 400, "filename": "x"},
        },
        {"type": "file", "file": {"file_data": "A" * 400}},
    ],
)
def test_openai_files_and_sounds_are_payloads(decoded, part):
    block = decoded({"messages": [{"role": "user", "content": [part]}]}).inputs[0].block
    assert "[base64 300 bytes" in block.text
    assert "AAAA" not in block.text


def test_credentials_in_a_body_are_masked_and_the_body_is_not_kept(decoded):
    server = {"type": "url", "url": "https://mcp.example.test", "authorization_token": "tok-secret"}
    call = decoded({"model": "m", "mcp_servers": [server], "messages": []}, surface=ANTHROPIC)
    assert call.params["mcp_servers"] == [{**server, "authorization_token": "[secret]"}]
    assert call.request_pieces is None
    assert "tok-secret" not in repr(call)


def test_a_schema_with_a_field_named_password_is_no_credential(decoded):
    schema = {"type": "object", "properties": {"password": {"type": "string"}}}
    request = {"response_format": schema, "messages": []}
    call = decoded(request)
    assert call.params == {"response_format": schema}
    assert b"".join(call.request_pieces) == json.dumps(request).encode()


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
