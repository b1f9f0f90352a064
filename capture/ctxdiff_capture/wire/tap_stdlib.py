"""The tap at a connection of `http.client`, which `urllib.request` and urllib3 send by, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.wire import tries
from ctxdiff_capture.wire.endpoints import asks_a_model, surface_of
from ctxdiff_capture.wire.flight import Flight, Sink, carried_for
from ctxdiff_capture.wire.tee import FileTee

_NOTE_REQUEST = host_never_sees("note a request")
_NOTE_FAILURE = host_never_sees("note a failed request")
_NOTE_ANSWER = host_never_sees("note an answer")


class StdlibTap:
    """Reports what connections of `http.client` send to models.

    Args:
        sink: gets the reports.
        agent: whose calls they are.
    """

    __slots__ = ("_unanswered", "agent", "sink")

    def __init__(self, sink: Sink, agent: str | None) -> None:
        self.sink = sink
        self.agent = agent
        # A connection has one request under way at most.
        self._unanswered: WeakKeyDictionary[Any, Flight] = WeakKeyDictionary()

    def ask(
        self,
        connection: Any,
        request: Callable[..., Any],
        method: str,
        url: str,
        *args: Any,
        **options: Any,
    ) -> Any:
        """What `request(method, url, body, headers, ...)` gives, reported."""
        flight: Flight | None = None
        with _NOTE_REQUEST:
            if method == "POST" and self.sink not in carried_for.get():
                body = args[0] if args else options.get("body")
                headers = args[1] if len(args) > 1 else options.get("headers")
                flight = self._begin(connection, url, body, headers or {})
        if flight is None:
            return request(method, url, *args, **options)
        # urllib3 1 asks by the method of its base class, which is tapped as well.
        token = carried_for.set((*carried_for.get(), self.sink))
        try:
            given = request(method, url, *args, **options)
        except BaseException as error:
            with _NOTE_FAILURE:
                self.sink.ended(flight, "failed", error)
            raise
        finally:
            carried_for.reset(token)
        with _NOTE_REQUEST:
            self._unanswered[connection] = flight
        return given

    def answer(
        self, connection: Any, getresponse: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        """What `getresponse()` gives, reported as the answer to what was asked."""
        flight = self._unanswered.pop(connection, None)
        if flight is None:
            return getresponse(*args, **options)
        try:
            response = getresponse(*args, **options)
        except BaseException as error:
            with _NOTE_FAILURE:
                self.sink.ended(flight, "failed", error)
            raise
        with _NOTE_ANSWER:
            flight.status = response.status
            flight.response_headers = response.headers
            flight.is_chunked = bool(response.chunked)
            if response.fp is None:  # the answer has no body
                self.sink.ended(flight, "whole")
            else:
                response.fp = FileTee(response.fp, flight, self.sink, response.length)
        return response

    def _begin(self, connection: Any, url: str, body: Any, headers: Any) -> Flight | None:
        """Report that a request leaves; None when it is not one that is recorded."""
        parts = urlsplit(url)  # a whole address, where it goes to a proxy
        surface = surface_of("POST", parts.path.encode())
        if surface is None:
            return None
        kept = _bytes_of(connection, body)
        scheme, host = _place_of(connection)
        if parts.scheme:
            address, host = url, parts.hostname or host
        else:
            address = f"{scheme}{url}"
        if not asks_a_model(surface, host, kept):
            return None
        clock = self.sink.clock
        flight = Flight(
            surface, "", kept, address, dict(headers), clock.wall_ns(), clock.monotonic_ns()
        )
        tries.join(flight, self.sink)
        return flight if self.sink.started(flight, self.agent) else None


def _bytes_of(connection: Any, body: Any) -> bytes | None:
    """The body as it is sent; None for one that is read while it is."""
    if body is None:
        return b""
    if isinstance(body, str):
        # Each has its own encoding; what `http.client` cannot encode it refuses to send.
        tops = {kind.__module__.partition(".")[0] for kind in type(connection).__mro__}
        return body.encode("utf-8" if "urllib3" in tops else "iso-8859-1", "replace")
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    return None


def _place_of(connection: Any) -> tuple[str, str]:
    """Scheme, host and port as an address begins with them; and the host."""
    tunnel = getattr(connection, "_tunnel_host", None)
    host = str(tunnel or connection.host)
    port = getattr(connection, "_tunnel_port", None) if tunnel else connection.port
    is_secure = bool(tunnel) or connection.default_port == 443
    usual = 443 if is_secure else 80
    named = f"[{host}]" if ":" in host else host
    place = named if port in (None, usual) else f"{named}:{port}"
    return f"{'https' if is_secure else 'http'}://{place}", host
