"""Credentials that travel in a body are in no field of a call, and nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest
from ctxdiff_capture.hashing import digest_of

SECRET = "s3cr3t-0123456789"
ASK = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    "more",
    [
        {"api_key": SECRET},
        {"apiKey": SECRET},
        {"azure_ad_token": "x", "x-api-key": SECRET},
        {"extra": {"headers": {"X-My-Auth": SECRET, "Accept": "json"}}},
        {"aws": {"aws_secret_access_key": SECRET, "aws_session_token": SECRET}},
        {"mcp_servers": [{"url": "https://m.test", "authorization_token": SECRET}]},
        {"mcp_servers": [{"url": f"https://me:{SECRET}@m.test/sse?key={SECRET}aB3"}]},
        {"credentials": [SECRET, {"token": SECRET}]},
        {"metadata": {"password": SECRET}},
        {"tools": [{"type": "mcp", "server_url": "https://m.test", "authorization": SECRET}]},
        {"tools": [{"type": "mcp", "headers": {"Authorization": f"Bearer {SECRET}"}}]},
        {"tools": [{"type": "mcp", "server_url": f"https://me:{SECRET}@m.test"}]},
    ],
    ids=str,
)
def test_a_credential_of_the_body_is_in_no_field(decoded: Any, more: dict[str, Any]) -> None:
    for surface, ask in (
        ("openai.chat", {"messages": ASK}),
        ("openai.responses", {"input": ASK}),
        ("anthropic.messages", {"messages": ASK}),
    ):
        call = decoded({"model": "m", **ask, **more}, surface=surface)

        assert SECRET not in repr(call)
        assert "[secret]" in repr(call)
        assert call.request_pieces is None


def test_the_key_of_a_tool_of_geminis_is_masked(decoded: Any) -> None:
    auth = {"authConfig": {"apiKeyConfig": {"apiKeyString": SECRET}}}
    tools = [{"googleMaps": auth, "functionDeclarations": [{"name": "f"}]}]

    call = decoded({"contents": [], "tools": tools}, surface="gemini.generate_content")

    assert SECRET not in repr(call)
    assert call.request_pieces is None


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f", "parameters": {"token": "string"}}},
        {"name": "f", "input_schema": {"properties": {"password": {"default": "x"}}}},
        {"type": "function", "name": "f", "parameters": {"api_key": "text", "headers": {"a": "b"}}},
        {"type": "mcp", "server_url": "https://m.test", "headers": {"Accept": "json"}},
    ],
)
def test_a_tool_that_has_arguments_with_such_names_is_left_as_it_is(
    decoded: Any, tool: dict[str, Any]
) -> None:
    call = decoded({"model": "m", "messages": ASK, "tools": [tool]}, surface="anthropic.messages")

    block = call.inputs[0].block
    assert "[secret]" not in block.text
    assert block.content_hash == digest_of("system", "tool_schema", tool)
    assert call.request_pieces is not None


@pytest.mark.parametrize(
    "params",
    [
        {"max_tokens": 9, "prompt_cache_key": "aB3dE5gH7jK9", "logit_bias": {"123": 1}},
        {"response_format": {"schema": {"properties": {"password": {"type": "string"}}}}},
        {"image": "https://h.test/a.png?size=200&page=2", "user": "u@h.test"},
        {"secret": True, "authorization": None, "token": ""},
    ],
)
def test_other_parameters_are_kept_and_the_request_too(
    decoded: Any, params: dict[str, Any]
) -> None:
    call = decoded({"messages": ASK, **params})

    assert call.params == params
    assert call.request_pieces is not None


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": [], "api_key": "' + SECRET.encode(),
        b'--x\r\nname="authorization_token"\r\n\r\n' + SECRET.encode(),
        b"api_key=" + SECRET.encode(),
        b"[" * 100_000 + b'{"password": "' + SECRET.encode() + b'"}',
    ],
    ids=["cut", "multipart", "form", "deep"],
)
def test_a_body_that_cannot_be_read_is_not_kept_when_it_names_a_credential(
    decoded: Any, body: bytes
) -> None:
    assert decoded(body).request_pieces is None
    assert SECRET not in repr(decoded(body))
    assert decoded(b"hello").request_pieces == (b"hello",)


def test_an_error_that_quotes_a_credential_of_the_body_is_kept_without_it(decoded: Any) -> None:
    server = {"url": "https://m.test", "authorization_token": SECRET}
    tool = {"type": "mcp", "server_url": "https://m.test", "authorization": f"tool-{SECRET}"}
    answer = {"error": {"message": f"{SECRET} and tool-{SECRET} were refused", "type": "x"}}

    call = decoded(
        {"mcp_servers": [server], "tools": [tool], "input": "hi"},
        answer,
        status=401,
        surface="openai.responses",
    )

    assert call.error is not None
    assert call.error.message == "[credential] and [credential] were refused"
    assert call.attempts[-1].error == call.error
