"""The front of the recorder: what a program holds while it is recorded."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.guard import host_never_sees, log
from ctxdiff_capture.hooks.front import Hooks
from ctxdiff_capture.model import Call, Exchange, Json
from ctxdiff_capture.recorder import exits
from ctxdiff_capture.recorder.redact import Redaction
from ctxdiff_capture.recorder.redacting import redacting
from ctxdiff_capture.recorder.scope import Scope, name_of
from ctxdiff_capture.recorder.under_way import UnderWay, Unfinished
from ctxdiff_capture.recorder.writer import Writer
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session
from ctxdiff_capture.tokens.counter import TokenCounter
from ctxdiff_capture.wire.clients import provider_of_client, tap
from ctxdiff_capture.wire.endpoints import provider_of
from ctxdiff_capture.wire.exchange import address_of, exchange_of, iso_of, said_of
from ctxdiff_capture.wire.flight import Clock, Ending, Flight, Invocation

Client = TypeVar("Client")

BUSY_S = 0.1
"""How long the store waits for another program's lock at a time; the writer tries again."""

_left_to_the_parent: list[Writer] = []
"""Writers inherited by fork. Their file handles are the parent's: they must never be closed."""


@dataclass(slots=True, eq=False)
class _Submitted:
    """An exchange that was seen elsewhere, on its way to the writer."""

    exchange: Exchange
    invocation: Invocation
    is_rebuilt: bool = False
    """True when the request is not byte for byte what was sent."""

    @property
    def size_bytes(self) -> int:
        return len(self.exchange.request) + len(self.exchange.response or b"")


