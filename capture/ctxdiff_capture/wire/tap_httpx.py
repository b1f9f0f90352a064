"""The tap at the HTTP client inside the OpenAI and Anthropic SDKs."""

from __future__ import annotations

from contextvars import ContextVar
from functools import cache
from typing import Any

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.wire.endpoints import Family, provider_of, surface_of
from ctxdiff_capture.wire.flight import Flight, Sink
from ctxdiff_capture.wire.tee import tee_of

SUPPORTED = (
    "openai.OpenAI, AsyncOpenAI, AzureOpenAI, AsyncAzureOpenAI; anthropic.Anthropic, AsyncAnthropic"
)
_FAMILIES: tuple[Family, ...] = ("openai", "anthropic")
_HTTPX = ("httpx2", "httpx")
_RETRY_HEADER = "x-stainless-retry-count"

_NOTE_REQUEST = host_never_sees("note a request")
_NOTE_FAILURE = host_never_sees("note a failed request")
_NOTE_ANSWER = host_never_sees("note an answer")


def tap(client: Any, sink: Sink, agent: str | None) -> Any:
    """A copy of `client`, of its own class, whose model calls are reported to `sink`.

    The copy shares the connection pool and all state of the HTTP client, so that closing either
    closes both, as it is with `client.copy()`. The client itself stays unrecorded. A client that
    reports to `sink` already gives a copy that reports once, under the new agent.

    Raises:
        ValueError: the client is of no supported kind.
    """
    family = _family_of(client)
    original = _http_client_of(client)
    if original is None or not callable(getattr(client, "copy", None)):
        raise ValueError(
            f"cannot record {_name_of(client)}: it does not keep its HTTP client where this version"
            f" of ctxdiff-capture looks for it; supported are {SUPPORTED}"
        )
    earlier = getattr(original, "ctxdiff_tap", None)
    if isinstance(earlier, _Tap) and earlier.sink is sink:
        original = earlier.original
    copied = client.copy()
    copied._client = _recorded(original, family, sink, agent)  # noqa: SLF001 - see _http_client_of
    return copied


def provider_of_client(client: Any) -> str:
    """The attribution label that calls of `client` get.

    Raises:
        ValueError: the client is of no supported kind.
    """
    host = getattr(getattr(client, "base_url", None), "host", "")
    return provider_of(_family_of(client), host if isinstance(host, str) else "")


def _family_of(client: Any) -> Family:
    """Whose SDK `client` comes from, read off its class so that no SDK is imported."""
    tops = {kind.__module__.partition(".")[0] for kind in type(client).__mro__}
    family = next((f for f in _FAMILIES if f in tops), None)
    # Resources of a client (`client.chat`) live in the same package and cannot be wrapped alone.
    if family is None or not hasattr(client, "base_url") or isinstance(client, type):
        raise ValueError(f"cannot record {_name_of(client)}; supported are {SUPPORTED}")
    return family


def _http_client_of(client: Any) -> Any | None:
    """The HTTP client inside an SDK client; None when it is not where we know it.

    The one place that reads an SDK's private attribute. Source: openai 3.57, anthropic 2.14.
    """
    http_client = getattr(client, "_client", None)
    return http_client if _flavour_of(http_client) else None


def _flavour_of(http_client: Any) -> tuple[str, bool] | None:
    """(`httpx2` or `httpx`, whether it is asynchronous); None for anything else."""
    for kind in type(http_client).__mro__:
        module = kind.__module__.partition(".")[0]
        if module in _HTTPX and kind.__name__ in ("Client", "AsyncClient"):
            return module, kind.__name__ == "AsyncClient"
    return None


def _name_of(client: Any) -> str:
    kind = client if isinstance(client, type) else type(client)
    return f"{kind.__module__}.{kind.__qualname__}"


