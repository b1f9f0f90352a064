"""Bedrock: Converse and InvokeModel, cache points, answers, framed streams."""

import json
import struct
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from zlib import crc32

import pytest
from ctxdiff_capture.decoders.usage import usage_of
from ctxdiff_capture.hashing import canonical_json, digest_of
from ctxdiff_capture.model import Attempt, Block, Call, CallError, Marker, Placement, Usage
from hypothesis import given
from hypothesis import strategies as st

CONVERSE = "bedrock.converse"
INVOKE = "bedrock.invoke_model"
STARTED = "2026-11-30T11:39:03.079952+00:00"
HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"
CLAUDE = "anthropic.claude-3-5-sonnet-20241022-v2:0"
DATA = Path(__file__).parent.parent / "data"
WIRE = json.loads((DATA / "wire-requests.json").read_text())
VECTORS = {v["id"]: v for v in json.loads((DATA / "capture-vectors.json").read_text())}

USAGE = {"inputTokens": 14, "outputTokens": 5, "totalTokens": 29, "cacheReadInputTokens": 10}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "need it", "signature": "s"}}}
CALLED = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"city": "Oslo"}}}
ANSWER = {
    "output": {"message": {"role": "assistant", "content": [THOUGHT, {"text": "Hm"}, CALLED]}},
    "stopReason": "tool_use",
    "usage": USAGE,
    "metrics": {"latencyMs": 7},
}
ASK = {"messages": [{"role": "user", "content": [{"text": "Say hello"}]}]}
EVENTS = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "need "}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "it"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "s"}}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "H"}, "p": "abc"}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "m"}}},
    {"contentBlockStart": {"contentBlockIndex": 2,
                           "start": {"toolUse": {"toolUseId": "t1", "name": "f"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"city":'}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '"Oslo"}'}}}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 7}}},
]  # fmt: skip


def header(name, value):
    return (
        bytes([len(name)]) + name.encode() + b"\7" + struct.pack(">H", len(value)) + value.encode()
    )


def frame(payload, **headers):
    head = b"".join(header(f":{k.replace('_', '-')}", v) for k, v in headers.items())
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", len(head) + len(body) + 16, len(head))
    start = prelude + struct.pack(">I", crc32(prelude)) + head + body
    return start + struct.pack(">I", crc32(start))


def framed(events):
    return b"".join(
        frame(payload, event_type=kind, message_type="event")
        for event in events
        for kind, payload in event.items()
    )


def chunked(chunks):
    spelled = (b64encode(json.dumps(chunk).encode()).decode() for chunk in chunks)
    return framed([{"chunk": {"bytes": text, "p": "abcd"}} for text in spelled])


def url_of(model, operation):
    return f"{HOST}/model/{model}/{operation}"


def rows(placements):
    return [
        {name: getattr(p.block, name) for name in Block.__dataclass_fields__} | {"label": p.label}
        for p in placements
    ]


@pytest.mark.parametrize("name", ["bedrock-full", "bedrock-stream"])
def test_a_request_becomes_the_blocks_that_ctxdiff_recorded(decoded, name):
    expected = VECTORS[name]["calls"][0]
    model = expected["params"]["modelId"]
    call = decoded(WIRE[name], surface=CONVERSE, url=url_of(model, "converse"))
    wanted = [
        {k: v for k, v in block.items() if k not in ("position", "label_source")}
        for block in expected["blocks"]
        if "cachePoint" not in block["text"]  # a marker and no content
    ]
    for block in wanted:
        if "toolResult" in block["text"]:
            block["label"] = "tool_output"
    assert rows(call.inputs) == wanted
    kept = {"toolChoice": {"auto": {}}} if name == "bedrock-full" else {}
    assert call.params == expected["params"] | kept


def test_cache_points_mark_the_block_before_them(decoded):
    point = {"cachePoint": {"type": "default"}}
    long_lived = {"cachePoint": {"type": "default", "ttl": "1h"}}
    call = decoded(
        {
            "system": [point, {"text": "a"}, long_lived],
            "toolConfig": {"tools": [{"toolSpec": {"name": "f"}}, point]},
            "messages": [
                {"role": "user", "content": [{"text": "b"}, {"text": "c"}, point]},
                {"role": "user", "content": [point]},
            ],
        },
        surface=CONVERSE,
    )
    assert [p.block.text for p in call.inputs] == ["a", '{"name": "f"}', "b", "c"]
    assert call.markers == (
        Marker(None, "/system/0/cachePoint"),
        Marker(0, "/system/2/cachePoint", "1h"),
        Marker(1, "/toolConfig/tools/1/cachePoint"),
        Marker(3, "/messages/0/content/2/cachePoint"),
        Marker(3, "/messages/1/content/0/cachePoint"),
    )


def test_a_call_is_decoded_whole(decoded):
    def block(role, text, tokens):
        digest = digest_of(role, "content_part", text)
        return Block(digest, role, "content_part", text, tokens, "estimate")

    request = json.dumps(ASK).encode()
    url = url_of("amazon.nova-lite-v1:0", "converse")
    answer = {**ANSWER, "output": {"message": {"role": "assistant", "content": [CALLED]}}}
    assert decoded(request, answer, surface=CONVERSE, url=url, status=200) == Call(
        id="c" * 32,
        seq=1,
        provider="bedrock",
        surface=CONVERSE,
        inputs=(Placement(block("user", "Say hello", 3), "user", path="/messages/0/content/0"),),
        params={"modelId": "amazon.nova-lite-v1:0"},
        outputs=(
            Placement(
                block("assistant", canonical_json(CALLED), 18),
                "history",
                path="/output/message/content/0",
                tool_call_id="t1",
            ),
        ),
        usage=USAGE,
        finish_reason="tool_use",
        attempts=(Attempt(1, STARTED, None, 200),),
        started_at=STARTED,
        endpoint=url,
        request_pieces=(
            b'{"messages": [',
            b'{"role": "user", "content": [{"text": "Say hello"}]}',
            b"]}",
        ),
        request_digest=sha256(request).hexdigest(),
    )


def test_an_answer_that_is_sent_back_is_the_same_blocks(decoded):
    answered = decoded(ASK, ANSWER, surface=CONVERSE)
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "4 C"}]}}
    messages = [ANSWER["output"]["message"], {"role": "user", "content": [result]}]
    again = decoded({"messages": messages}, surface=CONVERSE)
    assert rows(answered.outputs) == rows(again.inputs)[:3]
    assert [p.tool_call_id for p in again.inputs] == [None, None, "t1", "t1"]


