"""One sending of a request: what is noted while it is in the air."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter_ns, time_ns
from typing import Any, Literal, Protocol, TypeAlias

from ctxdiff_capture.model import Attempt, Said, Tag
from ctxdiff_capture.wire.endpoints import Family

MOST_ANSWER_BYTES = 64 * 2**20
"""How much of a streamed answer is kept: some never end."""

Ending: TypeAlias = Literal["whole", "closed", "failed", "exit"]
"""How a flight ended: to the last byte; let go before it; by an error; with the program."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Where time comes from."""

    wall_ns: Callable[[], int] = time_ns
    """Nanoseconds since 1970 in UTC; only for dates."""
    monotonic_ns: Callable[[], int] = perf_counter_ns
    """Only for durations."""


@dataclass(slots=True, eq=False)
class Invocation:
    """What all sendings of one call share. Labels are fixed when the first one leaves."""

    seq: int
    agent: str | None = None
    step: str | None = None
    tags: tuple[Tag, ...] = ()
    said: tuple[Said, ...] = ()
    """What the program said about the call before it."""
    call_id: str = ""
    """Set by the recorder, like the fields below."""
    is_stored: bool = False
    attempts: tuple[Attempt, ...] = ()
    """Sendings that ended, oldest first."""


@dataclass(slots=True, eq=False)
class Flight:
    """One sending. The host's thread fills it in; the recorder's reads it once it has ended."""

    surface: str
    family: Family
    request: bytes | None
    """The body; None when it was streamed, and so could not be kept."""
    url: Any
    """The address as the HTTP library has it: its text is the URL."""
    headers: Any
    """The request's, as the HTTP library has them; read to keep credentials out."""
    started_wall_ns: int
    started_ns: int
    invocation: Invocation | None = None
    """Given by the sink, or taken from the sending that this one retries."""
    retry: int = 0
    """0 for the first sending, as the SDK counts."""
    status: int | None = None
    response_headers: Any = None
    chunks: list[bytes] = field(default_factory=list)
    """The body as it came; its content-encoding is undone already when `is_decoded`."""
    kept_bytes: int = 0
    is_cut: bool = False
    """Whether the answer went on after `MOST_ANSWER_BYTES`."""
    is_decoded: bool = False
    is_chunked: bool = False
    """Whether the body is in pieces still, with their sizes in between, as HTTP/1.1 sends them."""
    first_byte_ns: int | None = None
    last_byte_ns: int | None = None
    """When the last byte, or the error, came."""
    ending: Ending = "whole"
    error: BaseException | None = None

    def keep(self, chunk: bytes) -> None:
        """Keep a chunk of a stream, within bounds."""
        if self.kept_bytes < MOST_ANSWER_BYTES:
            self.kept_bytes += len(chunk)
            self.chunks.append(chunk)
        else:
            self.is_cut = True

    @property
    def size_bytes(self) -> int:
        """Bytes of both bodies that are held in memory."""
        return len(self.request or b"") + sum(map(len, self.chunks))


class Sink(Protocol):
    """What taps report to. Every method is safe on any thread and while garbage is collected."""

    @property
    def clock(self) -> Clock:
        """Where taps take their times from."""

    def started(self, flight: Flight, agent: str | None) -> bool:
        """A request is about to leave. False when nothing is recorded any more.

        Gives the flight an invocation with the labels now in force, unless it has one.
        """

    def ended(self, flight: Flight, ending: Ending, error: BaseException | None = None) -> None:
        """Nothing more will come. Only the first report of a flight counts."""


carried_for: ContextVar[tuple[Sink, ...]] = ContextVar("ctxdiff_carried_for", default=())
"""Whose taps see the sending that is under way here: those below them leave it alone.

An SDK sends by an HTTP client, which may send by another one, and each may be tapped.
"""
