"""OpenAI Responses: items and their makers, answers, streams, context that the provider holds."""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from ctxdiff_capture.hashing import canonical_json, digest_of
from ctxdiff_capture.model import Attempt, Block, Call, CallError, Placement
from hypothesis import given
from hypothesis import strategies as st

SURFACE = "openai.responses"
STARTED = "2026-11-30T11:39:03.079952+00:00"
VECTORS = json.loads((Path(__file__).parent.parent / "data" / "capture-vectors.json").read_text())
OURS = [v for v in VECTORS if v["id"].startswith("openai-responses")]
ROLE_OF = {"reasoning": "assistant", "custom_tool_call_output": "tool"}
"""Where we know better than ctxdiff, for which everything unknown is the user's."""
LABELS = {"assistant": "history", "tool": "tool_output"}

USAGE = {"input_tokens": 30, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 7}
THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "status": None}
CALLED = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "arguments": '{"city":"Oslo"}',
    "call_id": "call_1",
    "name": "f",
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "It is 4 C."}],
}
ANSWER = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "gpt-4o-2024",
    "error": None,
    "incomplete_details": None,
    "output": [THOUGHT, CALLED, SAID],
    "usage": USAGE,
}


def sse(*events):
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode())
        for event in events
    )


def as_we_know_it(block):
    kind = json.loads(block["text"]).get("type") if block["text"].startswith("{") else None
    role = ROLE_OF.get(kind)
    if role is None:
        return block
    digest = digest_of(role, block["kind"], block["text"])
    return {**block, "role": role, "label": LABELS[role], "content_hash": digest}


def delta(kind, text, **place):
    return {"type": f"response.{kind}.delta", "output_index": 0, "delta": text, **place}


def hashes(placements):
    return [p.block.content_hash for p in placements]


@pytest.mark.parametrize("vector", OURS, ids=[v["id"] for v in OURS])
def test_a_request_becomes_the_blocks_that_ctxdiff_recorded(decoded, vector):
    expected = vector["calls"][0]
    request = {k: v for k, v in vector["request"].items() if k != "stream"}
    call = decoded(request, surface=SURFACE)
    wanted = [
        {k: v for k, v in as_we_know_it(block).items() if k not in ("position", "label_source")}
        for block in expected["blocks"]
    ]
    assert [
        {name: getattr(p.block, name) for name in Block.__dataclass_fields__} | {"label": p.label}
        for p in call.inputs
    ] == wanted
    assert call.params == {k: v for k, v in expected["params"].items() if k != "stream"}


def test_a_call_is_decoded_whole(decoded):
    request = json.dumps(
        {"model": "gpt-4o", "previous_response_id": "resp_0", "tools": [{"type": "web_search"}],
         "input": "Weather?", "instructions": "Be brief."}
    ).encode()  # fmt: skip

    def block(role, kind, text, tokens):
        return Block(digest_of(role, kind, text), role, kind, text, tokens, "tiktoken")

    call = decoded(request, {**ANSWER, "output": [SAID]}, surface=SURFACE, status=200)
    assert call == Call(
        id="c" * 32,
        seq=1,
        provider="openai",
        surface=SURFACE,
        inputs=(
            Placement(block("system", "message", "Be brief.", 3), "system", path="/instructions"),
            Placement(
                block("system", "tool_schema", '{"type": "web_search"}', 7),
                "tool_schema",
                path="/tools/0",
            ),
            Placement(block("user", "message", "Weather?", 2), "user", path="/input"),
        ),
        params={"model": "gpt-4o", "previous_response_id": "resp_0"},
        outputs=(
            Placement(
                block("assistant", "content_part", "It is 4 C.", 6),
                "history",
                path="/output/0/content/0",
            ),
        ),
        usage=USAGE,
        finish_reason="completed",
        response_id="resp_1",
        response_model="gpt-4o-2024",
        attempts=(Attempt(1, STARTED, None, 200),),
        started_at=STARTED,
        request_pieces=(
            b'{"model": "gpt-4o", "previous_response_id": "resp_0", "tools": [',
            b'{"type": "web_search"}',
            b'], "input": "Weather?", "instructions": "Be brief."}',
        ),
        request_digest=sha256(request).hexdigest(),
        metadata={"hidden_context": ["previous_response_id"]},
    )


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        *((f"{name}_call", "assistant") for name in ("custom_tool", "mcp", "web_search")),
        *((f"{name}_call", "assistant") for name in ("computer", "file_search", "local_shell")),
        *((name, "assistant") for name in ("reasoning", "compaction", "mcp_approval_request")),
        *((f"{name}_output", "tool") for name in ("custom_tool_call", "computer_call", "program")),
        ("mcp_list_tools", "tool"),
        *((name, "user") for name in ("mcp_approval_response", "item_reference", "brand_new")),
    ],
)
def test_an_item_bears_the_role_of_who_made_it(decoded, kind, role):
    item = {"type": kind, "id": "x"}
    [placement] = decoded({"input": [item]}, surface=SURFACE).inputs
    text = canonical_json(item)
    assert placement.block.content_hash == digest_of(role, "content_part", text)


def test_calls_and_their_results_share_an_id(decoded):
    ask, answer = {"type": "mcp_approval_request", "id": "a1"}, {"type": "mcp_approval_response"}
    items = [
        CALLED,
        {"type": "function_call_output", "call_id": "call_1", "output": "4 C"},
        ask,
        {**answer, "approval_request_id": "a1", "approve": True},
        SAID,
    ]
    call = decoded({"input": items}, surface=SURFACE)
    assert [p.tool_call_id for p in call.inputs] == ["call_1", "call_1", "a1", "a1", None]