def test_a_stream_gives_the_answer_that_one_request_would_have_got(decoded):
    call = decoded(ASK, framed(EVENTS), surface=CONVERSE)
    assert call == decoded(ASK, ANSWER, surface=CONVERSE)


def test_of_a_stream_that_broke_off_what_came_is_kept(decoded):
    stream = framed(EVENTS[:9])
    call = decoded(ASK, stream[:-1], surface=CONVERSE)
    assert [p.block.text for p in call.outputs][1] == "Hm"
    assert (call.usage, call.finish_reason) == (None, None)
    call = decoded(ASK, stream, surface=CONVERSE)
    torn = {"toolUse": {**CALLED["toolUse"], "input": '{"city":'}}
    assert call.outputs[2].block.text == canonical_json(torn)


def test_sealed_citing_and_tool_deltas_are_folded_too(decoded):
    def delta(index, delta):
        return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}

    source = {"location": {"web": {"url": "https://a.test"}}}
    events = [
        delta(0, {"reasoningContent": {"redactedContent": "YQ=="}}),
        delta(0, {"reasoningContent": {"redactedContent": "YmM="}}),
        delta(1, {"text": "It is"}),
        delta(1, {"citation": source}),
        {
            "contentBlockStart": {
                "contentBlockIndex": 2,
                "start": {"toolResult": {"toolUseId": "t"}},
            }
        },
        delta(2, {"toolResult": [{"text": "4 C"}]}),
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    content = [
        {"reasoningContent": {"redactedContent": "YWJj"}},
        {"citationsContent": {"content": [{"text": "It is"}], "citations": [source]}},
        {"toolResult": {"toolUseId": "t", "content": [{"text": "4 C"}]}},
    ]
    answer = {"output": {"message": {"role": "assistant", "content": content}}}
    whole = decoded(ASK, {**answer, "stopReason": "end_turn"}, surface=CONVERSE)
    assert decoded(ASK, framed(events), surface=CONVERSE) == whole


def test_an_exception_in_a_stream_is_the_calls_error(decoded):
    told = frame(
        {"message": "slow"}, message_type="exception", exception_type="throttlingException"
    )
    for surface, stream in ((CONVERSE, framed(EVENTS[:7])), (INVOKE, chunked(EVENTS[:7]))):
        call = decoded(ASK, stream + told, surface=surface)
        assert call.error == CallError("ThrottlingException", "slow")
        assert [p.block.text for p in call.outputs][1:] == ["Hm"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "ValidationException"), (429, "ThrottlingException"), (418, "ClientError")],
)
def test_a_refused_call_has_the_error_that_the_sdk_raises(decoded, status, kind):
    for surface in (CONVERSE, INVOKE):
        call = decoded(ASK, {"message": "no"}, surface=surface, status=status)
        assert (call.error, call.outputs) == (CallError(kind, "no", status), ())


