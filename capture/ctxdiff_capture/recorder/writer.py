"""The thread that decodes and stores, and the bounded queue before it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, Protocol

from ctxdiff_capture.errors import StoreError
from ctxdiff_capture.guard import host_never_sees, log
from ctxdiff_capture.model import Call
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.wire.flight import Invocation

MAX_JOBS = 10_000
MAX_BYTES = 256 * 2**20
"""How much may wait for the thread; what comes beyond is dropped and counted."""

BATCH_JOBS = 64
BATCH_BYTES = 8 * 2**20
"""How much is stored in one transaction."""

KEEN_S = 2.0
LOOK_EVERY_S = 0.005
"""After a job the queue is looked at that often, for so long; then the thread sleeps on it."""

PATIENCE_S = 30.0
STALLED_S = 6.0
"""How long closing waits at most; and how long while nothing at all gets done."""


class Job(Protocol):
    """One sending that ended."""

    @property
    def invocation(self) -> Invocation | None:
        """The call that it belongs to; never None here."""

    @property
    def size_bytes(self) -> int:
        """What it holds in memory."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """Somebody who waits until everything queued before is stored."""

    done: threading.Event


class Writer:
    """One session's way to the disk. Everything but `_run` is called by the host's threads.

    Args:
        open_session: opens the store; called once, first thing on the thread.
        call_of: decodes a job, on the thread.
        name: what warnings call the trace.
    """

    def __init__(
        self,
        open_session: Callable[[], SessionWriter],
        call_of: Callable[[Any], Call],
        name: str,
        *,
        max_jobs: int = MAX_JOBS,
        max_bytes: int = MAX_BYTES,
        patience_s: float = PATIENCE_S,
        stalled_s: float = STALLED_S,
    ) -> None:
        self._open_session = open_session
        self._call_of = call_of
        self._name = name
        self._max_jobs = max_jobs
        self._max_bytes = max_bytes
        self._patience_s = patience_s
        self._stalled_s = stalled_s
        # SimpleQueue may be put to while garbage is collected inside its own `put`; other locks
        # would deadlock there.
        self._queue: SimpleQueue[Job | _Waiter | None] = SimpleQueue()
        self._waiting_bytes = 0
        self._steps = 0
        self._lost: dict[str, int] = {}
        self._lost_in_all = 0
        self._closing = False
        self._at_work = threading.Lock()
        self._is_paused = False
        self._thread = threading.Thread(target=self._run, name="ctxdiff-writer", daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread. It opens the store even if no call ever comes."""
        self._thread.start()

    def put(self, job: Job) -> None:
        """Queue a job, or count it as lost when too much is waiting. Never blocks."""
        if self._queue.qsize() >= self._max_jobs or self._waiting_bytes > self._max_bytes:
            self.lose("calls came faster than they could be stored")
            return
        # Unlocked sums may drift under threads; `_take` sets them right whenever it has caught up.
        self._waiting_bytes += job.size_bytes
        self._queue.put(job)

    def lose(self, reason: str, count: int = 1) -> None:
        """Count calls that will not be in the trace; the first one is reported at once."""
        is_first = not self._lost_in_all
        self._lost_in_all += count
        self._lost[reason] = self._lost.get(reason, 0) + count
        if is_first:
            log.warning(
                "ctxdiff could not record a call in %s (%s); your program is unaffected."
                " Further losses are counted and reported at the end",
                self._name,
                reason,
            )

    def flush(self) -> bool:
        """Wait until what was queued before is stored. False when it was given up.

        Bounded: at most `patience_s`, and `stalled_s` without any progress.
        """
        done = threading.Event()
        self._queue.put(_Waiter(done))
        return self._wait(done.wait)

    def close(self) -> None:
        """Store what is queued, close the session and stop. Bounded like `flush`."""
        if self._closing:
            return
        self._closing = True
        self._queue.put(None)
        stopped = self._wait(self._joined)
        unstored = self._queue.qsize()
        if not stopped or unstored:
            log.warning(
                "ctxdiff gave up waiting for %s; about %d calls are not in it", self._name, unstored
            )
        if self._lost_in_all:
            log.warning("ctxdiff: %d calls are not in %s", self._lost_in_all, self._name)

    def pause(self) -> None:
        """Wait until the thread holds no lock of anybody's, and keep it so. Bounded."""
        self._is_paused = self._at_work.acquire(timeout=self._stalled_s)

    def resume(self) -> None:
        """Let the thread work again."""
        if self._is_paused:
            self._is_paused = False
            self._at_work.release()

    def _joined(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _wait(self, wait: Callable[[float], bool]) -> bool:
        begun = stirred = monotonic()
        seen = self._steps
        while not wait(0.05):
            now = monotonic()
            if self._steps != seen:
                seen, stirred = self._steps, now
            if not self._thread.is_alive():
                return wait(0)
            if now - begun > self._patience_s or now - stirred > self._stalled_s:
                return False
        return True

    # What follows runs on the thread.

    def _run(self) -> None:
        with self._at_work:
            session = self._opened()
        is_last = False
        while not is_last:
            jobs, waiting, is_last = self._take()
            with self._at_work:
                self._handle(session, jobs)
            for event in waiting:
                event.set()
        if session is not None:
            with self._at_work, host_never_sees("close the trace"):
                session.close()

    def _handle(self, session: SessionWriter | None, jobs: list[Job]) -> None:
        if session is None:
            # That nothing is recorded has been said when the trace could not be opened.
            self._steps += len(jobs)
            return
        calls = [
            (job.invocation, call)
            for job in jobs
            if (call := self._decoded(job)) and job.invocation
        ]
        self._store(session, calls)
        self._note_losses(session)

    def _opened(self) -> SessionWriter | None:
        with host_never_sees("open the trace"):
            try:
                return self._open_session()
            except (StoreError, OSError) as problem:
                log.warning("ctxdiff records nothing in %s: %s", self._name, problem)
        return None

    def _take(self) -> tuple[list[Job], list[threading.Event], bool]:
        """Jobs for one transaction, who waits for them, and whether they are the last."""
        jobs: list[Job] = []
        waiting: list[threading.Event] = []
        size = 0
        is_last = False
        item = self._next()
        while True:
            if item is None:
                is_last = True
            elif isinstance(item, _Waiter):
                waiting.append(item.done)
            else:
                jobs.append(item)
                size += item.size_bytes
                self._waiting_bytes -= item.size_bytes
            if not is_last and (len(jobs) >= BATCH_JOBS or size >= BATCH_BYTES):
                return jobs, waiting, False
            try:
                item = self._queue.get_nowait()
            except Empty:
                self._waiting_bytes = 0
                return jobs, waiting, is_last

    def _next(self) -> Job | _Waiter | None:
        """The next item. For a while it is looked for now and then, which spares the host.

        Putting to a queue costs several times more when a thread must be woken for it.
        """
        until = monotonic() + KEEN_S
        while monotonic() < until:
            with suppress(Empty):
                return self._queue.get_nowait()
            sleep(LOOK_EVERY_S)
        return self._queue.get()

    def _decoded(self, job: Job) -> Call | None:
        self._steps += 1
        call: Call | None = None
        with host_never_sees("decode a call"):
            call = self._call_of(job)
        if call is None:
            self.lose("its bytes could not be decoded")
        return call

    def _store(self, session: SessionWriter, calls: list[tuple[Invocation, Call]]) -> None:
        # Of two attempts of one call in one batch the later one says it all.
        latest = {call.id: (invocation, call) for invocation, call in calls}
        fresh = [pair for pair in latest.values() if not pair[0].is_stored]
        again = [pair for pair in latest.values() if pair[0].is_stored]
        if fresh and not self._done(session.write_many, [call for _, call in fresh]):
            # One bad call must not cost its neighbours.
            stored = [pair for pair in fresh if self._done(session.write, pair[1])]
            if len(stored) < len(fresh):
                self.lose("the trace could not be written", len(fresh) - len(stored))
            fresh = stored
        for invocation, _ in fresh:
            invocation.is_stored = True
        for _, call in again:
            if not self._done(session.amend, call):
                self.lose("the trace could not be written")

    def _done(self, write: Callable[..., None], *what: Any) -> bool:
        self._steps += 1
        with host_never_sees("store a call"):
            try:
                write(*what)
            except (StoreError, OSError) as problem:
                log.debug("ctxdiff could not write %s: %s", self._name, problem)
                return False
            return True
        return False

    def _note_losses(self, session: SessionWriter) -> None:
        while self._lost:
            reason, count = self._lost.popitem()
            if not self._done(session.note_loss, reason, count):
                return
