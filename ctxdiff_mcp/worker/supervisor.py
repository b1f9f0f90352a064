"""Answers by a worker that is watched, stopped at its limits and started anew."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from ctxdiff_mcp.tools.problems import internal, reading_problem
from ctxdiff_mcp.worker.answerer import NOBODY_WAITS, Answer
from ctxdiff_mcp.worker.asking import Asked
from ctxdiff_mcp.worker.limits import can_be_limited
from ctxdiff_mcp.worker.process import ProcessWorker, ThreadWorker, Worker
from ctxdiff_mcp.worker.quarantine import Quarantine
from ctxdiff_mcp.worker.setup import Setup

log = logging.getLogger("ctxdiff")

SECONDS = 4.0
"""Of a question, from when a worker takes it up, restarts included."""
SECONDS_TO_START = 30.0
LARGEST_UNLIMITED = 64 * 2**20
"""Bytes of a trace that is read where the memory of a process cannot be limited."""
LARGEST_IN_THREAD = 16 * 2**20
"""Bytes of a trace that is read where there is no process that could be stopped."""
STARTS = 2
"""Workers that may end before they are ready; then there are threads."""


@dataclass(frozen=True, slots=True)
class _Question:
    tool: str
    arguments: Mapping[str, Any]
    is_cancelled: Callable[[], bool]
    answer: Future[Answer] = field(default_factory=Future)


class Supervisor:
    """Meets `answerer.Answerer`. Questions are answered in the order in which they came.

    One at a time: answers are computed by Python, so that two at once would be no faster, and a
    worker that is stopped takes no other question along.

    Args:
        setup: for the first worker.
        start: makes a worker; raises `OSError` where it cannot.
    """

    def __init__(self, setup: Setup, start: Callable[[Setup], Worker] = ProcessWorker) -> None:
        self._setup = setup if can_be_limited() else replace(setup, largest=LARGEST_UNLIMITED)
        self._start = start
        self._worker: Worker | None = None
        self._is_ready = self._was_ever_ready = False
        self._failed_starts = 0
        self._quarantine = Quarantine()
        self._questions: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._last_id = 0
        self._is_closed = False
        # A signal may interrupt `close` with another `close`.
        self._lock = threading.RLock()
        threading.Thread(target=self._work, name="ctxdiff-supervisor", daemon=True).start()

    def start(self) -> None:
        """See `Answerer`."""
        self._questions.put(None)

    def answer(
        self, tool: str, arguments: Mapping[str, Any], is_cancelled: Callable[[], bool] = bool
    ) -> Answer:
        """See `Answerer`."""
        question = _Question(tool, arguments, is_cancelled)
        self._questions.put(question)
        return question.answer.result()

    def close(self) -> None:
        """See `Answerer`. A signal handler may call it."""
        with self._lock:
            self._is_closed = True
            worker = self._worker
        self._questions.put(None)
        if worker is not None:
            worker.stop()

    def _work(self) -> None:
        while True:
            question = self._questions.get()
            answer = Answer(internal("000000"), is_error=True)
            try:
                if question is not None:
                    answer = self._answer(question)
                elif not self._is_closed:
                    self._ready_worker(time.monotonic() + SECONDS_TO_START)
            except Exception:  # questions that wait must be answered, whatever happened
                if not self._is_closed:
                    log.exception("ctxdiff: the worker could not be used")
            if question is not None:
                question.answer.set_result(NOBODY_WAITS if self._is_closed else answer)
            if self._is_closed and self._questions.empty():
                return

    def _answer(self, question: _Question) -> Answer:
        if question.is_cancelled() or self._is_closed:
            return NOBODY_WAITS
        worker = self._ready_worker(time.monotonic() + SECONDS_TO_START)
        end = time.monotonic() + SECONDS
        is_again = False
        while worker is not None:
            self._last_id += 1
            asked = Asked(worker, self._last_id, question.is_cancelled)
            found = asked.answer(question.tool, question.arguments, end)
            if found is not None:
                self._setup.memory.learn(found["news"])
                return Answer(found["text"], found["is_error"])
            asked.stop()
            self._worker = None
            log.warning("ctxdiff: a worker was lost (%s)", asked.death)
            is_out_of_the_way = asked.blame(self._quarantine)
            # The next question should not wait for the start.
            self._started_worker()
            if asked.is_too_slow:
                break
            if not (asked.is_listing and is_out_of_the_way):
                if is_again:
                    return Answer(reading_problem("reader_stopped"), is_error=True)
                is_again = True
            worker = self._ready_worker(end)
        return Answer(reading_problem("too_slow"), is_error=True)

    def _ready_worker(self, end: float) -> Worker | None:
        """A worker that takes questions; None when it is not ready by `end`, on a monotonic clock.

        It goes on starting then.
        """
        while True:
            worker = self._started_worker()
            if self._is_ready:
                return worker
            try:
                message = worker.inbox.get(timeout=max(end - time.monotonic(), 0))
            except queue.Empty:
                return None
            if message is None:
                self._give_up_start(worker)
            elif message["kind"] == "ready":
                self._is_ready, self._failed_starts = True, 0
                self._was_ever_ready = True

    def _started_worker(self) -> Worker:
        """The worker, which may still be starting.

        Raises:
            RuntimeError: the server ends.
        """
        with self._lock:
            if self._is_closed:
                raise RuntimeError("closed")
            if self._worker is None:
                self._is_ready = False
                setup = replace(self._setup, refused=self._quarantine.refused())
                try:
                    self._worker = self._start(setup)
                except OSError:
                    self._use_threads()
                    self._worker = self._start(replace(self._setup, refused=setup.refused))
            return self._worker

    def _give_up_start(self, worker: Worker) -> None:
        death = worker.stop()
        self._worker = None
        if death == "killed" and self._was_ever_ready:
            return  # processes can be had here, and somebody ends them
        self._failed_starts += 1
        if self._failed_starts >= STARTS:
            self._use_threads()

    def _use_threads(self) -> None:
        log.warning(
            "ctxdiff: no process can be had to read traces; those above %d MiB are refused",
            LARGEST_IN_THREAD // 2**20,
        )
        self._start = ThreadWorker
        self._setup = replace(self._setup, largest=LARGEST_IN_THREAD)
