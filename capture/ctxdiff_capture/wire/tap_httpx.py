"""The tap at an httpx2 or httpx client: what happens around its `send`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import cache, partial
from typing import Any

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.wire import tries
from ctxdiff_capture.wire.endpoints import Family, asks_a_model, surface_of
from ctxdiff_capture.wire.flight import Flight, Sink, carried_for
from ctxdiff_capture.wire.tee import tee_of

_HTTPX = ("httpx2", "httpx")
_RETRY_HEADER = "x-stainless-retry-count"

_NOTE_REQUEST = host_never_sees("note a request")
_NOTE_FAILURE = host_never_sees("note a failed request")
_NOTE_ANSWER = host_never_sees("note an answer")


def flavour_of(http_client: Any) -> tuple[str, bool] | None:
    """(`httpx2` or `httpx`, whether it is asynchronous); None for anything else."""
    for kind in type(http_client).__mro__:
        module = kind.__module__.partition(".")[0]
        if module in _HTTPX and kind.__name__ in ("Client", "AsyncClient"):
            return module, kind.__name__ == "AsyncClient"
    return None


def recorded(original: Any, family: Family, sink: Sink, agent: str | None) -> Any:
    """A twin of an HTTP client, of a subclass of its class, with all its state, that reports.

    A twin that reports to `sink` already is not reported twice.
    """
    if not flavour_of(original):
        raise TypeError(f"no httpx client: {original!r}")
    earlier = getattr(original, "ctxdiff_tap", None)
    if isinstance(earlier, _Twin) and earlier.tap.sink is sink:
        original = earlier.original
    kind: Any = type(original)
    twin: Any = object.__new__(_twin_class(kind))
    # One dict for both: cookies, headers and above all "closed" cannot come apart.
    twin.__dict__ = original.__dict__
    twin.ctxdiff_tap = _Twin(original, HttpxTap(sink, agent, family))
    return twin


class _Twin:
    """What one recorded HTTP client has beyond the original."""

    __slots__ = ("carry", "original", "tap")

    def __init__(self, original: Any, tap: HttpxTap) -> None:
        self.original = original
        self.tap = tap
        is_async = (flavour_of(original) or ("", False))[1]
        self.carry: Callable[..., Any] = tap.carry_async if is_async else tap.carry


@cache
def _twin_class(kind: type) -> type:
    def send(self: Any) -> Any:
        twin: _Twin = self.ctxdiff_tap
        return partial(twin.carry, twin.original.send)

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


class HttpxTap:
    """Reports what HTTP clients send to models.

    Args:
        sink: gets the reports.
        agent: whose calls they are.
        family: whose SDK the clients belong to; empty to report those of any client that are
            addressed to a model.
    """

    __slots__ = ("_failed", "_now_ns", "_wall_ns", "agent", "family", "sink")

    def __init__(self, sink: Sink, agent: str | None, family: Family = "") -> None:
        self.sink = sink
        self.agent = agent
        self.family = family
        self._wall_ns = sink.clock.wall_ns
        self._now_ns = sink.clock.monotonic_ns
        # The SDKs retry in the context that sent the first attempt, so concurrent calls with
        # equal bodies are told apart.
        self._failed: ContextVar[Flight | None] = ContextVar("ctxdiff_failed", default=None)

    def carry(self, send: Callable[..., Any], request: Any, **options: Any) -> Any:
        """What `send(request, **options)` gives, reported."""
        flight = self._begin(request)
        if flight is None:
            return send(request, **options)
        token = carried_for.set((*carried_for.get(), self.sink))
        try:
            response = send(request, **options)
        except BaseException as error:
            self._fail(flight, error)
            raise
        finally:
            carried_for.reset(token)
        self._answer(flight, response)
        return response

    async def carry_async(
        self, send: Callable[..., Awaitable[Any]], request: Any, **options: Any
    ) -> Any:
        """The same for an asynchronous client."""
        flight = self._begin(request)
        if flight is None:
            return await send(request, **options)
        token = carried_for.set((*carried_for.get(), self.sink))
        try:
            response = await send(request, **options)
        except BaseException as error:
            self._fail(flight, error)
            raise
        finally:
            carried_for.reset(token)
        self._answer(flight, response)
        return response

    def _begin(self, request: Any) -> Flight | None:
        """Report that `request` leaves; None when it is not one that is recorded."""
        with _NOTE_REQUEST:
            surface = surface_of(request.method, request.url.raw_path)
            if surface is None or self.sink in carried_for.get():
                return None
            body = _body_of(request)
            if not self.family and not asks_a_model(surface, request.url.host, body):
                return None
            flight = Flight(
                surface,
                self.family,
                body,
                request.url,
                request.headers,
                self._wall_ns(),
                self._now_ns(),
            )
            tries.join(flight, self.sink)
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


def _body_of(request: Any) -> bytes | None:
    try:
        body: bytes = request.content
    except RuntimeError:  # RequestNotRead, of either flavour: an iterator, read only by sending
        return None
    return body


def _join(flight: Flight, failed: Flight) -> None:
    """Make `flight` an attempt of the call whose sending `failed`, if it is its retry."""
    count = flight.headers.get(_RETRY_HEADER, "")
    if count.isdecimal() and int(count) == failed.retry + 1 and flight.request == failed.request:
        flight.invocation = failed.invocation
        flight.retry = failed.retry + 1
