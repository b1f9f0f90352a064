"""How long a question to a file may take.

Processor time counts: on a busy machine a good file waits, and is not to blame for it. Asking that
clock may cost 0.1 ms, so short questions never do, and long ones only when the time is over on the
wall too.
"""

from __future__ import annotations

import time


class Deadline:
    """A number of seconds of the calling thread's processor time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.begin()

    def begin(self) -> None:
        """Start anew."""
        self._wall = time.monotonic() + self.seconds
        self._processor: float | None = None

    def is_over(self) -> bool:
        """Whether they are used up; they count from the first look on, which comes soon."""
        if self._processor is None:
            self._processor = time.thread_time() + self.seconds
        return time.monotonic() >= self._wall and time.thread_time() >= self._processor
