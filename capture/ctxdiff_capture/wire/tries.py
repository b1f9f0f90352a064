"""Sendings that belong together, where a library repeats a request without saying so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ctxdiff_capture.wire.flight import Flight, Sink

_latest: ContextVar[dict[Sink, Flight] | None] = ContextVar("ctxdiff_tries", default=None)
"""Per sink the latest sending of the operation under way here; None outside of one."""


@contextmanager
def one_operation() -> Generator[None, None, None]:
    """All sendings inside are attempts of one call, also where these blocks nest."""
    if _latest.get() is not None:
        yield
        return
    token = _latest.set({})
    try:
        yield
    finally:
        _latest.reset(token)


def as_one(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call`, whose sendings are attempts of one call."""

    def tried(*args: Any, **options: Any) -> Any:
        with one_operation():
            return call(*args, **options)

    return tried


def as_one_async(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The same for a coroutine function."""

    async def tried(*args: Any, **options: Any) -> Any:
        with one_operation():
            return await call(*args, **options)

    return tried


def join(flight: Flight, sink: Sink) -> None:
    """Make `flight` an attempt of the call that the operation under way has begun, if it has."""
    latest = _latest.get()
    if latest is None:
        return
    if (earlier := latest.get(sink)) is not None:
        flight.invocation = earlier.invocation
        flight.retry = earlier.retry + 1
    latest[sink] = flight
