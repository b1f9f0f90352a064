"""The worker's side: one question after the other, each file told of before it is read.

to the worker    setup(packed)  ask(id, tool, arguments)  cancel(id)
to the server    ready()  reading(file or null, listing)  answer(id, text, is_error, news)
"""

from __future__ import annotations

import gc
import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib import import_module

from ctxdiff_mcp.answers.folder import TraceFile
from ctxdiff_mcp.answers.source import Source, limit_sqlite
from ctxdiff_mcp.answers.watch import Watch
from ctxdiff_mcp.worker import limits
from ctxdiff_mcp.worker.answerer import InProcess
from ctxdiff_mcp.worker.frames import Channel, Message
from ctxdiff_mcp.worker.setup import FileId, Setup

SECONDS_TO_LIST = 2.0
"""For files that are new to a list; less than a question has, or the list would never be made."""

ANSWERS = (
    "ctxdiff_capture.store.open",
    "ctxdiff_capture.store.sqlite_reader",
    "ctxdiff_mcp.answers.runs",
    "ctxdiff_mcp.answers.explain",
    "ctxdiff_mcp.answers.tokens",
    "ctxdiff_mcp.answers.cache",
    "ctxdiff_mcp.answers.block",
    "ctxdiff_mcp.answers.search",
    "ctxdiff_mcp.answers.compare",
    "ctxdiff_mcp.answers.provenance",
    "ctxdiff_capture.secrets.shapes:shapes",
    "ctxdiff_capture.secrets.shapes:names",
    "ctxdiff_analyzers.cache.rules:load",
)
"""What questions import, and functions that read their data; done while no question waits."""


def serve_questions(
    channel: Channel, *, is_own_process: bool, at_end: Callable[[], None] = lambda: None
) -> None:
    """Answer what comes through the channel until the other end is gone.

    Args:
        channel: to the server, which sends the setup first.
        is_own_process: whether the limits may be set, and the rest of the program is unaffected.
        at_end: called by another thread when the server is gone, whatever is being done.
    """
    first = channel.receive()
    if first is None:
        return
    setup = Setup.unpacked(first["packed"])
    if is_own_process:
        _log_alone(withheld=setup.policy.hides_text)
        limits.limit_process()
        limit_sqlite()
    watch = Watched(channel, setup, is_own_process=is_own_process)
    answerer = InProcess(Source(setup.root, watch), setup.policy, setup.prices)
    setup.memory.recall(answerer.source, setup.policy)
    listener = _Listener(channel, at_end)
    channel.send({"kind": "ready"})
    while (question := listener.next_question()) is not None:
        number = question["id"]
        if is_own_process:
            limits.limit_question()
        answer = answerer.answer(
            question["tool"],
            question["arguments"],
            lambda number=number: listener.is_cancelled(number),  # type: ignore[misc]
        )
        channel.send(
            {
                "kind": "answer",
                "id": number,
                "text": answer.text,
                "is_error": answer.is_error,
                "news": setup.memory.news(answerer.source, setup.policy),
            }
        )
    answerer.close()


class Watched(Watch):
    """Tells the server of every file before it is read, and refuses what the server says."""

    seconds_to_list = SECONDS_TO_LIST

    def __init__(self, channel: Channel, setup: Setup, *, is_own_process: bool) -> None:
        self._channel = channel
        self._refused, self._largest = setup.refused, setup.largest
        self._is_own_process = is_own_process
        self._is_reading = False

    def refusal(self, file: TraceFile) -> str | None:
        """See `Watch`."""
        if self._largest is not None and _size(file) > self._largest:
            return "too_large"
        # Most folders hold no refused file, and a list asks for each.
        return self._refused.get(FileId.of(file)) if self._refused else None

    def listing(self, file: TraceFile) -> AbstractContextManager[None]:
        """See `Watch`."""
        self._tell(file, listing=True)
        return limits.limited_listing() if self._is_own_process else nullcontext()

    def listed(self) -> None:
        """See `Watch`."""
        if self._is_reading:
            self._is_reading = False
            self._channel.send({"kind": "reading", "file": None})

    def asked(self, file: TraceFile) -> None:
        """See `Watch`."""
        self._tell(file, listing=False)

    def _tell(self, file: TraceFile, *, listing: bool) -> None:
        self._is_reading = listing
        own_id = FileId.of(file).spelled()
        told = {"file": own_id, "listing": listing, "cpu": time.process_time()}
        self._channel.send({"kind": "reading", **told})
        if self._is_own_process:
            limits.limit_files(_size(file))


class _Listener:
    """Hears the server while a question is being answered."""

    def __init__(self, channel: Channel, at_end: Callable[[], None]) -> None:
        self._questions: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._channel = channel
        self._at_end = at_end
        self._cancelled = -1
        self._is_over = False
        self._to_prepare = list(ANSWERS)
        threading.Thread(target=self._listen, name="ctxdiff-listener", daemon=True).start()

    def next_question(self) -> Message | None:
        """The question that has waited longest, or the next; None when the server is gone."""
        while self._to_prepare and self._questions.empty():
            with suppress(Exception):  # who needs it will say so, and no other question suffers
                _prepare(self._to_prepare.pop(0))
            if not self._to_prepare:
                # A question makes many objects; looking through the rest each time costs a sixth.
                gc.freeze()
        return self._questions.get()

    def is_cancelled(self, number: int) -> bool:
        """Whether nobody waits for the answer to question `number`."""
        return self._is_over or number == self._cancelled

    def _listen(self) -> None:
        while (message := self._channel.receive()) is not None:
            if message["kind"] == "cancel":
                self._cancelled = message["id"]
            else:
                self._questions.put(message)
        self._is_over = True
        self._at_end()
        self._questions.put(None)


def _prepare(name: str) -> None:
    module, _, function = name.partition(":")
    found = import_module(module)
    if function:
        getattr(found, function)()


def _log_alone(*, withheld: bool) -> None:
    """Let nothing on stderr but harmless records, and in redact mode nothing at all."""
    from ctxdiff_mcp.text.log import log_to_stderr  # noqa: PLC0415  the server has its own

    log_to_stderr(withheld=withheld)
    if withheld:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 2)
        os.dup2(nothing, 1)
        os.close(nothing)


def _size(file: TraceFile) -> int:
    """Bytes of a trace with its log."""
    log = file.identity.log
    return file.identity.file.size + (log.size if log else 0)
