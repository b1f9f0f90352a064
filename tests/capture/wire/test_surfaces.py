"""Which address is which surface, and which are left alone."""

from __future__ import annotations

import pytest
from ctxdiff_capture.decoders import DECODERS
from ctxdiff_capture.wire.endpoints import surface_of

RECORDED = [
    ("/v1/responses", "openai.responses"),
    ("/openai/responses?api-version=2026-01-01", "openai.responses"),
    ("/openai/v1/responses", "openai.responses"),
    ("/v1beta/models/gemini-2.5-flash:generateContent", "gemini.generate_content"),
    ("/v1beta/models/g:streamGenerateContent?alt=sse", "gemini.generate_content"),
    ("/v1/projects/p/locations/l/endpoints/7:generateContent", "gemini.generate_content"),
]
LEFT_ALONE = [
    "/v1/completions",
    "/openai/deployments/d/completions",
    "/v1/embeddings",
    "/v1/batches",
    "/v1/files",
    "/v1/conversations",
    "/v1/responses/input_tokens",
    "/v1/responses/compact",
    "/v1/responses/resp_1/cancel",
    "/v1/messages/count_tokens?beta=true",
    "/v1/messages/batches",
    "/v1beta/models/gemini-2.5-flash:countTokens",
    "/v1beta/models/gemini-2.5-flash:batchGenerateContent",
    "/v1beta/models/gemini-embedding-001:batchEmbedContents",
    "/v1beta/models/imagen-4:predict",
    "/v1beta/cachedContents",
]


@pytest.mark.parametrize(("target", "surface"), RECORDED)
def test_an_address_that_asks_a_model_has_a_surface_with_a_decoder(
    target: str, surface: str
) -> None:
    assert surface_of("POST", target.encode()) == surface
    assert surface_of("GET", target.encode()) is None
    assert surface in DECODERS


@pytest.mark.parametrize("target", LEFT_ALONE)
def test_what_asks_no_model_for_an_answer_is_left_alone(target: str) -> None:
    assert surface_of("POST", target.encode()) is None
