"""The thread that decodes and stores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, Protocol

from ctxdiff_capture.guard import host_never_sees, log
from ctxdiff_capture.model import Call
from ctxdiff_capture.recorder.inbox import MAX_BYTES, Inbox, Job
from ctxdiff_capture.recorder.storing import Pair, Storing
from ctxdiff_capture.store.base import SessionWriter

PATIENCE_S = 30.0
STALLED_S = 6.0
"""How long closing waits at most; and how long while nothing at all gets done."""
IDLE_S = 1.0
"""After that long without a call the log is moved into the file."""
GIVING_UP_S = 1.0
"""How long closing waits for what it gave up to be counted in the file."""
FORK_PATIENCE_S = 6.0
"""How long a fork waits at most for the thread to let go of locks; as a rule it holds none."""


class UnderWay(Protocol):
    """Tells what has not ended yet."""

    def __call__(self) -> tuple[Sequence[Job], float | None]:
        """Jobs that should be stored as they are now, each given out once.

        And in how many seconds there will be more; None when that is not known.
        """


def _nothing_under_way() -> tuple[Sequence[Job], float | None]:
    return (), None


class Writer:
    """One session's way to the disk. The host's threads call everything above `_run`.

    Args:
        open_session: opens the store, on the thread; again when that failed for now.
        call_of: decodes a job, on the thread.
        name: what warnings call the trace.
        under_way: what should be stored before it has ended, asked on the thread.
        prepare: called on the thread when the first call leaves.
    """

    def __init__(
        self,
        open_session: Callable[[], SessionWriter],
        call_of: Callable[[Any], Call],
        name: str,
        *,
        under_way: UnderWay = _nothing_under_way,
        prepare: Callable[[], object] = lambda: None,
        max_bytes: int = MAX_BYTES,
        patience_s: float = PATIENCE_S,
        stalled_s: float = STALLED_S,
    ) -> None:
        self._call_of = call_of
        self._name = name
        self._under_way = under_way
        self._prepare = prepare
        self._patience_s = patience_s
        self._stalled_s = stalled_s
        self._inbox = Inbox(max_bytes)
        self._storing = Storing(open_session, name)
        self._decoded_count = 0
        self._is_decoding = False
        self._in_hand = 0
        self._is_expected = False
        self._is_given_up = False
        self._at_work = threading.Lock()
        self._forking: set[int] = set()
        self._held_for: int | None = None
        self._thread = threading.Thread(target=self._run, name="ctxdiff-writer", daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread. It opens the store even if no call ever comes."""
        self._thread.start()

    def expect(self) -> None:
        """A call leaves: what it will need can be made ready meanwhile. Never blocks."""
        self._is_expected = True
        self._inbox.rouse()

    def put(self, job: Job) -> None:
        """Queue a job, or count it as lost when too much is waiting. Never blocks."""
        if not self._inbox.put(job):
            self._storing.losses.add("calls came faster than they could be stored")

    def flush(self) -> bool:
        """Wait until what was queued before is stored. False when it was given up.

        Bounded: at most `patience_s`, and `stalled_s` without any progress.
        """
        done = threading.Event()
        self._inbox.when_done(done)
        return self._wait(done.wait)

    def close(self) -> None:
        """Store what is queued, close the session and stop. Bounded like `flush`."""
        if self._storing.closing.is_set():
            return
        self._storing.closing.set()
        self._inbox.end()
        if not self._wait(self._joined):
            self._is_given_up = True
            self._joined(GIVING_UP_S)
        unstored = len(self._inbox) + self._in_hand
        if self.is_alive or unstored:
            log.warning(
                "ctxdiff gave up waiting for %s; about %d calls are not in it", self._name, unstored
            )
        self._storing.losses.tell_sum()

    def pause(self) -> None:
        """Wait until the thread holds no lock and no file, and keep it so. Bounded."""
        me = threading.get_ident()
        if me == self._thread.ident:
            return  # a redaction hook forks: nobody else can wait for it
        self._forking.add(me)
        if self._at_work.acquire(timeout=FORK_PATIENCE_S):
            self._held_for = me
            self._storing.release()

    def resume(self) -> None:
        """Let the thread work again."""
        me = threading.get_ident()
        self._forking.discard(me)
        if self._held_for == me:
            self._held_for = None
            self._at_work.release()

    def _joined(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _wait(self, wait: Callable[[float], bool]) -> bool:
        begun = stirred = monotonic()
        seen = self._steps()
        while not wait(0.05):
            now = monotonic()
            # A very large call takes its time to decode; that is no stall.
            if (steps := self._steps()) != seen or self._is_decoding:
                seen, stirred = steps, now
            if not self._thread.is_alive():
                return wait(0)
            if now - begun > self._patience_s or now - stirred > self._stalled_s:
                return False
        return True

    def _steps(self) -> int:
        return self._decoded_count + self._storing.steps

    # What follows runs on the thread.

    def _run(self) -> None:
        self._storing.open(self._working)
        is_prepared = False
        seconds: float | None = None
        idle_at: float | None = None
        while True:
            batch = self._inbox.take(seconds)
            if self._is_given_up:
                self._storing.losses.add("closing took too long", len(batch.jobs))
                batch.jobs.clear()
            if self._is_expected and not is_prepared:
                is_prepared = True
                with host_never_sees("get ready for a call"), self._working():
                    self._prepare()
            self._in_hand = len(batch.jobs)
            self._storing.store(self._decoded(batch.jobs), self._working)
            self._in_hand = 0
            for event in batch.waiting:
                event.set()
            if batch.is_last:
                break
            seconds = self._store_what_is_under_way()
            if batch.jobs:
                idle_at = monotonic() + IDLE_S
            elif idle_at is not None and monotonic() >= idle_at:
                idle_at = None
                self._storing.settle(self._working)
            if idle_at is not None:
                left = max(idle_at - monotonic(), 0.0)
                seconds = left if seconds is None else min(seconds, left)
        with self._working():
            self._storing.close()

    def _store_what_is_under_way(self) -> float | None:
        """Store calls that take long, so that a sudden end leaves what was asked.

        Returns:
            When there will be more, in seconds.
        """
        seconds: float | None = None
        with host_never_sees("look what is under way"):
            jobs, seconds = self._under_way()
            if jobs:
                self._storing.store_early(self._decoded(jobs, may_fail=True), self._working)
        return seconds

    def _decoded(self, jobs: Sequence[Job], *, may_fail: bool = False) -> list[Pair]:
        pairs: list[Pair] = []
        for job in jobs:
            call: Call | None = None
            with host_never_sees("decode a call"), self._working():
                self._is_decoding = True
                call = self._call_of(job)
            self._is_decoding = False
            if call is not None and job.invocation is not None:
                pairs.append((job.invocation, call))
            elif not may_fail:
                self._storing.losses.add("its bytes could not be decoded")
            self._decoded_count += 1
        return pairs

    @contextmanager
    def _working(self) -> Generator[None, None, None]:
        """Inside, locks may be held that a child process must not inherit."""
        while self._forking:
            sleep(0.001)  # else the one who wants to fork may never get its turn
        with self._at_work:
            yield
