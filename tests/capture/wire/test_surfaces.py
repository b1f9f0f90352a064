"""Which address is which surface, and which are left alone."""

from __future__ import annotations

import pytest
from ctxdiff_capture.decoders.dispatch import DECODERS
from ctxdiff_capture.wire.endpoints import surface_of

RECORDED = [
    ("/v1/responses", "openai.responses"),
    ("/openai/responses?api-version=2026-01-01", "openai.responses"),
    ("/openai/v1/responses", "openai.responses"),
    ("/v1beta/models/gemini-2.5-flash:generateContent", "gemini.generate_content"),
    ("/v1beta/models/g:streamGenerateContent?alt=sse", "gemini.generate_content"),
    ("/v1/projects/p/locations/l/endpoints/7:generateContent", "gemini.generate_content"),
    ("/model/amazon.nova-lite-v1%3A0/converse", "bedrock.converse"),
    ("/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ax%2Fy/converse-stream", "bedrock.converse"),
    ("/model/anthropic.claude-v2:0/invoke", "bedrock.invoke_model"),
    ("/model/m/invoke-with-response-stream", "bedrock.invoke_model"),
    ("/v1/projects/p/locations/l/publishers/anthropic/models/c@1:rawPredict", "anthropic.messages"),
    (
        "/v1/projects/p/locations/l/publishers/anthropic/models/c@1:streamRawPredict",
        "anthropic.messages",
    ),
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
    "/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict",
    "/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict",
    "/model/m/count-tokens",
    "/model/m/async-invoke",
    "/model/amazon.titan-embed-text-v2%3A0/invoke",
    "/model/cohere.rerank-v3-5%3A0/invoke",
    "/model/amazon.nova-canvas-v1:0/invoke",
    "/functions/f/invoke",
    "/units/converse",
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
