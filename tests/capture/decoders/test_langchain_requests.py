"""What LangChain sends becomes the blocks that ctxdiff's handler recorded for the same call."""

import json
from pathlib import Path

import pytest

DATA = Path(__file__).parent.parent / "data" / "capture-vectors.json"
VECTORS = {v["id"]: v for v in json.loads(DATA.read_text()) if v.get("wire_request")}
SENT_OTHERWISE = {
    # The handler leaves out `is_error: false`, and rebuilds Gemini's tools and results.
    "langchain-anthropic": ["user"],
    "langchain-gemini": ["system", "user"],
}


@pytest.mark.parametrize(
    ("name", "surface"),
    [
        ("langchain-openai", "openai.chat"),
        ("langchain-anthropic", "anthropic.messages"),
        ("langchain-gemini", "gemini.generate_content"),
        ("langgraph-two-nodes", "openai.chat"),
    ],
)
def test_a_request_of_langchain_is_known_by_what_was_sent(decoded, name, surface):
    call = decoded(VECTORS[name]["wire_request"], surface=surface)
    expected = VECTORS[name]["calls"][0]["blocks"]
    pairs = list(zip(call.inputs, expected, strict=True))
    assert [(p.block.role, p.block.kind) for p, _ in pairs] == [
        (block["role"], block["kind"]) for _, block in pairs
    ]
    others = [p.block.role for p, block in pairs if p.block.content_hash != block["content_hash"]]
    assert others == SENT_OTHERWISE.get(name, [])
