"""Calls that take long, as they are while they are under way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ctxdiff_capture.recorder.inbox import Job
from ctxdiff_capture.wire.flight import Clock, Flight, Invocation

LONG_S = 1.0
"""A call that takes longer is stored before it ends: what was asked outlives a killed program."""


@dataclass(frozen=True, slots=True, eq=False)
class Unfinished:
    """A flight that has not ended. Of its answer nothing is taken, for it is still coming."""

    flight: Flight

    @property
    def invocation(self) -> Invocation | None:
        """The call that it belongs to."""
        return self.flight.invocation

    @property
    def size_bytes(self) -> int:
        """Bytes of the request."""
        return len(self.flight.request or b"")

    @property
    def as_it_is(self) -> Flight:
        """The flight as if the program ended now."""
        return replace(
            self.flight,
            status=None,
            response_headers=None,
            chunks=[],
            first_byte_ns=None,
            last_byte_ns=None,
            ending="exit",
            error=None,
        )


class UnderWay:
    """Gives each flight once, when it has taken long. Meets `writer.UnderWay`.

    Args:
        in_flight: all flights that have not ended; others add to it and remove from it.
        clock: what their times are by.
    """

    def __init__(self, in_flight: Iterable[Flight], clock: Clock) -> None:
        self._in_flight = in_flight
        self._clock = clock
        self._given_until_ns = 0

    def __call__(self) -> tuple[Sequence[Job], float | None]:
        """Flights that have become long since the last time, and when the next one will."""
        flights = list(self._in_flight)
        limit_ns = self._clock.monotonic_ns() - round(LONG_S * 1e9)
        last_ns, self._given_until_ns = self._given_until_ns, limit_ns
        due = [
            Unfinished(flight)
            for flight in flights
            if last_ns < flight.started_ns <= limit_ns
            and flight.invocation is not None
            and not flight.invocation.is_stored
        ]
        later = [f.started_ns - limit_ns for f in flights if f.started_ns > limit_ns]
        return due, min(later) / 1e9 if later else None
