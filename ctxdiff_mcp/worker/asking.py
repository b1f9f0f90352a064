"""One question to one worker: the wait for its answer, and what is to blame when there is none."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ctxdiff_mcp.worker.frames import Message
from ctxdiff_mcp.worker.limits import SECONDS_OF_LISTED_FILE
from ctxdiff_mcp.worker.process import Death, Worker
from ctxdiff_mcp.worker.quarantine import ENOUGH, Quarantine
from ctxdiff_mcp.worker.setup import FileId

SECONDS_BETWEEN_LOOKS = 0.05
"""At whether the caller has left."""
SECONDS_OF_BLAME = 1.0
"""A worker that waited for a file of a list for less was late for another reason."""
SECONDS_OF_WORK = 1.0
"""CPU time on the run of a file; after less the machine was late, not the worker."""

Loss: TypeAlias = Death | Literal["late"]


@dataclass(frozen=True, slots=True)
class _Reading:
    """The file that a worker reads, as far as it told."""

    file: FileId
    is_of_a_list: bool
    since: float
    cpu: float
    """Seconds that the worker had worked before."""


class Asked:
    """A question to a worker, and after its loss why that was."""

    def __init__(self, worker: Worker, number: int, is_cancelled: Callable[[], bool]) -> None:
        self.death: Loss = "stopped"
        self._worker = worker
        self._number = number
        self._is_cancelled = is_cancelled
        self._reading: _Reading | None = None

    def answer(self, tool: str, arguments: Mapping[str, Any], end: float) -> Message | None:
        """The answer, or None: it was not there by `end`, or the worker ended."""
        own_id = {"id": self._number}
        self._worker.send({"kind": "ask", **own_id, "tool": tool, "arguments": arguments})
        is_told = False
        while (left := end - time.monotonic()) > 0:
            try:
                message = self._worker.inbox.get(timeout=min(left, SECONDS_BETWEEN_LOOKS))
            except queue.Empty:
                if not is_told and self._is_cancelled():
                    self._worker.send({"kind": "cancel", **own_id})
                    is_told = True
                continue
            if message is None:
                return None
            if message["kind"] == "reading":
                self._note(message)
            elif message["kind"] == "answer":
                return message
        self.death = "late"
        return None

    def stop(self) -> None:
        """End the worker, and learn how it ended."""
        ended = self._worker.stop()
        if self.death != "late":
            self.death = ended

    @property
    def is_too_slow(self) -> bool:
        """Whether the question itself took too long, not a file that it met on its way."""
        return self.death == "late" or (self.death == "took_too_long" and not self.is_listing)

    def blame(self, quarantine: Quarantine) -> bool:
        """Put the loss down to the file that was read; whether that is out of the way now."""
        reading = self._reading
        if reading is None:
            return False
        points: float
        if self.death == "late":
            points = self._points_of_late(reading)
        elif self.death == "killed":
            # It tells nothing of the file; but what kills whoever lists it must not go on.
            points = 1 if self.is_listing else 0
        else:
            # Listing asks little of a file, and every question lists: once is enough.
            points = ENOUGH if self.is_listing else 1
        is_slow = self.death in ("late", "took_too_long")
        return quarantine.blame(
            reading.file, "took_too_long" if is_slow else "stopped_the_reader", points
        )

    def _points_of_late(self, reading: _Reading) -> float:
        """On a busy machine, or halted, a worker is late and no file is to blame."""
        worked = self._worker.cpu_seconds - reading.cpu
        if not reading.is_of_a_list:
            return 1 if worked > SECONDS_OF_WORK else 0
        if self._worker.was_waiting:
            return 1 if time.monotonic() - reading.since > SECONDS_OF_BLAME else 0
        # A file that never ends would hide the others for as long as the machine is busy.
        return ENOUGH * worked / SECONDS_OF_LISTED_FILE

    @property
    def is_listing(self) -> bool:
        """Whether a list was being made, of which the file at fault is one."""
        return self._reading is not None and self._reading.is_of_a_list

    def _note(self, told: Message) -> None:
        self._reading = None
        if told["file"] is not None:
            file = FileId.told(told["file"])
            self._reading = _Reading(file, told["listing"], time.monotonic(), told["cpu"])
