"""Which addresses are recorded, and whose they are."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

from ctxdiff_capture.model import SURFACES

Family: TypeAlias = Literal["openai", "anthropic", "gemini", "bedrock", ""]
"""Whose SDK the client belongs to; empty when only its requests are seen."""

# By the end of the path, so that gateways and Azure's deployments are found too.
_SURFACE_BY_ENDING = {
    "/chat/completions": "openai.chat",
    "/responses": "openai.responses",
    "/v1/messages": "anthropic.messages",
    ":rawPredict": "anthropic.messages",  # Vertex
    ":streamRawPredict": "anthropic.messages",
    ":generateContent": "gemini.generate_content",
    ":streamGenerateContent": "gemini.generate_content",
}
_BEDROCK = re.compile(r"/model/.+/(converse|invoke)(-stream|-with-response-stream)?$")
# What is asked at the same addresses and gives no answer to record: tokens are counted, texts
# embedded or ranked, pictures drawn; other publishers' models at Vertex have other forms.
_LEFT_ALONE = re.compile(
    r"""/models/count-tokens:rawPredict$
    | /publishers/(?!anthropic/)[^/]+/models/[^/]+:(rawPredict|streamRawPredict)$
    | /model/.*(embed|rerank|titan-image|canvas|nova-reel|stability\.).*/invoke$""",
    re.VERBOSE,
)
_SURFACE_OF_BEDROCK = {"converse": "bedrock.converse", "invoke": "bedrock.invoke_model"}

_PROVIDER_BY_HOST = {
    "generativelanguage.googleapis.com": "gemini",
    "api.anthropic.com": "anthropic",
    "api.openai.com": "openai",
}
_PROVIDER_BY_DOMAIN = {
    ".openai.com": "openai",
    ".openai.azure.com": "openai",
    ".azure.com": "openai",
}

# Where a path alone tells that a model is asked. Elsewhere the body must look like it, too.
_KNOWN_HOSTS = re.compile(
    r"""(api\.openai\.com | .*\.openai\.com | .*\.azure\.com | api\.anthropic\.com
    | (.*[.-])?(generativelanguage|aiplatform)\.googleapis\.com
    | bedrock-runtime(-fips)?\.[a-z0-9-]+\.(amazonaws\.com(\.cn)?|api\.aws)
    | openrouter\.ai | api\.(groq|deepseek|perplexity|cohere)\.com | api\.(mistral|cerebras)\.ai
    | api\.together\.(xyz|ai)
    | api\.x\.ai | api\.fireworks\.ai | router\.huggingface\.co)""",
    re.VERBOSE,
)
# A member that every request of the surface has; any of them will do.
_SIGNS: dict[str, tuple[bytes, ...]] = {
    "openai.chat": (b'"messages"',),
    "openai.responses": (b'"input"', b'"prompt"', b'"previous_response_id"', b'"conversation"'),
    "anthropic.messages": (b'"messages"',),
    "gemini.generate_content": (b'"contents"',),
    "bedrock.converse": (b'"messages"', b'"prompt'),
    "bedrock.invoke_model": (b'"messages"', b'"prompt"', b'"inputText"'),
}


@lru_cache(maxsize=256)
def surface_of(method: str, target: bytes) -> str | None:
    """The surface of a request to `target`; None for one that is not recorded.

    Args:
        method: HTTP method in capitals; only POST asks a model.
        target: path and query of the address, as sent.
    """
    if method != "POST":
        return None
    path = target.partition(b"?")[0].decode("ascii", "replace")
    surface = next((s for end, s in _SURFACE_BY_ENDING.items() if path.endswith(end)), None)
    if _LEFT_ALONE.search(path):
        return None
    if surface is None and (bedrock := _BEDROCK.search(path)):
        surface = _SURFACE_OF_BEDROCK[bedrock[1]]
    return surface if surface in SURFACES else None


def asks_a_model(surface: str, host: str, body: bytes | None) -> bool:
    """Whether a request that some client of the process sends is one of `surface`.

    Args:
        surface: what its path says.
        host: where it goes; of a host that nobody knows, such as `localhost`, the body decides.
        body: None for one that is streamed and cannot be looked at.
    """
    if _is_known(host):
        return True
    if body is None or body.lstrip()[:1] != b"{":
        return False
    return any(sign in body for sign in _SIGNS[surface])


@lru_cache(maxsize=256)
def provider_of(surface: str, host: str) -> str:
    """The attribution label of calls to `host`: it also decides how tokens are counted.

    Source: the capture contract, section 2. A wire that one provider speaks names it; OpenAI's is
    spoken by many.

    Args:
        surface: or the part of its name before the dot.
        host: empty when it cannot be told.
    """
    spoken = surface.partition(".")[0]
    if spoken != "openai":
        return spoken
    host = host.lower()
    if not host or host in _PROVIDER_BY_HOST:
        return _PROVIDER_BY_HOST.get(host, "openai")
    ours = (name for end, name in _PROVIDER_BY_DOMAIN.items() if host.endswith(end))
    return next(ours, "openai-compatible")


@lru_cache(maxsize=256)
def _is_known(host: str) -> bool:
    return _KNOWN_HOSTS.fullmatch(host.lower()) is not None
