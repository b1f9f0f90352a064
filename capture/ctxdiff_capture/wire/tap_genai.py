"""The tap at a google-genai client, Gemini API and Vertex alike."""

from __future__ import annotations

from functools import cache
from typing import Any

from ctxdiff_capture.wire import tap_aiohttp, tap_httpx, tries
from ctxdiff_capture.wire.flight import Sink

# The one place that reads the SDK's private attributes. Source: google-genai 3.6.
_API_CLIENT = "_api_client"
_HTTP_CLIENTS = ("_httpx_client", "_async_httpx_client")


def recorded(client: Any, sink: Sink, agent: str | None) -> Any | None:
    """A copy of `client` that reports to `sink`; None when it is not built as we know it.

    The copy has the resources of the client (`models`, `chats`, `aio`) and shares its connections.
    It never closes them of itself: the original does so. The copy of the client holds the client,
    that of what all resources send by holds what the client's send by.
    """
    original = getattr(client, _API_CLIENT, None)
    if not tap_httpx.flavour_of(getattr(original, _HTTP_CLIENTS[0], None)):
        return None
    kind: Any = type(original)
    twin = object.__new__(_without_del(_with_session(kind)))
    twin.__dict__.update(original.__dict__)
    twin.ctxdiff_report = (sink, agent)
    # A resource may outlive its client: `wrap(Client()).aio` still needs the connections.
    twin.ctxdiff_original = original
    for name in _HTTP_CLIENTS:
        if tap_httpx.flavour_of(twin.__dict__.get(name)):
            setattr(twin, name, tap_httpx.recorded(twin.__dict__[name], "gemini", sink, agent))
    copied = _copied(client, original, twin)
    copied.ctxdiff_original = client
    return copied


def _copied(client: Any, original: Any, twin: Any) -> Any:
    """`client` and the resources that hang on it, with `twin` wherever they hold `original`."""
    copies: dict[int, Any] = {id(original): twin}

    def of(value: Any) -> Any:
        if id(value) in copies:
            return copies[id(value)]
        if getattr(value, _API_CLIENT, None) is not original:
            return value
        kind: Any = type(value)
        copied = object.__new__(_without_del(kind) if value is client else kind)
        copies[id(value)] = copied
        copied.__dict__.update({name: of(held) for name, held in value.__dict__.items()})
        return copied

    return of(client)


@cache
def _without_del(kind: type) -> Any:
    def no_del(_: Any) -> None:
        """The SDK closes its connections here; the original does so when it goes itself."""

    names = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__del__": no_del}
    return type(kind)(kind.__name__, (kind,), names)


@cache
def _with_session(kind: Any) -> Any:
    """`kind` with its aiohttp sessions recorded, and its retries as attempts of one call.

    Where aiohttp is installed, async calls use it.
    """
    if "ctxdiff_report" in vars(kind):
        return kind

    async def session_of(self: Any) -> Any:
        session = await kind._get_aiohttp_session(self)  # noqa: SLF001 - see above
        return tap_aiohttp.recorded(session, "gemini", *self.ctxdiff_report)

    names = {
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "_get_aiohttp_session": session_of,
        "_request": tries.as_one(kind._request),  # noqa: SLF001 - see above
        "_async_request": tries.as_one_async(kind._async_request),  # noqa: SLF001
        "ctxdiff_report": None,
    }
    return type(kind)(kind.__name__, (kind,), names)
