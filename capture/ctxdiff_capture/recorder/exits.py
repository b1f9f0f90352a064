"""What happens to open recordings when the program ends or forks."""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401 - see below
import os
import sys
from typing import Protocol

# The module above is needed by tiktoken, which the writer's thread imports when it must count. It
# refuses to be imported once the main thread has ended, and a short program ends before that.


class Recording(Protocol):
    """Something that must be told."""

    def close(self) -> None:
        """Store what is still on its way. Bounded."""

    def pause(self) -> None:
        """A fork comes: hold no lock until `resume`. Bounded."""

    def resume(self) -> None:
        """The fork is over, this is the parent."""

    def restart_after_fork(self) -> None:
        """Begin anew in a child process, leaving the parent's file handles alone."""


# Held until they are closed: a program that drops its tracer still wants what is queued.
_open: dict[Recording, None] = {}
_children_told: list[int] = []


def remember(recording: Recording) -> None:
    """Close `recording` when the program ends normally, by an exception or by `sys.exit`."""
    _open[recording] = None
    _tell_multiprocessing()


def forget(recording: Recording) -> None:
    """It was closed."""
    _open.pop(recording, None)


def _tell_multiprocessing() -> None:
    """Children of `multiprocessing` end without `atexit`, but run their own finalizers."""
    pid = os.getpid()
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process and util and process.parent_process() is not None and pid not in _children_told:
        _children_told[:] = [pid]
        util.Finalize(None, _close_all, exitpriority=0)


def _close_all() -> None:
    for recording in list(_open):
        recording.close()


def _pause_all() -> None:
    for recording in list(_open):
        recording.pause()


def _resume_all() -> None:
    for recording in list(_open):
        recording.resume()


def _restart_all() -> None:
    for recording in list(_open):
        recording.restart_after_fork()


# Registered when the library is imported: handlers run last in, first out, so the handlers that
# the program registers later may still make calls that are recorded.
atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    # A lock that another thread holds during a fork stays locked for ever in the child.
    os.register_at_fork(before=_pause_all, after_in_parent=_resume_all, after_in_child=_restart_all)
