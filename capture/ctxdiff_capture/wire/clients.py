"""From a client of an SDK to one whose model calls are reported."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from ctxdiff_capture.wire import tap_botocore, tap_genai, tap_httpx
from ctxdiff_capture.wire.endpoints import Family, provider_of
from ctxdiff_capture.wire.flight import Sink

SUPPORTED = (
    "openai.OpenAI, AzureOpenAI; anthropic.Anthropic, AnthropicBedrock, AnthropicVertex;"
    " google.genai.Client; boto3.client('bedrock-runtime'); and the asynchronous ones of each"
)


def tap(client: Any, sink: Sink, agent: str | None) -> Any:
    """A copy of `client`, of its own class, whose model calls are reported to `sink`.

    The copy shares the connection pool and all state of the HTTP client, so that closing either
    closes both, as it is with `client.copy()`. The client itself stays unrecorded. A client that
    reports to `sink` already gives a copy that reports once, under the new agent.

    Raises:
        ValueError: the client is of no supported kind.
    """
    family = _family_of(client)
    copied = _COPY[family](client, sink, agent)
    if copied is None:
        raise ValueError(
            f"cannot record {_name_of(client)}: it does not keep its HTTP client where this version"
            f" of ctxdiff-capture looks for it; supported are {SUPPORTED}"
        )
    return copied


def provider_of_client(client: Any) -> str:
    """The attribution label that calls of `client` get.

    Raises:
        ValueError: the client is of no supported kind.
    """
    family = _family_of(client)
    # The one that speaks Bedrock's own wire; its successors speak Anthropic's.
    if any(kind.__name__.endswith("AnthropicBedrock") for kind in type(client).__mro__):
        return "bedrock"
    host = getattr(getattr(client, "base_url", None), "host", "")
    return provider_of(family, host if isinstance(host, str) else "")


def _family_of(client: Any) -> Family:
    """Whose SDK `client` comes from, read off its class so that no SDK is imported."""
    kinds = [] if isinstance(client, type) else type(client).__mro__
    modules = {kind.__module__ for kind in kinds}
    tops = {module.partition(".")[0] for module in modules}
    # Resources of a client (`client.chat`) live in the same package and cannot be wrapped alone.
    if hasattr(client, "base_url"):
        if "openai" in tops:
            return "openai"
        if "anthropic" in tops:
            return "anthropic"
    if any(
        k.__name__ in ("Client", "AsyncClient") and k.__module__ == "google.genai.client"
        for k in kinds
    ):
        return "gemini"
    if "botocore.client" in modules and tap_botocore.is_recorded_service(client):
        return "bedrock"
    raise ValueError(f"cannot record {_name_of(client)}; supported are {SUPPORTED}")


def _stainless_copy(family: Family) -> Callable[[Any, Sink, str | None], Any | None]:
    """For an SDK that keeps its httpx client in `_client`. Source: openai 3.57, anthropic 2.14."""

    def copy(client: Any, sink: Sink, agent: str | None) -> Any | None:
        original = getattr(client, "_client", None)
        if not tap_httpx.flavour_of(original) or not callable(getattr(client, "copy", None)):
            return None
        copied = _copied(client)
        copied._client = tap_httpx.recorded(original, family, sink, agent)  # noqa: SLF001 - see above
        return copied

    return copy


def _copied(client: Any) -> Any:
    """A copy of a client as the SDK makes it, with what the program has put on it.

    The SDK makes it by the class's `__init__`, which a program's own class may have changed.
    """
    kind = type(client)
    # Without resources, made when they are asked for: these are the client's and not the copy's.
    held = {
        name: value
        for name, value in vars(client).items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }
    try:
        copied = client.copy()
        # What stands over a method is bound to the client, and would send by it unrecorded.
        held = {name: value for name, value in held.items() if not hasattr(kind, name)}
    except Exception:  # noqa: BLE001 - whatever an `__init__` raises that we have not written
        copied = object.__new__(kind)
    for name, value in held.items():
        vars(copied).setdefault(name, value)
    return copied


_COPY: dict[Family, Callable[[Any, Sink, str | None], Any | None]] = {
    "openai": _stainless_copy("openai"),
    "anthropic": _stainless_copy("anthropic"),
    "gemini": tap_genai.recorded,
    "bedrock": tap_botocore.recorded,
}


def _name_of(client: Any) -> str:
    kind = client if isinstance(client, type) else type(client)
    return f"{kind.__module__}.{kind.__qualname__}"