def test_an_answer_that_is_sent_back_is_the_same_blocks(decoded):
    """What the openai SDK sends for `input += response.output` is every member that was set."""
    answered = decoded({"input": "Weather?"}, ANSWER, surface=SURFACE)
    again = decoded(
        {"input": [{"role": "user", "content": "x"}, *ANSWER["output"]]}, surface=SURFACE
    )
    assert hashes(answered.outputs) == hashes(again.inputs)[1:]
    assert [p.block.role for p in answered.outputs] == ["assistant"] * 3


def test_context_that_the_provider_holds_is_named(decoded):
    request = {
        "previous_response_id": None,
        "conversation": "conv_1",
        "prompt": {"id": "pmpt_1"},
        "input": [{"type": "item_reference", "id": "msg_7"}],
    }
    call = decoded(request, surface=SURFACE)
    assert call.metadata == {"hidden_context": ["conversation", "prompt", "item_reference"]}


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
         "max_output_tokens"),
        ({"status": "incomplete"}, "incomplete"),
        ({"status": "queued"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_an_incomplete_answer_says_what_cut_it_off(decoded, told, reason):
    call = decoded({"input": "x"}, {"usage": USAGE, **told}, surface=SURFACE)
    assert (call.finish_reason, call.usage, call.error) == (reason, USAGE, None)


@pytest.mark.parametrize("ending", ["completed", "incomplete"])
def test_a_stream_gives_the_answer_that_one_request_would_have_got(decoded, ending):
    answer = {**ANSWER, "status": ending}
    stream = sse(
        {"type": "response.created", "response": {**ANSWER, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**SAID, "content": []}},
        delta("output_text", "It is", content_index=0),
        {"type": f"response.{ending}", "response": answer},
    )
    whole = decoded({"input": "x"}, answer, surface=SURFACE)
    assert decoded({"input": "x"}, stream, surface=SURFACE, is_event_stream=True) == whole


def test_of_a_stream_that_broke_off_the_items_are_kept_as_far_as_they_came(decoded):
    empty = {**CALLED, "arguments": "", "status": "in_progress"}
    stream = sse(
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": THOUGHT},
        delta("reasoning_summary_text", "Need ", summary_index=0),
        delta("reasoning_summary_text", "it", summary_index=0),
        {"type": "response.output_item.added", "output_index": 1, "item": empty},
        {**delta("function_call_arguments", '{"ci'), "output_index": 1},
        {**delta("output_text", "It", content_index=0), "output_index": 2},
        {**delta("refusal", "No", content_index=1), "output_index": 2},
    )
    call = decoded({"input": "x"}, stream, surface=SURFACE, is_event_stream=True)
    summary = [{"type": "summary_text", "text": "Need it"}]
    assert [p.block.text for p in call.outputs] == [
        canonical_json({**THOUGHT, "summary": summary}),
        canonical_json({**empty, "arguments": '{"ci'}),
        "It",
        canonical_json({"type": "refusal", "refusal": "No"}),
    ]
    assert (call.response_id, call.finish_reason, call.usage) == ("r", None, None)


def test_a_failed_answer_is_an_error_whether_streamed_or_not(decoded):
    failed = {**ANSWER, "status": "failed", "output": [], "error": {"code": "c", "message": "boom"}}
    stream = sse({"type": "response.failed", "response": failed})
    for data, is_stream in ((failed, False), (stream, True)):
        call = decoded({"input": "x"}, data, surface=SURFACE, is_event_stream=is_stream)
        assert (call.error, call.finish_reason) == (CallError("ResponseError", "boom"), "failed")
    stream = sse({"type": "error", "code": "rate_limit", "message": "slow"})
    call = decoded({"input": "x"}, stream, surface=SURFACE, is_event_stream=True)
    assert call.error == CallError("APIError", "slow")


def test_pictures_and_sealed_thoughts_are_no_prose(decoded):
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (512).to_bytes(4, "big") * 2 + b"\0" * 99
    spelled = b64encode(png).decode()
    shot = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{spelled}"}
    items = [
        {"type": "computer_call_output", "call_id": "c", "output": shot},
        {"type": "image_generation_call", "id": "i", "result": spelled},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "gAAAAB-_" * 500},
    ]
    call = decoded({"input": items}, surface=SURFACE)
    assert hashes(call.inputs) == [
        digest_of(role, "content_part", item)
        for role, item in zip(("tool", "assistant", "assistant"), items, strict=True)
    ]
    tokens = [p.block.token_count for p in call.inputs]
    assert [255 < tokens[0] < 320, 255 < tokens[1] < 320, tokens[2] < 60] == [True] * 3
    assert not any(word in p.block.text for p in call.inputs for word in (spelled, "gAAAAB"))


NAMES = ("type", "role", "content", "text", "delta", "output_index", "item", "response", "output")
KINDS = ("message", "reasoning", "error", "response.output_text.delta", "response.completed")
JSON = st.recursive(
    st.none() | st.integers() | st.sampled_from(KINDS) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from((*NAMES, "content_index", "summary")), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=5), st.lists(JSON, max_size=4), st.integers(0, 400))
def test_no_shape_of_items_or_events_raises(decoded, items, events, cut):
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)[:cut]
    data = json.dumps({"input": items}).encode()
    call = decoded(data, stream, surface=SURFACE, is_event_stream=True)
    assert b"".join(call.request_pieces) == data