class Tracer(Hooks):
    """Records the model calls of wrapped clients into one session.

    Made by `trace.init`. Every method may be called from any thread; none but `wrap` raises, and
    that only for a client it does not know.
    """

    def __init__(
        self,
        project: str,
        destination: Destination | None,
        *,
        redact: Redaction | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._project = project
        self._destination = destination
        self._redact = redact
        self._clock = clock or Clock()
        self._scope = Scope()
        self._count = TokenCounter()
        super().__init__(lambda: iso_of(self._clock.wall_ns()), lambda: self._count)
        self._lock = threading.Lock()
        self._writer: Writer | None = None
        self._provider = ""
        self._numbers = itertools.count(1)
        self._seen = 0
        self._in_flight: dict[Flight, None] = {}
        self._is_closed = False
        self._warned_of_close = False
        self._leave_process: Callable[[], object] = lambda: None

    def __enter__(self) -> Tracer:  # noqa: PYI034 - `Self` came with Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def path(self) -> str | None:
        """The trace's file; None for a database, and when nothing is recorded."""
        if self._destination is None or self._destination.path is None:
            return None
        return str(self._destination.path)

    @property
    def count(self) -> int:
        """Calls that were seen by now, finished or not, in the latest session."""
        return self._seen

    def wrap(self, client: Client, agent: str | None = None) -> Client:
        """A client of the same class whose calls are recorded; `client` itself stays as it is.

        The two share one connection pool: closing either closes both. A client that this tracer
        has wrapped already gives one that is recorded once, under the new `agent`. After `close`
        a new session begins.

        Args:
            client: of the OpenAI, Anthropic or google-genai SDK, or a `bedrock-runtime` client of
                boto3 or aiobotocore; synchronous or not.
            agent: name of the agent that makes the calls; None leaves them unnamed.

        Raises:
            ValueError: the client is of no supported kind.
        """
        wrapped: Client = tap(client, self, name_of(agent))
        with host_never_sees("start recording"):
            self._begin_session(provider_of_client(client))
        return wrapped

    def record_process(self, agent: str | None = None) -> None:
        """Record the model calls of every client in this process, until `close`.

        Clients of httpx, httpx2, aiohttp and botocore, whoever made them and whichever library
        holds them; those that are imported later too. A call is recorded once, however many of
        them it passes; under its own agent's name where its client was wrapped.
        """
        with host_never_sees("record the process"):
            from ctxdiff_capture.wire import process_wide  # noqa: PLC0415 - loaded if asked for

            self._leave_process = partial(process_wide.uninstall, self)
            process_wide.install(self, name_of(agent))

    def tag(self, label: Json, items: Json) -> None:
        """Label texts of the next call that is made in this thread or task.

        Args:
            label: what they are: `rag`, `memory`.
            items: a text, a dict or document that holds one, or any number of them.
        """
        with host_never_sees("note a tag"):
            self._scope.tag(label, items)

    def mark(self, step: Json) -> None:
        """Name the step of the calls that follow in this thread or task; None ends it."""
        with host_never_sees("note a step"):
            self._scope.mark(step)

    @contextmanager
    def step(self, label: Json) -> Generator[None, None, None]:
        """Name the step of the calls inside a `with` block. Blocks nest."""
        with self._scope.inside(label):
            yield

    @contextmanager
    def agent(self, name: Json) -> Generator[None, None, None]:
        """Name the agent whose calls are made inside a `with` block. Blocks nest.

        It goes before the name that a client was wrapped under.
        """
        with self._scope.as_agent(name):
            yield

    def submit(self, exchange: Exchange) -> None:
        """Record an exchange that was seen elsewhere: by a proxy, in a log.

        Its agent, step and tags are taken as they are.
        """
        with host_never_sees("take an exchange"):
            if self._destination is None or self._refused():
                return
            self._begin_session(exchange.provider)
            writer = self._writer
            if writer is not None:
                writer.put(_Submitted(exchange, Invocation(next(self._numbers))))

    def flush(self) -> bool:
        """Wait until the calls that have ended are stored, and callbacks have run for all.

        False when that took too long.
        """
        writer = self._writer
        is_told = self._observers.flush()
        return (writer is None or writer.flush()) and is_told

    def close(self) -> None:
        """Store everything and close the trace. Answers still under way are stored as unfinished.

        Bounded: gives up after 30 s, or after 6 s in which nothing could be stored. May be called
        twice.
        """
        with host_never_sees("close the trace"):
            self._leave_process()
            self._end_runs()
            with self._lock:
                writer, self._writer = self._writer, None
                self._is_closed = True
            if writer is None:
                return
            exits.forget(self)
            for flight in list(self._in_flight):
                self._end(writer, flight, "exit", None)
            writer.close()
            self._observers.stop()

    # What the taps call.

    @property
    def clock(self) -> Clock:
        """Where times come from."""
        return self._clock

    def started(self, flight: Flight, agent: str | None) -> bool:
        """A request is about to leave; False when nothing is recorded."""
        if self._writer is None and not self._is_recording_again(flight):
            return False
        if flight.invocation is None:
            # A framework may have told of the call before it is sent.
            flight.invocation = self._runs.taken() or self._invocation(agent)
            flight.invocation.agent = flight.invocation.agent or agent
            if self._observers:
                self._tell(flight, flight.invocation)
        self._in_flight[flight] = None
        writer = self._writer
        if writer is not None:
            writer.expect()
        return True

    def ended(self, flight: Flight, ending: Ending, error: BaseException | None = None) -> None:
        """A request has its answer, or never will. Only the first report counts."""
        writer = self._writer
        if writer is not None:
            self._end(writer, flight, ending, error)

    def pause(self) -> None:
        """Let the writer come to rest before a fork."""
        writer = self._writer
        if writer is not None:
            writer.pause()
        self._observers.pause()

    def resume(self) -> None:
        """Let the writer go on after a fork."""
        writer = self._writer
        if writer is not None:
            writer.resume()
        self._observers.resume()

    def restart_after_fork(self) -> None:
        """In a child process: record into a session of its own from the next call on."""
        self._lock = threading.Lock()
        self._count = TokenCounter()
        if self._writer is not None:
            _left_to_the_parent.append(self._writer)
            self._writer = None
            self._numbers = itertools.count(1)
        self._in_flight.clear()
        self._observers.restart()

    # What frameworks tell of.

    def begin_run(self, provider: str, agent: str | None) -> Invocation | None:
        """A framework asks a model; None when nothing is recorded."""
        if self._destination is None or self._refused():
            return None
        self._begin_session(provider)
        return self._invocation(agent)

    def end_run(self, run: Invocation, exchange: Exchange) -> None:
        """A call of a framework ended that no tap has seen."""
        if host := urlsplit(exchange.url).hostname:
            exchange = replace(exchange, provider=provider_of(exchange.surface, host))
        exchange = replace(exchange, url=address_of(exchange.url))
        if self._observers:
            with host_never_sees("tell of a call"):
                run.call_id = uuid4().hex
                asked = replace(exchange, response=None, error=None)
                self._observers.tell(asked, seq=run.seq, call_id=run.call_id)
        writer = self._writer
        if writer is not None:
            writer.put(_Submitted(exchange, run, is_rebuilt=True))
        else:
            self._refused()

    def time_ns(self) -> tuple[int, str]:
        """A monotonic clock in nanoseconds, and the time as ISO 8601 in UTC."""
        return self._clock.monotonic_ns(), iso_of(self._clock.wall_ns())

    def _run_recorder(self) -> Tracer:
        return self

    def _invocation(self, agent: str | None) -> Invocation:
        number = self._seen = next(self._numbers)
        step, tags = self._scope.take()
        return Invocation(number, self._scope.agent or agent, step, tags, self._said.take())

    def _tell(self, flight: Flight, invocation: Invocation) -> None:
        with host_never_sees("tell of a call"):
            invocation.call_id = uuid4().hex
            self._observers.tell(
                exchange_of(flight, is_for_disk=False),
                seq=invocation.seq,
                call_id=invocation.call_id,
            )

    def _end(
        self, writer: Writer, flight: Flight, ending: Ending, error: BaseException | None
    ) -> None:
        try:
            # One atomic step, so that of two reports only one is recorded.
            del self._in_flight[flight]
        except KeyError:
            return
        flight.ending = ending
        flight.error = error
        if ending == "failed" or (flight.last_byte_ns is None and ending != "exit"):
            flight.last_byte_ns = self._clock.monotonic_ns()
        writer.put(flight)

    def _is_recording_again(self, flight: Flight) -> bool:
        """Whether recording goes on: with the first call of a process that is recorded."""
        if self._destination is None or self._refused():
            return False
        host = urlsplit(str(flight.url)).hostname or ""
        self._begin_session(self._provider or provider_of(flight.surface, host))
        return True

    def _refused(self) -> bool:
        """Whether recording has been closed; says so once."""
        if self._is_closed and not self._warned_of_close:
            self._warned_of_close = True
            log.warning("ctxdiff: the tracer is closed; calls from here on are not recorded")
        return self._is_closed

    def _begin_session(self, provider: str) -> None:
        """Start the writer unless it runs. Does no I/O: the thread opens the store."""
        with self._lock:
            if self._destination is None or self._writer is not None:
                return
            self._provider = provider
            self._is_closed = self._warned_of_close = False
            self._numbers = itertools.count(1)
            opening: Callable[[], SessionWriter] = partial(
                create_session,
                self._destination,
                project=self._project,
                provider=provider,
                started_at=iso_of(self._clock.wall_ns()),
                busy_seconds=BUSY_S,
                attempts=1,
            )
            if self._redact is not None:
                opening = partial(redacting, opening, self._redact)
            self._writer = Writer(
                opening,
                self._call_of,
                str(self._destination),
                under_way=UnderWay(self._in_flight),
                prepare=partial(self._count.count, "ready", provider, ""),
            )
            self._writer.start()
            exits.remember(self)

    # What follows runs on the writer's thread.

    def _call_of(self, job: Flight | Unfinished | _Submitted) -> Call:
        invocation = job.invocation
        assert invocation is not None
        if not invocation.call_id:
            invocation.call_id = uuid4().hex
        if isinstance(job, _Submitted):
            exchange, said = job.exchange, invocation.said
        else:
            flight = job.as_it_is if isinstance(job, Unfinished) else job
            exchange, said = exchange_of(flight), said_of(flight)
        call = decode(exchange, seq=invocation.seq, call_id=invocation.call_id, count=self._count)
        if not isinstance(job, Unfinished):
            # A retry that follows lists these as its earlier attempts.
            invocation.attempts = call.attempts
        if isinstance(job, _Submitted) and job.is_rebuilt:
            call = replace(call, request_pieces=None, request_digest=None)
        if not said:
            return call
        from ctxdiff_capture.hooks.stages import with_said  # noqa: PLC0415 - few say anything

        return with_said(call, exchange, said, self._count)
