"""Answers: folded streams, refusals, and streams that broke off or told of an error."""

import json

import pytest
from ctxdiff_capture.hashing import canonical_json
from ctxdiff_capture.model import CallError

ANTHROPIC = "anthropic.messages"
REQUEST = {
    "model": "gpt-4o",
    "temperature": 0.2,
    "messages": [{"role": "user", "content": "Say hello"}],
}


def texts(placements):
    return [p.block.text for p in placements]


def sse(*events):
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


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


def test_an_answer_that_is_no_json_is_an_error_of_the_call(decoded):
    call = decoded(REQUEST, b"<html>Bad gateway</html>", status=200)
    assert call.error == CallError(
        "UnreadableAnswer", "the answer is no JSON: <html>Bad gateway</html>", 200
    )
    assert (call.outputs, call.usage) == ((), None)


@pytest.mark.parametrize("body", [b"", b"{}", b" ", b"[]"])
def test_an_answer_that_says_nothing_is_no_error(decoded, body):
    assert decoded(REQUEST, body).error is None


def test_a_raw_line_end_in_a_text_of_an_answer_costs_nothing_of_it(decoded):
    body = b'{"id": "c1", "choices": [{"message": {"role": "assistant", "content": "a\nb"}}]}'
    call = decoded({"messages": []}, body)
    assert ([p.block.text for p in call.outputs], call.error) == (["a\nb"], None)


def test_a_control_character_in_an_event_costs_nothing_of_it(decoded):
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "a\x0bb"}}]}\n\n'
    call = decoded({"messages": []}, event, is_event_stream=True)
    assert ([p.block.text for p in call.outputs], call.error) == (["a\x0bb"], None)
