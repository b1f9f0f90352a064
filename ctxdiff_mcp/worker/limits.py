"""What the kernel lets a process do that reads files of strangers. POSIX; elsewhere nothing."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MIB = 2**20
MEMORY = 384 * MIB
"""Bytes that the worker may write to: with the server's own it stays below 512 MB."""
ADDRESSES = 2_048 * MIB
"""Bytes of address space, of which most is only reserved."""
ROOM_FOR_FILES = 16 * MIB
"""A file that the worker writes may be that much larger than the trace which is being read."""
OPEN_FILES = 256
SECONDS_OF_QUESTION = 6.0
SECONDS_OF_LISTED_FILE = 1.5
"""CPU time: past it the kernel ends the process, whatever it is doing."""

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG. Source: Linux, include/uapi/linux/prctl.h."""


def can_be_limited() -> bool:
    """Whether this system bounds the memory and the files of a process."""
    return sys.platform == "linux"


def limit_process() -> None:
    """Bound memory, files and dumps of this process, for good; and end it with its parent.

    What cannot be had here is left out: see `can_be_limited`.
    """
    if resource is not None:
        _lower(resource.RLIMIT_CORE, 0)
        _lower(resource.RLIMIT_DATA, MEMORY)
        _lower(resource.RLIMIT_NOFILE, OPEN_FILES)
        with suppress(AttributeError):  # OpenBSD has none
            _lower(resource.RLIMIT_AS, ADDRESSES)
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415  needed here alone

        parent = os.getppid()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    if hasattr(signal, "SIGPROF"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)


def limit_files(trace_bytes: int) -> None:
    """Bound the size of files that are written while a trace of that size is read."""
    if resource is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        wanted = trace_bytes + ROOM_FOR_FILES
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def limit_question() -> None:
    """Let the process work for one more question."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, SECONDS_OF_QUESTION)


@contextmanager
def limited_listing() -> Generator[None, None, None]:
    """Let the process work for one file of a list, out of what its question has."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    left, _ = signal.setitimer(signal.ITIMER_PROF, SECONDS_OF_LISTED_FILE)
    try:
        yield
    finally:
        unused, _ = signal.getitimer(signal.ITIMER_PROF)
        # Zero would switch the timer off.
        left = max(left - (SECONDS_OF_LISTED_FILE - unused), 0.01)
        signal.setitimer(signal.ITIMER_PROF, left)


def _lower(which: int, most: int) -> None:
    """Lower a limit, never raise one that was set from outside."""
    _, hard = resource.getrlimit(which)
    bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(which, (bound, bound))
