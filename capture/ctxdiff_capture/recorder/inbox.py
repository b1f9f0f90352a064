"""What waits for the writer's thread: bounded by bytes, cheap to put to."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Literal, Protocol, TypeAlias

from ctxdiff_capture.wire.flight import Invocation

MAX_BYTES = 64 * 2**20
"""How much may wait; what comes beyond is refused."""
JOB_BYTES = 4096
"""What a call takes in memory beside its bodies: objects, addresses, headers."""

BATCH_JOBS = 64
BATCH_BYTES = 8 * 2**20
"""How much is handed out at once."""

BUSY_S = 0.25
GATHER_S = 0.01
"""A job that comes so soon after another waits so long for more: threads of Python work in turn,
and the host is about to begin its next call."""


class Job(Protocol):
    """One sending that ended."""

    @property
    def invocation(self) -> Invocation | None:
        """The call that it belongs to; never None here."""

    @property
    def size_bytes(self) -> int:
        """What its bodies hold in memory."""


class _Word(Enum):
    """What is said to the thread beside jobs."""

    ROUSE = "look whether something is to be done"
    END = "nothing more will come"


_Item: TypeAlias = "Job | threading.Event | Literal[_Word.ROUSE, _Word.END]"


@dataclass(slots=True)
class Batch:
    """What was taken at once."""

    jobs: list[Job] = field(default_factory=list)
    waiting: list[threading.Event] = field(default_factory=list)
    """To be set when the jobs, and all before them, are dealt with."""
    is_last: bool = False


class Inbox:
    """A queue from any thread of the host to the writer's one.

    Args:
        max_bytes: how much may wait. A job of any size is taken where less than that waits.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        # SimpleQueue may be put to while garbage is collected inside its own `put`; other locks
        # would deadlock there.
        self._queue: SimpleQueue[_Item] = SimpleQueue()
        self._max_bytes = max_bytes
        self._waiting_bytes = 0
        self._last_job_at = -inf
        self._is_asleep = False
        self._is_roused = False
        self._is_ended = False

    def __len__(self) -> int:
        """About how many jobs wait."""
        return max(self._queue.qsize() - self._is_ended, 0)

    # What the host's threads call.

    def put(self, job: Job) -> bool:
        """Queue a job; False when too much is waiting. Never blocks."""
        if self._waiting_bytes > self._max_bytes:
            return False
        # Unlocked sums may drift under threads; `take` sets them right whenever it has caught up.
        self._waiting_bytes += job.size_bytes + JOB_BYTES
        self._queue.put(job)
        return True

    def rouse(self) -> None:
        """Wake the thread if it sleeps. Never blocks."""
        self._is_roused = True
        if self._is_asleep:
            self._is_asleep = False
            self._queue.put(_Word.ROUSE)

    def when_done(self, event: threading.Event) -> None:
        """Have `event` set when everything queued before is dealt with."""
        self._queue.put(event)

    def end(self) -> None:
        """Say that nothing more will come."""
        self._is_ended = True
        self._queue.put(_Word.END)

    # What the writer's thread calls.

    def take(self, seconds: float | None) -> Batch:
        """What waits, up to a batch; empty after `seconds` without anything, or when roused."""
        batch = Batch()
        size = 0
        item = self._next(seconds)
        while item is not None:
            if item is _Word.END:
                batch.is_last = True
            elif isinstance(item, threading.Event):
                batch.waiting.append(item)
            elif item is not _Word.ROUSE:
                batch.jobs.append(item)
                taken = item.size_bytes + JOB_BYTES
                size += taken
                self._waiting_bytes -= taken
            if not batch.is_last and (len(batch.jobs) >= BATCH_JOBS or size >= BATCH_BYTES):
                break
            item = self._at_hand()
        else:
            self._waiting_bytes = 0
        # What it was roused for is looked at now, as it is after every batch.
        self._is_roused = False
        return batch

    def _next(self, seconds: float | None) -> _Item | None:
        """The next item; a job of many is left for a moment, so that others come along."""
        # In this order here and the other way round in `rouse`: one of the two sees the other.
        self._is_asleep = seconds is None
        if self._is_roused:
            self._is_roused = self._is_asleep = False
            return self._at_hand()
        try:
            item = self._queue.get(timeout=seconds)
        except Empty:
            return None
        if not isinstance(item, (_Word, threading.Event)):
            self._gather()
        return item

    def _gather(self) -> None:
        """Let more jobs come, in a program that makes call upon call."""
        now = monotonic()
        is_busy = now - self._last_job_at < BUSY_S
        self._last_job_at = now
        if is_busy and self._queue.qsize() < BATCH_JOBS:
            sleep(GATHER_S)

    def _at_hand(self) -> _Item | None:
        with suppress(Empty):
            return self._queue.get_nowait()
        return None