def test_documents_and_pictures_in_results_are_no_prose(decoded):
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (750).to_bytes(4, "big") * 2 + b"\0" * 99
    image = {"image": {"format": "png", "source": {"bytes": b64encode(png).decode()}}}
    pdf = {"document": {"format": "pdf", "name": "d", "source": {"bytes": "QUJD" * 5_000}}}
    result = {"toolResult": {"toolUseId": "t", "content": [image]}}
    call = decoded({"messages": [{"role": "user", "content": [pdf, result]}]}, surface=CONVERSE)
    tokens = [p.block.token_count for p in call.inputs]
    assert (tokens[0] < 60, 750 < tokens[1] < 810) == (True, True)
    assert "[base64 15000 bytes" in call.inputs[0].block.text
    assert call.inputs[0].block.content_hash == digest_of("user", "content_part", pdf)


def test_a_managed_prompt_is_hidden_context(decoded):
    arn = "arn:aws:bedrock:us-east-1:123456789012:prompt/PROMPT12345:1"
    call = decoded({"promptVariables": {"a": {"text": "b"}}, "modelId": arn}, surface=CONVERSE)
    assert (call.inputs, call.metadata) == ((), {"hidden_context": ["prompt"]})


ANTHROPIC = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 5,
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "Say hello"}],
}
MESSAGE = {
    "id": "msg_1",
    "model": "claude",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 12, "output_tokens": 6},
}
ANTHROPIC_EVENTS = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 6}},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 12}},
]


def test_an_anthropic_body_is_read_as_its_own_api_reads_it(decoded):
    url = url_of(CLAUDE, "invoke")
    call = decoded(ANTHROPIC, MESSAGE, surface=INVOKE, url=url)
    there = decoded(ANTHROPIC, MESSAGE, surface="anthropic.messages")
    assert (rows(call.inputs), rows(call.outputs)) == (rows(there.inputs), rows(there.outputs))
    assert call.params == {"modelId": CLAUDE, **there.params}
    assert (call.provider, call.usage, call.finish_reason) == (
        "bedrock",
        MESSAGE["usage"],
        "end_turn",
    )
    assert decoded(ANTHROPIC, chunked(ANTHROPIC_EVENTS), surface=INVOKE, url=url) == call


def test_a_nova_body_is_read_as_converse_reads_it(decoded):
    request = {"schemaVersion": "messages-v1", "inferenceConfig": {"maxTokens": 5}, **ASK}
    usage = {"inputTokens": 14, "outputTokens": 5, "cacheReadInputTokenCount": 10}
    call = decoded(request, {**ANSWER, "usage": usage}, surface=INVOKE)
    assert rows(call.inputs) == rows(decoded(ASK, surface=CONVERSE).inputs)
    assert call.params == {"schemaVersion": "messages-v1", "maxTokens": 5}
    assert rows(call.outputs) == rows(decoded(ASK, ANSWER, surface=CONVERSE).outputs)
    assert usage_of(call.usage, "bedrock") == Usage(24, 10, None, 5)
    streamed = decoded(request, chunked(EVENTS), surface=INVOKE)
    assert (rows(streamed.outputs), streamed.usage) == (rows(call.outputs), USAGE)


