"""What happens to open recordings when the program ends or forks."""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401 - see below
import os
import sys
from contextlib import suppress
from typing import Any, Protocol

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
_told: list[int] = []
"""The process whose `multiprocessing` has been told, once there is one."""


def remember(recording: Recording) -> None:
    """Close `recording` when the program ends normally, by an exception or by `sys.exit`."""
    _open[recording] = None
    _tell_multiprocessing()


def forget(recording: Recording) -> None:
    """It was closed."""
    _open.pop(recording, None)


def _tell_multiprocessing() -> None:
    """Children of `multiprocessing` end without `atexit`, but run their own finalizers."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is None or util is None or _told == [os.getpid()]:
        return
    _told[:] = [os.getpid()]
    # A child that imports its program before it is a child forgets the finalizers of that time.
    util.register_after_fork(_close_all, lambda _: _close_at_end_of_child(util))
    if process.parent_process() is not None:
        _close_at_end_of_child(util)


def _close_at_end_of_child(util: Any) -> None:
    util.Finalize(None, _close_all, exitpriority=0)


def _close_all() -> None:
    for recording in list(_open):
        recording.close()
    if _was_interrupted():
        # Python forgets that an interrupt ends it, and with what status, when a text of code is
        # run meanwhile, as some libraries do when they are imported. This reminds it.
        with suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")  # noqa: S102 - a text of ours


def _was_interrupted() -> bool:
    """Whether the main script ended by an interrupt."""
    error = getattr(sys, "last_value", None)
    frame = error.__traceback__ and error.__traceback__.tb_frame if error is not None else None
    return (
        isinstance(error, KeyboardInterrupt)
        and frame is not None
        and frame.f_globals.get("__name__") in ("__main__", "runpy")
        and frame.f_back is None
        and not hasattr(sys, "ps1")
    )


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
