"""The tool loops that the SDKs document: an answer is the block that comes back as history."""

import json

import anthropic
import httpx2
import openai
import pytest
from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.model import Exchange

CHAT = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-4o-2024"}
ASKS = {
    "role": "assistant",
    "content": "Let me look.",
    "refusal": None,
    "annotations": [],
    "tool_calls": [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
        }
    ],
}
SAYS = {"role": "assistant", "content": "It is 4 C.", "refusal": None, "annotations": []}
MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "stop_sequence": None,
}
CONTENT = [
    {"type": "thinking", "thinking": "Need the tool.", "signature": "sig=="},
    {"type": "text", "text": "Let me check.", "citations": None},
    {"type": "tool_use", "id": "tu_1", "name": "weather", "input": {"city": "Oslo", "unit": None}},
]


def chat(message, reason):
    return CHAT | {
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13},
    }


def claude(content, reason):
    usage = {"input_tokens": 12, "output_tokens": 6, "cache_read_input_tokens": 900}
    return MESSAGE | {"content": content, "stop_reason": reason, "usage": usage}


@pytest.fixture
def wire(counter):
    """Gives an HTTP client that answers from a list, and the calls that went through it."""

    def start(surface, *answers):
        left, calls = list(answers), []

        def answered(request):
            answer = left.pop(0)
            is_stream = isinstance(answer, bytes)
            body = answer if is_stream else json.dumps(answer).encode()
            exchange = Exchange(
                surface,
                request.content,
                "2026-11-30T11:39:03.079952+00:00",
                response=body,
                is_event_stream=is_stream,
                status=200,
                provider=surface.partition(".")[0],
            )
            calls.append(decode(exchange, seq=len(calls) + 1, call_id="c" * 32, count=counter))
            kind = "text/event-stream" if is_stream else "application/json"
            return httpx2.Response(200, content=body, headers={"content-type": kind})

        return httpx2.Client(transport=httpx2.MockTransport(answered)), calls

    return start


def hashes(placements):
    return [p.block.content_hash for p in placements]


def openai_loop(http, *, as_dict):
    client = openai.OpenAI(api_key="k", http_client=http, max_retries=0)
    messages = [{"role": "user", "content": "Weather in Oslo?"}]
    for result in ("4 C, drizzle", None):
        answer = client.chat.completions.create(model="gpt-4o", messages=messages)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_unset=True) if as_dict else message)
        if result:
            messages.append({"role": "tool", "tool_call_id": "call_1", "content": result})
    client.chat.completions.create(model="gpt-4o", messages=messages)


@pytest.mark.parametrize("as_dict", [False, True], ids=["objects", "dicts"])
def test_openai_answers_come_back_as_the_blocks_they_were(wire, as_dict):
    http, calls = wire(
        "openai.chat", chat(ASKS, "tool_calls"), chat(SAYS, "stop"), chat(SAYS, "stop")
    )
    openai_loop(http, as_dict=as_dict)
    first, second, third = calls
    assert hashes(second.inputs)[:3] == hashes(first.inputs) + hashes(first.outputs)
    assert hashes(third.inputs) == hashes(second.inputs) + hashes(second.outputs)
    assert [(p.label, p.tool_call_id) for p in second.inputs] == [
        ("user", None),
        ("history", None),
        ("history", "call_1"),
        ("tool_output", "call_1"),
    ]
    assert [p.tool_call_id for p in first.outputs] == [None, "call_1"]


def test_the_openai_loop_has_the_same_hashes_with_objects_and_with_dicts(wire):
    recorded = []
    for as_dict in (False, True):
        http, calls = wire(
            "openai.chat", chat(ASKS, "tool_calls"), chat(SAYS, "stop"), chat(SAYS, "stop")
        )
        openai_loop(http, as_dict=as_dict)
        recorded.append([(hashes(call.inputs), hashes(call.outputs)) for call in calls])
    assert recorded[0] == recorded[1]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "refusal": "I cannot do that."},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": ASKS["tool_calls"]},
    ],
    ids=["refusal", "empty", "only a call"],
)
def test_an_odd_openai_answer_comes_back_as_it_was(wire, message):
    http, calls = wire("openai.chat", chat(message, "stop"), chat(SAYS, "stop"), chat(SAYS, "stop"))
    openai_loop(http, as_dict=False)
    assert hashes(calls[0].outputs) == hashes(calls[1].inputs)[1 : 1 + len(calls[0].outputs)]


def anthropic_loop(http, *, as_dict, beta=False):
    client = anthropic.Anthropic(api_key="k", http_client=http, max_retries=0)
    create = client.beta.messages.create if beta else client.messages.create
    messages = [{"role": "user", "content": "Weather in Oslo?"}]
    result = {"type": "tool_result", "tool_use_id": "tu_1", "content": "4 C"}
    for _ in range(2):
        answer = create(model="claude-x", max_tokens=99, messages=messages)
        content = answer.content
        if as_dict:
            content = [part.model_dump(exclude_unset=True) for part in content]
        messages.append({"role": "assistant", "content": content})
        messages.append({"role": "user", "content": [result]})
    create(model="claude-x", max_tokens=99, messages=messages)