@pytest.mark.parametrize(
    ("request_", "answer", "counts"),
    [
        ({"prompt": "Say hello", "max_gen_len": 5},
         {"generation": "hello", "stop_reason": "stop", "prompt_token_count": 9,
          "generation_token_count": 3}, Usage(9, output_tokens=3)),
        ({"prompt": "Say hello"}, {"outputs": [{"text": "hello", "stop_reason": "stop"}]}, Usage()),
        ({"inputText": "Say hello"},
         {"results": [{"outputText": "hello", "completionReason": "stop"}]}, Usage()),
        ({"prompt": "Say hello"}, {"choices": [{"text": "hello", "stop_reason": "stop"}]}, Usage()),
        ({"messages": [{"role": "user", "content": "Say hello"}]},
         {"choices": [{"message": {"role": "assistant", "content": "hello"},
                       "finish_reason": "stop"}],
          "usage": {"prompt_tokens": 9}}, Usage(9)),
    ],
)  # fmt: skip
def test_other_models_bodies_are_a_prompt_or_a_chat(decoded, request_, answer, counts):
    call = decoded(request_, answer, surface=INVOKE)
    assert [(p.block.role, p.block.kind, p.block.text) for p in (*call.inputs, *call.outputs)] == [
        ("user", "message", "Say hello"),
        ("assistant", "message", "hello"),
    ]
    assert (call.finish_reason, usage_of(call.usage, "bedrock")) == ("stop", counts)


def test_a_prompts_stream_is_one_answer(decoded):
    metrics = {"inputTokenCount": 9, "outputTokenCount": 3}
    chunks = [
        {"generation": "hel", "stop_reason": None, "prompt_token_count": 9},
        {"generation": "lo", "stop_reason": "stop", "amazon-bedrock-invocationMetrics": metrics},
    ]
    call = decoded({"prompt": "x"}, chunked(chunks), surface=INVOKE)
    assert [p.block.text for p in call.outputs] == ["hello"]
    assert (call.finish_reason, call.usage) == ("stop", {"prompt_token_count": 9})
    call = decoded({"prompt": "x"}, chunked([{"outputText": "hi"}, chunks[1]]), surface=INVOKE)
    assert usage_of(call.usage, "bedrock") == Usage(9, output_tokens=3)


def test_a_body_of_no_known_form_is_kept_as_params(decoded):
    call = decoded({"new": [1], "modelId": "m"}, {"x": 1}, surface=INVOKE)
    assert (call.inputs, call.outputs, call.params) == ((), (), {"new": [1], "modelId": "m"})


def test_anthropic_at_vertex_has_its_model_in_the_address(decoded):
    url = "https://h/v1/projects/p/locations/l/publishers/anthropic/models/claude-4@1:rawPredict"
    call = decoded(ANTHROPIC, MESSAGE, surface="anthropic.messages", url=url)
    assert call.params["model"] == "claude-4@1"


NAMES = ("messages", "system", "content", "text", "cachePoint", "toolUse", "toolConfig", "tools")
EVENT = (*EVENTS[1], "delta", "start", "contentBlockIndex", "citation", "toolResult", "bytes")
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from((*NAMES, *EVENT, "prompt", "citationsContent", "reasoningContent")),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
KINDS = ("contentBlockDelta", "contentBlockStart", "messageStop", "metadata", "chunk", "exception")


@given(JSON, st.lists(st.tuples(st.sampled_from(KINDS), JSON), max_size=4), JSON)
def test_no_shape_of_request_answer_or_event_raises(decoded, request, events, answer):
    data = json.dumps(request).encode()
    for surface in (CONVERSE, INVOKE):
        for came in (
            framed([{kind: payload} for kind, payload in events]),
            chunked([payload for _, payload in events]),
            json.dumps(answer).encode(),
        ):
            call = decoded(data, came, surface=surface)
            assert b"".join(call.request_pieces) == data
