"""The tap at a session of `requests`: what happens around its `send`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.wire import tries
from ctxdiff_capture.wire.endpoints import asks_a_model, surface_of
from ctxdiff_capture.wire.flight import Flight, Sink, carried_for
from ctxdiff_capture.wire.tee import raw_tee

_NOTE_REQUEST = host_never_sees("note a request")
_NOTE_FAILURE = host_never_sees("note a failed request")
_NOTE_ANSWER = host_never_sees("note an answer")


class RequestsTap:
    """Reports what sessions of `requests` send to models.

    Args:
        sink: gets the reports.
        agent: whose calls they are.
    """

    __slots__ = ("agent", "sink")

    def __init__(self, sink: Sink, agent: str | None) -> None:
        self.sink = sink
        self.agent = agent

    def carry(self, send: Callable[..., Any], request: Any, **options: Any) -> Any:
        """What `send(request, **options)` gives, reported."""
        flight = self._begin(request)
        if flight is None:
            return send(request, **options)
        token = carried_for.set((*carried_for.get(), self.sink))
        try:
            response = send(request, **options)
        except BaseException as error:
            with _NOTE_FAILURE:
                self.sink.ended(flight, "failed", error)
            raise
        finally:
            carried_for.reset(token)
        with _NOTE_ANSWER:
            flight.status = response.status_code
            flight.response_headers = response.headers
            # The library reads a body at once unless the host wants to stream it.
            if response.raw is None or getattr(response, "_content_consumed", False):
                flight.chunks.append(response.content)
                flight.is_decoded = True
                self.sink.ended(flight, "whole")
            else:
                response.raw = raw_tee(response.raw, flight, self.sink)
        return response

    def _begin(self, request: Any) -> Flight | None:
        """Report that `request` leaves; None when it is not one that is recorded."""
        with _NOTE_REQUEST:
            if request.method != "POST" or self.sink in carried_for.get():
                return None
            address = urlsplit(request.url)
            surface = surface_of(request.method, address.path.encode())
            body = request.body or b""
            if isinstance(body, str):
                body = body.encode()
            if not isinstance(body, bytes):
                body = None
            if surface is None or not asks_a_model(surface, address.hostname or "", body):
                return None
            wall_ns, now_ns = self.sink.clock.wall_ns(), self.sink.clock.monotonic_ns()
            flight = Flight(surface, "", body, request.url, request.headers, wall_ns, now_ns)
            tries.join(flight, self.sink)
            return flight if self.sink.started(flight, self.agent) else None
        return None
