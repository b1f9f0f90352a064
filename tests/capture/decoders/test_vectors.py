"""What ctxdiff 0.5.1 recorded for the same requests."""

import json
from pathlib import Path

import pytest
from ctxdiff_capture.model import Tag

VECTORS = json.loads((Path(__file__).parent.parent / "data" / "capture-vectors.json").read_text())
SURFACES = {
    "openai-chat": "openai.chat",
    "azure": "openai.chat",
    "compat": "openai.chat",
    "anthropic": "anthropic.messages",
}
OURS = [
    (vector, surface)
    for vector in VECTORS
    for start, surface in SURFACES.items()
    if vector["id"].startswith(start)
]
NAMES = ("role", "kind", "text", "token_count", "token_method", "content_hash")


@pytest.mark.parametrize(("vector", "surface"), OURS, ids=[v["id"] for v, _ in OURS])
def test_a_request_becomes_the_blocks_that_ctxdiff_recorded(decoded, vector, surface):
    expected = vector["calls"][0]
    tags = (Tag("rag", "the depot opens at 06:30"),) if "tagged" in vector["id"] else ()
    call = decoded(vector["request"], surface=surface, provider=expected["provider"], tags=tags)
    recorded = [
        {name: getattr(p.block, name) for name in NAMES}
        | {"label": p.label, "label_source": p.label_source}
        for p in call.inputs
    ]
    wanted = [{k: v for k, v in b.items() if k != "position"} for b in expected["blocks"]]
    for block in wanted:  # a deliberate difference: a tool's result is labelled as one
        if '"type": "tool_result"' in block["text"]:
            block["label"] = "tool_output"
    assert recorded == wanted
    params = {k: v for k, v in expected["params"].items() if k != "stream"}
    assert {k: v for k, v in call.params.items() if k != "stream"} == params


def test_the_vectors_cover_both_surfaces():
    assert {surface for _, surface in OURS} == {"openai.chat", "anthropic.messages"}
    assert len(OURS) == 17
