"""Gemini: the wire's spellings, thoughts, answers, both forms of stream, context held elsewhere."""

import json
from base64 import b64encode, urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from ctxdiff_capture.decoders.addressed_model import addressed_model
from ctxdiff_capture.decoders.gemini_spelling import sdk_spelling
from ctxdiff_capture.hashing import canonical_json, digest_of
from ctxdiff_capture.model import Attempt, Block, Call, CallError, Placement
from hypothesis import example, given
from hypothesis import strategies as st

SURFACE = "gemini.generate_content"
STARTED = "2026-11-30T11:39:03.079952+00:00"
URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
DATA = Path(__file__).parent.parent / "data"
WIRE = json.loads((DATA / "wire-requests.json").read_text())
VECTORS = {v["id"]: v for v in json.loads((DATA / "capture-vectors.json").read_text())}

USAGE = {"promptTokenCount": 11, "candidatesTokenCount": 4, "thoughtsTokenCount": 3}
COUNTED = {"prompt_token_count": 11, "candidates_token_count": 4, "thoughts_token_count": 3}
"""As the SDK and ctxdiff spell it."""
SIGNED = {"text": "It is 4 C.", "thoughtSignature": "AbC+/w=="}
CALLED = {"functionCall": {"name": "f", "args": {"cityName": "Oslo"}, "id": "x"}}
PARTS = [{"text": "Hm", "thought": True}, SIGNED, CALLED]
ANSWER = {
    "candidates": [
        {"content": {"role": "model", "parts": PARTS}, "finishReason": "STOP", "index": 0}
    ],
    "usageMetadata": USAGE,
    "modelVersion": "gemini-2.5-flash-001",
    "responseId": "r1",
}


def chunk(*parts, **more):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}


def sse(*chunks):
    return b"".join(b"data: " + json.dumps(c).encode() + b"\r\n\r\n" for c in chunks)


def texts(placements):
    return [p.block.text for p in placements]


def hashes(placements):
    return [p.block.content_hash for p in placements]


def test_a_request_becomes_the_blocks_that_ctxdiff_recorded(decoded):
    expected = VECTORS["gemini-full"]["calls"][0]
    call = decoded(WIRE["gemini-full"], surface=SURFACE, url=URL)
    wanted = [{k: v for k, v in block.items() if k != "position"} for block in expected["blocks"]]
    musing = '{"text": "musing", "thought": true}'  # ctxdiff forgets that it was a thought
    digest = digest_of("assistant", "content_part", musing)
    wanted[3] |= {"text": musing, "content_hash": digest, "token_count": 9}
    wanted[5]["label"] = "tool_output"  # a function's response is no word of the user's
    assert [
        {name: getattr(p.block, name) for name in Block.__dataclass_fields__}
        | {"label": p.label, "label_source": p.label_source}
        for p in call.inputs
    ] == wanted
    kept = {"seed": 3, "cached_content": "cachedContents/abc"}  # ctxdiff drops these
    assert call.params == expected["params"] | kept
    assert call.metadata == {"hidden_context": ["cached_content"]}


@pytest.mark.parametrize("name", ["gemini-strings", "gemini-string", "vertex-string"])
def test_texts_are_parts_on_the_wire_however_the_program_gave_them(decoded, name):
    call = decoded(WIRE[name], surface=SURFACE, url=URL)
    wanted = [
        (block["role"], block["text"], block["role"] == "system" and block["content_hash"])
        for block in VECTORS[name]["calls"][0]["blocks"]
    ]
    assert [
        (p.block.role, p.block.text, p.block.role == "system" and p.block.content_hash)
        for p in call.inputs
    ] == wanted
    assert {p.block.kind for p in call.inputs if p.block.role == "user"} == {"content_part"}


