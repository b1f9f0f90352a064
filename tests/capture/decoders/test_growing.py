"""What a counter's memory holds of earlier calls changes nothing in a later one."""

import json

import pytest
from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.model import Exchange
from ctxdiff_capture.tokens.counter import TokenCounter
from hypothesis import given
from hypothesis import strategies as st

MARK = {"cache_control": {"type": "ephemeral"}}
CLAUDE = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": [{"type": "text", "text": "two", **MARK}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "three"}]},
    {"role": "user", "content": []},
    7,
]
BEDROCK = [
    {"role": "user", "content": [{"text": "one"}, {"cachePoint": {"type": "default"}}]},
    {"role": "user", "content": [{"cachePoint": {"type": "default"}}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "n", "input": {}}}]},
]
GEMINI = [
    {"role": "user", "parts": [{"text": "one"}]},
    {"role": "model", "parts": [{"text": "two"}, {"functionCall": {"name": "n", "id": "t"}}]},
]
RESPONSES = [
    {"role": "user", "content": "one"},
    {"type": "reasoning", "id": "r", "summary": []},
    {"type": "function_call_output", "call_id": "t", "output": "three"},
]
POOLS = {
    "anthropic.messages": ("messages", CLAUDE, {"system": [{"type": "text", "text": "s", **MARK}]}),
    "bedrock.converse": ("messages", BEDROCK, {"system": [{"text": "s"}]}),
    "gemini.generate_content": ("contents", GEMINI, {"tools": [{"googleSearch": {}}]}),
    "openai.chat": ("messages", CLAUDE, {"tools": [{"type": "function", **MARK}]}),
    "openai.responses": ("input", RESPONSES, {"instructions": "s"}),
}


def exchange(surface, key, items, more):
    body = json.dumps({**more, key: items}).encode()
    started = "2026-11-30T11:39:03.079952+00:00"
    return Exchange(surface, body, started, status=200, provider="elsewhere")


@pytest.mark.parametrize("surface", POOLS)
@given(data=st.data())
def test_any_sequence_of_calls_is_decoded_as_each_by_itself(surface, data):
    key, pool, more = POOLS[surface]
    remembering = TokenCounter()
    items = []
    for seq in range(1, data.draw(st.integers(2, 7)) + 1):
        kept = data.draw(st.integers(0, len(items)))
        cut = data.draw(st.sampled_from([0, 0, 0, 1]))  # a front that is trimmed moves all paths
        items = [*items[cut:kept], *data.draw(st.lists(st.sampled_from(pool), max_size=4))]
        sent = exchange(surface, key, items, more)
        alone = decode(sent, seq=seq, call_id="c", count=TokenCounter())
        assert decode(sent, seq=seq, call_id="c", count=remembering) == alone