@pytest.mark.parametrize("beta", [False, True], ids=["messages", "beta"])
@pytest.mark.parametrize("as_dict", [False, True], ids=["objects", "dicts"])
def test_anthropic_answers_come_back_as_the_blocks_they_were(wire, as_dict, beta):
    http, calls = wire("anthropic.messages", *[claude(CONTENT, "tool_use")] * 3)
    anthropic_loop(http, as_dict=as_dict, beta=beta)
    first, second, third = calls
    assert hashes(second.inputs)[:4] == hashes(first.inputs) + hashes(first.outputs)
    assert hashes(third.inputs)[:8] == hashes(second.inputs) + hashes(second.outputs)
    assert [(p.label, p.tool_call_id) for p in second.inputs[2:]] == [
        ("history", None),
        ("history", "tu_1"),
        ("tool_output", "tu_1"),
    ]


def stream_of(events, *, named):
    lines = (
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    )
    return "".join(lines).encode()


def test_a_streamed_anthropic_answer_comes_back_as_the_blocks_it_was(wire):
    start = {**claude([], None), "usage": {"input_tokens": 12, "output_tokens": 1}}
    events = [
        {"type": "message_start", "message": start},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Need it."},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "signature_delta", "signature": "sig=="},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "text_delta", "text": "Let me "},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "text_delta", "text": "check."},
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "tu_1", "name": "weather", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"city": '},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '"Oslo"}'},
        },
        {"type": "content_block_stop", "index": 2},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    http, calls = wire(
        "anthropic.messages", stream_of(events, named=True), claude(CONTENT, "end_turn")
    )
    client = anthropic.Anthropic(api_key="k", http_client=http, max_retries=0)
    messages = [{"role": "user", "content": "Weather?"}]
    with client.messages.stream(model="claude-x", max_tokens=99, messages=messages) as stream:
        content = stream.get_final_message().content
    messages.append({"role": "assistant", "content": content})
    client.messages.create(model="claude-x", max_tokens=99, messages=messages)
    assert hashes(calls[1].inputs) == hashes(calls[0].inputs) + hashes(calls[0].outputs)
    assert len(calls[0].outputs) == 3
    assert (calls[0].finish_reason, calls[0].usage) == (
        "tool_use",
        {"input_tokens": 12, "output_tokens": 9},
    )


def test_a_streamed_openai_text_comes_back_as_the_block_it_was(wire):
    deltas = [{"role": "assistant", "content": ""}, {"content": "It is"}, {"content": " 4 C."}, {}]
    chunks = [
        CHAT
        | {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": d, "finish_reason": None if d else "stop"}],
        }
        for d in deltas
    ]
    http, calls = wire(
        "openai.chat", stream_of(chunks, named=False) + b"data: [DONE]\n\n", chat(SAYS, "stop")
    )
    client = openai.OpenAI(api_key="k", http_client=http, max_retries=0)
    messages = [{"role": "user", "content": "Weather?"}]
    with client.chat.completions.stream(model="gpt-4o", messages=messages) as stream:
        messages.append(stream.get_final_completion().choices[0].message)
    client.chat.completions.create(model="gpt-4o", messages=messages)
    assert hashes(calls[1].inputs) == hashes(calls[0].inputs) + hashes(calls[0].outputs)
    assert (calls[0].finish_reason, calls[0].response_model) == ("stop", "gpt-4o-2024")


def test_a_streamed_openai_tool_call_comes_back_as_the_block_it_was(wire):
    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "f", "arguments": ""},
    }
    deltas = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"Oslo"}'}}]},
        {},
    ]
    chunks = [
        CHAT
        | {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": d, "finish_reason": None if d else "tool_calls"}],
        }
        for d in deltas
    ]
    http, calls = wire("openai.chat", stream_of(chunks, named=False), chat(SAYS, "stop"))
    client = openai.OpenAI(api_key="k", http_client=http, max_retries=0)
    messages = [{"role": "user", "content": "Weather?"}]
    with client.chat.completions.stream(model="gpt-4o", messages=messages) as stream:
        messages.append(stream.get_final_completion().choices[0].message)
    client.chat.completions.create(model="gpt-4o", messages=messages)
    assert hashes(calls[1].inputs) == hashes(calls[0].inputs) + hashes(calls[0].outputs)
    assert [p.tool_call_id for p in calls[1].inputs] == [None, "call_1"]


def test_a_parsed_openai_tool_call_comes_back_as_the_block_it_was(wire):
    http, calls = wire("openai.chat", chat(ASKS, "tool_calls"), chat(SAYS, "stop"))
    client = openai.OpenAI(api_key="k", http_client=http, max_retries=0)
    messages = [{"role": "user", "content": "Weather?"}]
    messages.append(
        client.chat.completions.parse(model="gpt-4o", messages=messages).choices[0].message
    )
    client.chat.completions.create(model="gpt-4o", messages=messages)
    assert hashes(calls[1].inputs) == hashes(calls[0].inputs) + hashes(calls[0].outputs)
