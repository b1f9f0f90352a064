"""The tap at a client of Bedrock's runtime, of boto3, botocore or aiobotocore."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.wire.endpoints import surface_of
from ctxdiff_capture.wire.flight import Ending, Flight, Sink, carried_for
from ctxdiff_capture.wire.tap_aiohttp import keep_body
from ctxdiff_capture.wire.tee import raw_tee, tee_of

_NOTE_REQUEST = host_never_sees("note a request")
_NOTE_FAILURE = host_never_sees("note a failed request")
_NOTE_ANSWER = host_never_sees("note an answer")


def is_recorded_service(client: Any) -> bool:
    """Whether a botocore client speaks to Bedrock's runtime."""
    return bool(client.meta.service_model.service_name == "bedrock-runtime")


def recorded(client: Any, sink: Sink, agent: str | None) -> Any | None:
    """A copy of `client` with events of its own, which reports; None when it is built otherwise.

    Handlers that were registered at the client are the copy's too; those that come later belong
    to the one where they are registered. Source: botocore 1.44, aiobotocore 3.10.
    """
    endpoint = getattr(client, "_endpoint", None)
    if not hasattr(endpoint, "_event_emitter"):
        return None
    events = copy.copy(client.meta.events)
    twin = _copied(client, meta=_copied(client.meta, events=events))
    twin._endpoint = _copied(endpoint, _event_emitter=events)  # noqa: SLF001 - as botocore makes it
    tap = BotocoreTap(sink, agent)
    tap.listen(events)
    others = [
        earlier for earlier in client.__dict__.get("ctxdiff_taps", ()) if earlier.sink is not sink
    ]
    twin.ctxdiff_taps = (*others, tap)
    twin._make_api_call = partial(_call, twin)  # noqa: SLF001 - every operation goes through it
    return twin


def _call(twin: Any, *args: Any) -> Any:
    """An operation of a recorded client; to be awaited where the client's are."""
    call = partial(type(twin)._make_api_call, twin)  # noqa: SLF001 - see above
    for tap in twin.ctxdiff_taps:
        call = partial(tap.carry_async if is_async(twin) else tap.carry, call)
    return call(*args)


def is_async(client: Any) -> bool:
    """Whether a botocore client is aiobotocore's."""
    return any(k.__module__.partition(".")[0] == "aiobotocore" for k in type(client).__mro__)


def _copied(original: Any, **changed: Any) -> Any:
    # By hand: a client answers questions for `__copy__` and the like through its events.
    copied = object.__new__(type(original))
    copied.__dict__.update(original.__dict__, **changed)
    return copied


@dataclass(slots=True, eq=False)
class _Operation:
    """One operation of a client: its sendings."""

    flight: Flight | None = None
    """The latest one."""
    is_answered: bool = False


class BotocoreTap:
    """Reports what clients of Bedrock's runtime send to models.

    Args:
        sink: gets the reports.
        agent: whose calls they are.
    """

    def __init__(self, sink: Sink, agent: str | None) -> None:
        self.sink = sink
        self.agent = agent
        self._operation: ContextVar[_Operation | None] = ContextVar(
            "ctxdiff_operation", default=None
        )
        self._heard: WeakSet[Any] = WeakSet()

    def listen(self, events: Any) -> None:
        """Hear the events of a client, once however often this is called."""
        if events in self._heard:
            return
        self._heard.add(events)
        for name, handler in self._handlers():
            events.register_last(name, handler)

    def leave(self) -> None:
        """Hear no client any more."""
        for events in list(self._heard):
            for name, handler in self._handlers():
                events.unregister(name, handler)
        self._heard.clear()

    def _handlers(self) -> Iterator[tuple[str, Callable[..., None]]]:
        yield "before-send.bedrock-runtime", self._leaves
        yield "before-parse.bedrock-runtime", self._comes
        yield "response-received.bedrock-runtime", self._came

    def carry(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What an operation gives, reported."""
        if self.sink in carried_for.get():
            return call(*args, **options)
        operation = _Operation()
        mine, theirs = self._operation.set(operation), self._carried()
        try:
            return call(*args, **options)
        except BaseException as error:
            self._end(operation, "failed", error)
            raise
        finally:
            carried_for.reset(theirs)
            self._operation.reset(mine)

    async def carry_async(
        self, call: Callable[..., Awaitable[Any]], *args: Any, **options: Any
    ) -> Any:
        """The same for an asynchronous client."""
        if self.sink in carried_for.get():
            return await call(*args, **options)
        operation = _Operation()
        mine, theirs = self._operation.set(operation), self._carried()
        try:
            return await call(*args, **options)
        except BaseException as error:
            self._end(operation, "failed", error)
            raise
        finally:
            carried_for.reset(theirs)
            self._operation.reset(mine)

    def _carried(self) -> Any:
        return carried_for.set((*carried_for.get(), self.sink))

    def _leaves(self, request: Any, **_: Any) -> None:
        """A sending, the first of its operation or a retry, is about to begin."""
        operation = self._operation.get()
        if operation is None:
            return
        with _NOTE_REQUEST:
            surface = surface_of(request.method, urlsplit(request.url).path.encode())
            if surface is None:
                return
            clock, body = self.sink.clock, request.body
            if isinstance(body, str):
                body = body.encode()
            flight = Flight(
                surface,
                "bedrock",
                bytes(body) if isinstance(body, bytes | bytearray) else None,
                request.url,
                request.headers,
                clock.wall_ns(),
                clock.monotonic_ns(),
            )
            earlier = operation.flight
            if earlier is not None:
                flight.invocation, flight.retry = earlier.invocation, earlier.retry + 1
            if self.sink.started(flight, self.agent):
                operation.flight, operation.is_answered = flight, False

    def _comes(self, response_dict: Any, **_: Any) -> None:
        """An answer is here, a streamed one with its body still to come."""
        operation = self._operation.get()
        if operation is None or operation.flight is None:
            return
        with _NOTE_ANSWER:
            flight = operation.flight
            operation.is_answered = True
            flight.status = response_dict["status_code"]
            flight.response_headers = response_dict["headers"]
            body = response_dict["body"]
            if isinstance(body, bytes):
                flight.chunks.append(body)
                self.sink.ended(flight, "whole")
            else:
                response_dict["body"] = _teed(body, flight, self.sink)

    def _came(self, exception: BaseException | None = None, **_: Any) -> None:
        """A sending is over, by an answer or an error."""
        operation = self._operation.get()
        if operation is not None and exception is not None:
            self._end(operation, "failed", exception)

    def _end(self, operation: _Operation, ending: Ending, error: BaseException) -> None:
        with _NOTE_FAILURE:
            if operation.flight is not None and not operation.is_answered:
                operation.is_answered = True
                self.sink.ended(operation.flight, ending, error)


def _teed(body: Any, flight: Flight, sink: Sink) -> Any:
    """`body` with a copy kept: the raw stream of events, or a `StreamingBody` around one."""
    raw = getattr(body, "_raw_stream", body)
    if any(kind.__module__.startswith("aiohttp") for kind in type(raw).__mro__):
        keep_body(raw, flight, sink, is_decoded=False)
        return body
    if any(kind.__module__.partition(".")[0] in ("httpx", "httpx2") for kind in type(raw).__mro__):
        raw.stream = tee_of(raw.stream, flight, sink)
        return body
    tee = raw_tee(raw, flight, sink)
    if raw is body:
        return tee
    body._raw_stream = tee  # noqa: SLF001 - it is made with one and has no other way to change it
    return body
