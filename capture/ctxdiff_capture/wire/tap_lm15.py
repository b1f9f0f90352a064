"""The tap at lm15's transports, by which DSPy asks: HTTP of its own over plain sockets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.wire import tries
from ctxdiff_capture.wire.endpoints import asks_a_model, surface_of
from ctxdiff_capture.wire.flight import Flight, Sink, carried_for
from ctxdiff_capture.wire.tee import chunks_of

_NOTE_REQUEST = host_never_sees("note a request")
_NOTE_FAILURE = host_never_sees("note a failed request")
_NOTE_ANSWER = host_never_sees("note an answer")


class Lm15Tap:
    """Reports what lm15's transports send to models. Source: the lm15 in DSPy 3.4.

    Args:
        sink: gets the reports.
        agent: whose calls they are.
    """

    __slots__ = ("agent", "sink")

    def __init__(self, sink: Sink, agent: str | None) -> None:
        self.sink = sink
        self.agent = agent

    def carry(self, send: Callable[..., Any], request: Any) -> Any:
        """What `send(request)` gives, reported."""
        flight = self._begin(request)
        if flight is None:
            return send(request)
        try:
            response = send(request)
        except BaseException as error:
            self._fail(flight, error)
            raise
        self._answer(flight, response)
        return response

    async def carry_async(self, send: Callable[..., Awaitable[Any]], request: Any) -> Any:
        """The same for an asynchronous transport."""
        flight = self._begin(request)
        if flight is None:
            return await send(request)
        try:
            response = await send(request)
        except BaseException as error:
            self._fail(flight, error)
            raise
        self._answer(flight, response)
        return response

    def _begin(self, request: Any) -> Flight | None:
        """Report that `request` leaves; None when it is not one that is recorded."""
        with _NOTE_REQUEST:
            address = urlsplit(request.url)
            surface = surface_of(request.method, address.path.encode())
            if surface is None or self.sink in carried_for.get():
                return None
            body = bytes(request.body or b"")
            if not asks_a_model(surface, address.hostname or "", body):
                return None
            clock, headers = self.sink.clock, dict(request.headers)
            flight = Flight(
                surface, "", body, request.url, headers, clock.wall_ns(), clock.monotonic_ns()
            )
            tries.join(flight, self.sink)
            return flight if self.sink.started(flight, self.agent) else None
        return None

    def _fail(self, flight: Flight, error: BaseException) -> None:
        with _NOTE_FAILURE:
            self.sink.ended(flight, "failed", error)

    def _answer(self, flight: Flight, response: Any) -> None:
        with _NOTE_ANSWER:
            flight.status = response.status
            flight.response_headers = {name.lower(): value for name, value in response.headers}
            flight.is_decoded = True  # below this
            response._chunks = chunks_of(response._chunks, flight, self.sink)  # noqa: SLF001