def test_a_call_is_decoded_whole(decoded):
    request = b'{"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]}'
    answer = {
        **ANSWER,
        "candidates": [chunk({"text": "4 C"}, finishReason="STOP")["candidates"][0]],
    }

    def block(role, text, tokens):
        digest = digest_of(role, "content_part", text)
        return Block(digest, role, "content_part", text, tokens, "estimate")

    assert decoded(request, answer, surface=SURFACE, url=URL, status=200) == Call(
        id="c" * 32,
        seq=1,
        provider="gemini",
        surface=SURFACE,
        inputs=(Placement(block("user", "Weather?", 2), "user", path="/contents/0/parts/0"),),
        params={"model": "gemini-2.5-flash"},
        outputs=(
            Placement(
                block("assistant", "4 C", 1), "history", path="/candidates/0/content/parts/0"
            ),
        ),
        usage=COUNTED,
        finish_reason="STOP",
        response_id="r1",
        response_model="gemini-2.5-flash-001",
        attempts=(Attempt(1, STARTED, None, 200),),
        started_at=STARTED,
        endpoint=URL,
        request_pieces=(
            b'{"contents": [',
            b'{"role": "user", "parts": [{"text": "Weather?"}]}',
            b"]}",
        ),
        request_digest=sha256(request).hexdigest(),
    )


def test_an_answer_that_is_sent_back_is_the_same_blocks(decoded):
    """google-genai 3.6 sends signatures in the URL alphabet, whatever alphabet they came in."""
    answered = decoded(WIRE["gemini-string"], ANSWER, surface=SURFACE)
    back = json.loads(json.dumps(PARTS).replace("AbC+/w==", "AbC-_w=="))
    again = decoded({"contents": [{"role": "model", "parts": back}]}, surface=SURFACE)
    assert hashes(answered.outputs) == hashes(again.inputs)
    assert texts(again.inputs)[1] == '{"text": "It is 4 C.", "thought_signature": "AbC+/w=="}'
    assert [p.tool_call_id for p in again.inputs] == [None, None, "x"]


def test_both_spellings_are_one_and_what_is_the_programs_stays(decoded):
    tool = {
        "functionDeclarations": [
            {"name": "f", "parameters": {"properties": {"cityName": {"minLength": 1}}}},
            {"name": "g", "parametersJsonSchema": {"additionalProperties": False}},
        ]
    }
    assert sdk_spelling([tool, CALLED]) == [
        {
            "function_declarations": [
                {"name": "f", "parameters": {"properties": {"cityName": {"min_length": 1}}}},
                {"name": "g", "parameters_json_schema": {"additionalProperties": False}},
            ]
        },
        {"function_call": {"name": "f", "args": {"cityName": "Oslo"}, "id": "x"}},
    ]
    assert sdk_spelling(sdk_spelling(tool)) == sdk_spelling(tool)


