"""What waits for the writer's thread: bounded by bytes, cheap to put to."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from queue import Empty, SimpleQueue
from time import sleep
from typing import Literal, Protocol, TypeAlias

from ctxdiff_capture.wire.flight import Invocation

MAX_BYTES = 64 * 2**20
"""How much may wait; what comes beyond is refused."""
JOB_BYTES = 4096
"""What a call takes in memory beside its bodies: objects, addresses, headers."""

BATCH_JOBS = 64
BATCH_BYTES = 8 * 2**20
"""How much is handed out at once."""

FIRST_LOOK_S = 0.002
LAST_LOOK_S = 0.008
"""After a job the queue is looked at so soon and, in a burst, ever later up to so much apart."""


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
        self._longest_pause = FIRST_LOOK_S
        self._has_worked = False
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
        self._has_worked = bool(batch.jobs)
        # What it was roused for is looked at now, as it is after every batch.
        self._is_roused = False
        return batch

    def _next(self, seconds: float | None) -> _Item | None:
        """The next item. In a burst it is looked for now and then, which spares the host.

        Waking a thread for each item costs the host several times more than putting it. Where the
        first look after an item finds nothing there is no burst, and looks cost more than waking.
        """
        pause = FIRST_LOOK_S
        while self._has_worked:
            if (item := self._at_hand()) is not None:
                self._longest_pause = LAST_LOOK_S
                return item
            if pause > self._longest_pause:
                break
            sleep(pause)
            pause *= 2
        self._longest_pause = FIRST_LOOK_S
        # In this order here and the other way round in `rouse`: one of the two sees the other.
        self._is_asleep = seconds is None
        if self._is_roused:
            self._is_roused = self._is_asleep = False
            return self._at_hand()
        with suppress(Empty):
            return self._queue.get(timeout=seconds)
        return None

    def _at_hand(self) -> _Item | None:
        with suppress(Empty):
            return self._queue.get_nowait()
        return None
