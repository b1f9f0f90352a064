"""Anthropic: sealed thoughts, edits that the provider applied, what it keeps in a container."""

import pytest
from ctxdiff_capture.hashing import digest_of

SURFACE = "anthropic.messages"
SEALED = "EqoBCkYIBBgCKkD" + "x-_A" * 100


@pytest.mark.parametrize(
    "part",
    [
        {"type": "thinking", "thinking": "Need the tool.", "signature": SEALED},
        {"type": "redacted_thinking", "data": SEALED},
        {"type": "web_search_result", "url": "https://a.test", "encrypted_content": SEALED},
    ],
)
def test_sealed_texts_are_no_prose_and_keep_their_hash(decoded, part):
    message = {"role": "assistant", "content": [part]}
    block = decoded({"messages": [message]}, surface=SURFACE).inputs[0].block
    assert ("[base64 " in block.text, SEALED in block.text) == (True, False)
    assert block.content_hash == digest_of("assistant", "content_part", part)
    assert (block.token_count < 40, block.token_method) == (True, "estimate")


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool_use", "id": "t", "name": "sign", "input": {"signature": SEALED}},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"bytes": "no base64: " * 10}},
    ],
)
def test_what_a_tool_was_given_stays_readable(decoded, part):
    message = {"role": "assistant", "content": [part]}
    block = decoded({"messages": [message]}, surface=SURFACE).inputs[0].block
    assert "[base64 " not in block.text


def test_what_the_provider_did_to_the_context_is_told(decoded):
    edits = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3}]}
    missed = {"cache_miss_reason": {"type": "tools_changed"}}
    answer = {"content": [], "context_management": edits, "diagnostics": missed, "container": None}
    call = decoded({"container": "c_1", "messages": []}, answer, surface=SURFACE)
    assert call.metadata == {
        "context_management": edits,
        "diagnostics": missed,
        "hidden_context": ["container"],
    }
    assert decoded({"messages": []}, {"content": []}, surface=SURFACE).metadata == {}