@pytest.mark.parametrize(
    ("instruction", "wanted"),
    [
        ("a", ["a"]),
        ({"text": "a"}, ["a"]),
        ({"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}, ["a", "b"]),
        ({"parts": {"text": "a"}}, ["a"]),
        (None, []),
    ],
)
def test_an_instruction_of_any_form_is_system_messages(decoded, instruction, wanted):
    for key in ("systemInstruction", "system_instruction"):
        call = decoded({key: instruction, "contents": []}, surface=SURFACE)
        assert hashes(call.inputs) == [digest_of("system", "message", text) for text in wanted]
        assert key not in call.params


@pytest.mark.parametrize("form", ["sse", "list"])
def test_a_stream_gives_the_answer_that_one_request_would_have_got(decoded, form):
    chunks = [
        {"modelVersion": "gemini-2.5-flash-001", "responseId": "r1"},
        chunk({"text": "H", "thought": True}),
        chunk({"text": "m", "thought": True}, {"text": "It is"}),
        chunk({"text": " 4 C."}),
        chunk({"text": "", "thoughtSignature": "AbC+/w=="}),
        {**chunk(CALLED, finishReason="STOP", index=0), "usageMetadata": USAGE},
    ]
    data = sse(*chunks) if form == "sse" else json.dumps(chunks, indent=1).encode()
    whole = decoded(WIRE["gemini-string"], ANSWER, surface=SURFACE)
    is_stream = form == "sse"
    call = decoded(WIRE["gemini-string"], data, surface=SURFACE, is_event_stream=is_stream)
    assert call == whole


def test_of_a_stream_that_broke_off_what_came_is_kept(decoded):
    chunks = [chunk({"text": "It "}), chunk({"text": "is"}), chunk({"text": "gone"})]
    for data, is_stream in ((sse(*chunks), True), (json.dumps(chunks).encode(), False)):
        cut = data[: data.index(b"gone")]
        call = decoded(WIRE["gemini-string"], cut, surface=SURFACE, is_event_stream=is_stream)
        assert (texts(call.outputs), call.finish_reason) == (["It is"], None)


def test_a_blocked_prompt_says_why(decoded):
    answer = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE}
    call = decoded(WIRE["gemini-string"], answer, surface=SURFACE)
    assert (call.outputs, call.finish_reason, call.usage) == ((), "SAFETY", COUNTED)
    assert call.metadata == {"block_reason": "SAFETY"}


@pytest.mark.parametrize(("status", "kind"), [(429, "ClientError"), (503, "ServerError")])
def test_a_refused_call_has_the_error_that_the_sdk_raises(decoded, status, kind):
    told = {"error": {"code": status, "message": "slow", "status": "X"}}
    for body in (told, [told]):
        data = json.dumps(body).encode()
        call = decoded(WIRE["gemini-string"], data, surface=SURFACE, status=status)
        assert call.error == CallError(kind, "slow", status)
    stream = sse(chunk({"text": "It"}), told)
    call = decoded(WIRE["gemini-string"], stream, surface=SURFACE, is_event_stream=True)
    assert (call.error, texts(call.outputs)) == (CallError(kind, "slow"), ["It"])


def test_documents_and_signatures_are_no_prose(decoded):
    pdf = b"%PDF\xfb\xff" * 5_000
    part = {"inlineData": {"mimeType": "application/pdf", "data": urlsafe_b64encode(pdf).decode()}}
    held = {"name": "f", "response": {"ok": 1}, "parts": [part]}
    sealed = {"text": "a", "thoughtSignature": b64encode(pdf).decode()}
    parts = [part, {"functionResponse": held}, sealed]
    call = decoded({"contents": [{"role": "user", "parts": parts}]}, surface=SURFACE)
    assert [p.block.token_count < 60 for p in call.inputs] == [True] * 3
    assert [f"[base64 {len(pdf)} bytes" in text for text in texts(call.inputs)] == [True] * 3
    spelled = {"inline_data": {"mime_type": "application/pdf", "data": b64encode(pdf).decode()}}
    assert hashes(call.inputs)[0] == digest_of("user", "content_part", canonical_json(spelled))


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1beta/models/gemini-2.5-flash:generateContent", "gemini-2.5-flash"),
        ("/v1beta/tunedModels/mine:generateContent", "tunedModels/mine"),
        ("/v1/projects/p/locations/l/publishers/google/models/g-1:streamGenerateContent", "g-1"),
        ("/v1/projects/p/locations/l/endpoints/7:generateContent",
         "projects/p/locations/l/endpoints/7"),
        ("/model/us.anthropic.claude-v2%3A0/converse", "us.anthropic.claude-v2:0"),
        ("/model/arn:aws:bedrock:eu:1:inference-profile/x/invoke-with-response-stream",
         "arn:aws:bedrock:eu:1:inference-profile/x"),
        ("/v1/messages", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_model_is_in_the_address(path, model):
    assert addressed_model(f"https://host:443{path}") == model


def test_the_body_names_the_model_before_the_address_does(decoded):
    call = decoded({"model": "models/mine", "contents": []}, surface=SURFACE, url=URL)
    assert call.params == {"model": "models/mine"}


NAMES = ("role", "parts", "text", "functionCall", "thoughtSignature", "content", "index", "error")
ROOTS = ("contents", "systemInstruction", "tools", "candidates", "generationConfig", "properties")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from((*NAMES, *ROOTS, "id", "data")), inner, max_size=5)
    ),
    max_leaves=20,
)


@example({"contents": {"role": None, "parts": 1}}, [], False, 0)
@given(JSON, st.lists(JSON, max_size=4), st.booleans(), st.integers(0, 300))
def test_no_shape_of_request_or_stream_raises(decoded, request, events, is_sse, cut):
    data = json.dumps(request).encode()
    stream = (sse(*events) if is_sse else json.dumps(events).encode())[:cut]
    call = decoded(data, stream, surface=SURFACE, is_event_stream=is_sse)
    assert b"".join(call.request_pieces) == data
