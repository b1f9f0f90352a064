"""The tap at an aiohttp session: what happens around its requests."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.wire import tries
from ctxdiff_capture.wire.endpoints import Family, asks_a_model, surface_of
from ctxdiff_capture.wire.flight import Ending, Flight, Sink, carried_for

_NOTE_REQUEST = host_never_sees("note a request")
_NOTE_FAILURE = host_never_sees("note a failed request")
_NOTE_ANSWER = host_never_sees("note an answer")
_NOTE_END = host_never_sees("note the end of a stream")


def recorded(session: Any, family: Family, sink: Sink, agent: str | None) -> Any:
    """Stands for `session` where requests are made by `await session.request(...)` alone."""
    if not any(k.__module__.partition(".")[0] == "aiohttp" for k in type(session).__mro__):
        return session
    return _Session(session, AiohttpTap(sink, agent, family))


class _Session:
    """A session whose requests are reported; everything else is the session's own."""

    def __init__(self, session: Any, tap: AiohttpTap) -> None:
        self._session = session
        self._tap = tap

    async def request(self, method: str, url: Any, **options: Any) -> Any:
        """The response, reported."""
        return await self._tap.carry(self._session, self._session.request, method, url, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


class AiohttpTap:
    """Reports what aiohttp sessions send to models.

    Args:
        sink: gets the reports.
        agent: whose calls they are.
        family: whose SDK the sessions belong to; empty to report those of any session that are
            addressed to a model.
    """

    __slots__ = ("_now_ns", "_wall_ns", "agent", "family", "sink")

    def __init__(self, sink: Sink, agent: str | None, family: Family = "") -> None:
        self.sink = sink
        self.agent = agent
        self.family = family
        self._wall_ns = sink.clock.wall_ns
        self._now_ns = sink.clock.monotonic_ns

    async def carry(
        self,
        session: Any,
        request: Callable[..., Awaitable[Any]],
        method: str,
        url: Any,
        **options: Any,
    ) -> Any:
        """The response of `request(method, url, **options)`, which is `session`'s, reported."""
        flight: Flight | None = None
        with _NOTE_REQUEST:
            flight, options = self._begin(session, method, url, options)
        if flight is None:
            return await request(method, url, **options)
        token = carried_for.set((*carried_for.get(), self.sink))
        try:
            response = await request(method, url, **options)
        except BaseException as error:
            with _NOTE_FAILURE:
                status = getattr(error, "status", None)
                flight.status = status if isinstance(status, int) and status else None
                self.sink.ended(flight, "failed", error)
            raise
        finally:
            carried_for.reset(token)
        with _NOTE_ANSWER:
            flight.status = response.status
            flight.response_headers = response.headers
            flight.headers = response.request_info.headers
            is_decoded = options.get("auto_decompress")
            if is_decoded is None:
                is_decoded = session.auto_decompress
            keep_body(response, flight, self.sink, is_decoded=is_decoded)
        return response

    def _begin(
        self, session: Any, method: str, url: Any, options: dict[str, Any]
    ) -> tuple[Flight | None, dict[str, Any]]:
        """Report that a request leaves, unless it is none that is recorded; and its options."""
        address = sys.modules["yarl"].URL(url)
        base = getattr(session, "_base_url", None)
        if base is not None and not address.absolute:
            address = base.join(address)
        surface = surface_of(method.upper(), address.raw_path.encode())
        if surface is None or self.sink in carried_for.get():
            return None, options
        body, options = _body_of(session, options)
        if not self.family and not asks_a_model(surface, address.host or "", body):
            return None, options
        headers = options.get("headers")
        flight = Flight(
            surface,
            self.family,
            body,
            address,
            headers if hasattr(headers, "items") else {},
            self._wall_ns(),
            self._now_ns(),
        )
        tries.join(flight, self.sink)
        return (flight if self.sink.started(flight, self.agent) else None), options


def _body_of(session: Any, options: dict[str, Any]) -> tuple[bytes | None, dict[str, Any]]:
    """The body, None for one that only sending can read; and options that send the same."""
    data, json = options.get("data"), options.get("json")
    payload = sys.modules["aiohttp"].payload
    if json is not None and data is None:
        # Made here as the session would make it, so that it is serialised once.
        as_bytes = getattr(session, "_json_serialize_bytes", None)
        data = (
            payload.JsonPayload(json, dumps=session.json_serialize)
            if as_bytes is None
            else payload.JsonBytesPayload(json, dumps=as_bytes)
        )
        options = {**options, "json": None, "data": data}
    if data is None:
        return b"", options
    if isinstance(data, payload.BytesPayload):
        data = data._value  # noqa: SLF001 - the only way to it without sending
    if isinstance(data, str):
        data = data.encode()
    is_bytes = isinstance(data, bytes | bytearray | memoryview)
    return (bytes(data) if is_bytes else None), options


def keep_body(response: Any, flight: Flight, sink: Sink, *, is_decoded: bool) -> None:
    """Copy the body of a `ClientResponse` while it comes in; report its end.

    What has come already lies in the reader's buffer, or in the response if the host's session
    has read it.
    """
    content = response.content
    flight.is_decoded = is_decoded
    read = getattr(response, "_body", None)
    flight.chunks += [read] if read is not None else list(getattr(content, "_buffer", ()))
    if flight.chunks:
        flight.first_byte_ns = flight.last_byte_ns = sink.clock.monotonic_ns()
    if read is not None or content.is_eof():
        sink.ended(flight, "whole")
        return
    _under_way[id(content)] = (flight, sink)
    kind: Any = type(content)
    content.__class__ = _tee_class(kind)


_under_way: dict[int, tuple[Flight, Sink]] = {}
"""By the id of the stream reader, which takes no attributes; removed when the reader goes."""


@cache
def _tee_class(kind: Any) -> Any:
    """The stream reader that also keeps what the connection feeds it."""

    def end(self: Any, ending: Ending, error: BaseException | None = None) -> None:
        with _NOTE_END:
            flight, sink = _under_way.pop(id(self), (None, None))
            if flight is not None and sink is not None:
                sink.ended(flight, ending, error)

    def feed_data(self: Any, data: bytes, *size: int) -> Any:
        with _NOTE_END:
            flight, sink = _under_way.get(id(self), (None, None))
            if flight is not None and sink is not None and data:
                now = sink.clock.monotonic_ns()
                flight.first_byte_ns = flight.first_byte_ns or now
                flight.last_byte_ns = now
                flight.keep(data)
        return kind.feed_data(self, data, *size)

    def feed_eof(self: Any) -> None:
        end(self, "whole")
        kind.feed_eof(self)

    def set_exception(self: Any, error: Any, *cause: Any) -> None:
        # A response that was closed or released tells its readers so by this exception.
        is_closed = type(error).__name__ == "ClientConnectionError" and (
            str(error) == "Connection closed"
        )
        end(self, "closed" if is_closed else "failed", None if is_closed else error)
        kind.set_exception(self, error, *cause)

    def on_del(self: Any) -> None:
        end(self, "closed")

    names = {
        "__slots__": (),
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "__del__": on_del,
        "feed_data": feed_data,
        "feed_eof": feed_eof,
        "set_exception": set_exception,
    }
    return type(kind)(kind.__name__, (kind,), names)
