"""Which addresses are recorded, and whose they are."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

Family: TypeAlias = Literal["openai", "anthropic"]
"""Whose SDK the client belongs to."""

# By the end of the path, so that gateways and Azure's deployments are found too.
_SURFACE_BY_ENDING = {
    "/chat/completions": "openai.chat",
    "/responses": "openai.responses",
    "/v1/messages": "anthropic.messages",
}

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
    return next((s for end, s in _SURFACE_BY_ENDING.items() if path.endswith(end)), None)


@lru_cache(maxsize=256)
def provider_of(family: Family, host: str) -> str:
    """The attribution label of calls to `host`: it also decides how tokens are counted.

    Source: the capture contract, section 2. An SDK that speaks to one provider names it; the
    OpenAI SDK speaks to many.
    """
    if family != "openai":
        return family
    host = host.lower()
    if not host or host in _PROVIDER_BY_HOST:
        return _PROVIDER_BY_HOST.get(host, "openai")
    ours = (name for end, name in _PROVIDER_BY_DOMAIN.items() if host.endswith(end))
    return next(ours, "openai-compatible")