def _recorded(original: Any, family: Family, sink: Sink, agent: str | None) -> Any:
    """A twin of `original` of a subclass of its class, with all its state and a `send` of ours."""
    kind: Any = type(original)
    twin: Any = object.__new__(_twin_class(kind))
    # One dict for both: cookies, headers and above all "closed" cannot come apart.
    twin.__dict__ = original.__dict__
    flavour = _flavour_of(original)
    assert flavour is not None
    twin.ctxdiff_tap = (_AsyncTap if flavour[1] else _Tap)(original, family, sink, agent)
    return twin


@cache
def _twin_class(kind: type) -> type:
    def send(self: Any) -> Any:
        return self.ctxdiff_tap.send

    def replace_send(self: Any, value: Any) -> None:
        self.ctxdiff_tap.original.send = value

    def no_del(_: Any) -> None:
        """The SDK's client closes its pool here; the original does so when it goes itself."""

    namespace = {
        "__slots__": ("ctxdiff_tap",),
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        # A property, because an instance attribute of the shared dict would hide a method.
        "send": property(send, replace_send),
        "__del__": no_del,
    }
    return type(kind)(kind.__name__, (kind,), namespace)


class _Tap:
    """What one recorded HTTP client does around the `send` of the original."""

    __slots__ = ("_failed", "_now_ns", "_wall_ns", "agent", "family", "original", "sink")

    def __init__(self, original: Any, family: Family, sink: Sink, agent: str | None) -> None:
        self.original = original
        self.family = family
        self.sink = sink
        self.agent = agent
        self._wall_ns = sink.clock.wall_ns
        self._now_ns = sink.clock.monotonic_ns
        # The SDKs retry in the context that sent the first attempt, so concurrent calls with
        # equal bodies are told apart.
        self._failed: ContextVar[Flight | None] = ContextVar("ctxdiff_failed", default=None)

    def send(self, request: Any, **options: Any) -> Any:
        """`send` of the original client, reported."""
        flight = self._begin(request)
        if flight is None:
            return self.original.send(request, **options)
        try:
            response = self.original.send(request, **options)
        except BaseException as error:
            self._fail(flight, error)
            raise
        self._answer(flight, response)
        return response

    def _begin(self, request: Any) -> Flight | None:
        """Report that `request` leaves; None when it is not one that is recorded."""
        with _NOTE_REQUEST:
            surface = surface_of(request.method, request.url.raw_path)
            if surface is None:
                return None
            flight = Flight(
                surface, self.family, request.content, request, self._wall_ns(), self._now_ns()
            )
            failed = self._failed.get()
            if failed is not None:
                _join(flight, failed)
            return flight if self.sink.started(flight, self.agent) else None
        return None

    def _fail(self, flight: Flight, error: BaseException) -> None:
        with _NOTE_FAILURE:
            self._failed.set(flight)
            self.sink.ended(flight, "failed", error)

    def _answer(self, flight: Flight, response: Any) -> None:
        """Report the answer, now if its body is here, else when its stream has ended."""
        with _NOTE_ANSWER:
            flight.status = status = response.status_code
            flight.response_headers = response.headers
            if status >= 400:
                self._failed.set(flight)
            elif self._failed.get() is not None:
                self._failed.set(None)
            try:
                flight.chunks.append(response.content)
            except RuntimeError:  # ResponseNotRead, of either flavour: it is a stream
                response.stream = tee_of(response.stream, flight, self.sink)
                return
            flight.is_decoded = True
            self.sink.ended(flight, "whole")


class _AsyncTap(_Tap):
    """The same around an asynchronous client."""

    __slots__ = ()

    async def send(self, request: Any, **options: Any) -> Any:
        """`send` of the original client, reported."""
        flight = self._begin(request)
        if flight is None:
            return await self.original.send(request, **options)
        try:
            response = await self.original.send(request, **options)
        except BaseException as error:
            self._fail(flight, error)
            raise
        self._answer(flight, response)
        return response


def _join(flight: Flight, failed: Flight) -> None:
    """Make `flight` an attempt of the call whose sending `failed`, if it is its retry."""
    count = flight.request_message.headers.get(_RETRY_HEADER, "")
    if count.isdecimal() and int(count) == failed.retry + 1 and flight.request == failed.request:
        flight.invocation = failed.invocation
        flight.retry = failed.retry + 1
