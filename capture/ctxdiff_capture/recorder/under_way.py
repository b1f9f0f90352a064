"""Calls that take long, as they are while they are under way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

from ctxdiff_capture.recorder.inbox import Job
from ctxdiff_capture.wire.flight import Flight, Invocation

LONG_S = 1.0
"""A call that takes longer is stored before it ends: what was asked outlives a killed program."""

TOGETHER_S = 0.2
"""How much later a call may be stored, so that others are stored in the same transaction."""


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
    """

    def __init__(self, in_flight: Iterable[Flight]) -> None:
        self._in_flight = in_flight
        self._due_at: dict[Flight, float] = {}
        """When each flight that was seen becomes long; infinite once it was given."""

    def __call__(self) -> tuple[Sequence[Job], float | None]:
        """Flights that have become long since the last time, and when the next one will."""
        now = monotonic()
        known = self._due_at
        due_at = {flight: known.get(flight, now + LONG_S) for flight in list(self._in_flight)}
        due = [flight for flight, moment in due_at.items() if moment <= now]
        self._due_at = due_at | dict.fromkeys(due, inf)
        soonest = min(self._due_at.values(), default=inf)
        jobs = [Unfinished(f) for f in due if f.invocation and not f.invocation.is_stored]
        return jobs, None if soonest == inf else max(soonest - now, TOGETHER_S)
