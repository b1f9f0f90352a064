"""What stands in a request beside its words: breakpoints, tags, payloads, credentials."""

import json
from base64 import b64encode
from hashlib import sha256

import pytest
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Marker, Tag

ANTHROPIC = "anthropic.messages"


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
