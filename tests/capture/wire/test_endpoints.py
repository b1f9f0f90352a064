"""Addresses, encodings and credentials: the small rules of the wire."""

from __future__ import annotations

import gzip
import zlib
from base64 import b64encode

import httpx2
import pytest
from ctxdiff_capture.secrets.spelled import without
from ctxdiff_capture.wire.encoding import decoded_body
from ctxdiff_capture.wire.endpoints import asks_a_model, provider_of, surface_of
from ctxdiff_capture.wire.exchange import address_of, iso_of
from ctxdiff_capture.wire.secrets import credentials_of
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("target", "surface"),
    [
        (b"/v1/chat/completions", "openai.chat"),
        (b"/v1beta/openai/chat/completions", "openai.chat"),
        (b"/openai/deployments/d/chat/completions?api-version=1", "openai.chat"),
        (b"/v1/messages?beta=true", "anthropic.messages"),
        (b"/gateway/anthropic/v1/messages", "anthropic.messages"),
        (b"/v1/messages/count_tokens", None),
        (b"/v1/messages/batches", None),
        (b"/v1/chat/completions/chatcmpl-1", None),
        (b"/v1/threads/t/messages", None),
        (b"/v1/embeddings?x=/chat/completions", None),
    ],
)
def test_the_end_of_the_path_tells_the_surface(target: bytes, surface: str | None) -> None:
    assert surface_of("POST", target) == surface
    assert surface_of("GET", target) is None


@pytest.mark.parametrize(
    ("host", "label"),
    [
        ("generativelanguage.googleapis.com", "gemini"),
        ("API.anthropic.com", "anthropic"),
        ("api.openai.com", "openai"),
        ("eu.api.openai.com", "openai"),
        ("mine.openai.azure.com", "openai"),
        ("mine.azure.com", "openai"),
        ("", "openai"),
        ("localhost", "openai-compatible"),
        ("openrouter.ai", "openai-compatible"),
        ("notopenai.com", "openai-compatible"),
    ],
)
def test_the_host_tells_whose_call_it_was(host: str, label: str) -> None:
    assert provider_of("openai", host) == label
    assert provider_of("anthropic", host) == "anthropic"


def raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


@given(st.binary(max_size=300))
def test_an_encoded_body_comes_out_as_it_went_in(body: bytes) -> None:
    assert decoded_body(gzip.compress(body), "gzip") == (body, None)
    assert decoded_body(zlib.compress(body), "deflate") == (body, None)
    assert decoded_body(gzip.compress(zlib.compress(body)), "deflate, GZIP") == (body, None)
    assert decoded_body(body, "identity") == (body, None)


def test_deflate_without_its_header_is_undone() -> None:
    assert decoded_body(raw_deflate(b"hello hello"), "deflate") == (b"hello hello", None)


@given(st.binary(min_size=1, max_size=300), st.integers(min_value=0, max_value=300))
def test_a_body_that_was_cut_off_gives_what_came(body: bytes, kept: int) -> None:
    came, undecoded = decoded_body(gzip.compress(body)[:kept], "gzip")

    assert undecoded is None
    assert body.startswith(came)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "exotic"])
def test_a_body_that_cannot_be_decoded_is_kept_as_it_is(encoding: str) -> None:
    assert decoded_body(b"\xff\xfe not compressed", encoding) == (
        b"\xff\xfe not compressed",
        encoding,
    )


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://api.openai.com/v1/x?key=secret", "https://api.openai.com/v1/x"),
        ("http://user:word@localhost:8080/v1", "http://localhost:8080/v1"),
        ("http://[::1]:80/v1#part", "http://[::1]/v1"),
    ],
)
def test_an_address_is_kept_without_what_is_secret(url: str, address: str) -> None:
    assert address_of(httpx2.URL(url)) == address


def test_a_moment_is_written_in_utc_with_microseconds() -> None:
    assert iso_of(1_796_044_743_079_952_999) == "2026-11-30T13:19:03.079952+00:00"


def test_credentials_are_taken_out_of_a_text_whole_and_in_parts() -> None:
    headers = httpx2.Headers({"Authorization": "Bearer sk-0123456789", "x-api-key": "it's-a-key"})
    credentials = credentials_of(headers)
    text = "Illegal header value 'Bearer sk-0123456789', key sk-0123456789 or it's-a-key; Bearer"

    assert without(text, credentials) == (
        "Illegal header value '[credential]', key [credential] or [credential]; Bearer"
    )


@pytest.mark.parametrize(
    ("host", "body", "asks"),
    [
        ("api.openai.com", None, True),
        ("eu.api.openai.com", b"", True),
        ("mine.openai.azure.com", None, True),
        ("europe-west1-aiplatform.googleapis.com", None, True),
        ("bedrock-runtime.us-east-1.amazonaws.com", None, True),
        ("bedrock-runtime-fips.us-gov-west-1.amazonaws.com", None, True),
        ("OpenRouter.ai", None, True),
        ("localhost", b' {"model": "m", "messages": []}', True),
        ("localhost", b'{"rows": []}', False),
        ("localhost", b'["messages"]', False),
        ("localhost", None, False),
        ("api.openai.com.evil.example", b"{}", False),
    ],
)
def test_a_known_host_or_the_body_tells_that_a_model_is_asked(
    host: str, body: bytes | None, asks: bool
) -> None:
    assert asks_a_model("openai.chat", host, body) is asks


def test_credentials_of_the_address_and_of_bytes_headers_are_known() -> None:
    headers = {b"X-Amz-Security-Token": b"token-0123", "x-goog-api-key": "AIza-01234", "a": "b" * 9}
    url = "https://host/v1?key=AIza-56789&alt=sse&page=123456789"

    values = ("token-0123", "AIza-01234", "AIza-56789")
    in_base64 = {b64encode(value.encode()).decode().rstrip("=") for value in values}
    in_hex = {value.encode().hex() for value in values}
    assert set(credentials_of(headers, url)) == {*values, *in_base64, *in_hex}
