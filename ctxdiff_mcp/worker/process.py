"""The server's side of one worker: a process, or a thread where no process can be had."""

from __future__ import annotations

import math
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from ctxdiff_capture.store.temporary import Room

from ctxdiff_mcp.worker.frames import Message, PipeChannel
from ctxdiff_mcp.worker.setup import Setup

BOOT = (
    "import sys; sys.path[:] = sys.argv[1:]; from ctxdiff_mcp.worker.__main__ import main; main()"
)
"""What the new interpreter runs. It looks for modules where the server does, so that any way of
installing works, and never in a folder that is current by chance."""

KEPT_VARIABLES = frozenset(
    ("DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT")
)
"""Of the environment; a server's may hold keys, which its worker does not need."""

Death: TypeAlias = Literal["took_too_long", "stopped", "killed"]
"""How a worker ended: by its limit of CPU time, by itself, or by a signal from outside."""
_OWN_SIGNALS = frozenset(
    getattr(signal, name, 0)
    for name in (
        *("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV"),
        *("SIGSYS", "SIGTRAP", "SIGXCPU", "SIGXFSZ"),
    )
)
"""What a process brings upon itself."""


class Worker(Protocol):
    """Something that answers one question at a time."""

    inbox: queue.SimpleQueue[Message | None]
    """Its messages; None when it is gone."""
    cpu_seconds: float
    """CPU time of its life, once it was stopped; infinite where that cannot be told."""
    was_waiting: bool
    """Once it was stopped: whether it waited then, for a disk or a lock. False for one that had
    work and no processor, or was halted; True where that cannot be told."""

    def send(self, message: Message) -> None:
        """Hand over a message; nothing happens when it is gone."""

    def stop(self) -> Death:
        """End it, if it has not ended, and tell how it did."""


class ProcessWorker:
    """A worker that can be killed at any moment.

    Must be made by a thread that lives as long as the server: Linux ends a process with the
    thread that started it.

    Raises:
        OSError: no process can be started here.
    """

    def __init__(self, setup: Setup) -> None:
        if not sys.executable:
            raise OSError("this Python cannot start another")
        self._room = _private_room()
        try:
            self._process = subprocess.Popen(  # noqa: S603  our own command
                _command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(self._room),
                # Relative names, should a file make SQLite use any, lead to an empty place; at the
                # least not into the folder where the server was started.
                cwd=self._room.path if self._room else os.path.abspath(os.sep),  # noqa: PTH100  the root, or a drive's
            )
        except BaseException:
            self._remove_folder()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self._channel = PipeChannel(self._process.stdout, self._stdin)
        self.inbox = _pumped(self._channel)
        self.cpu_seconds, self.was_waiting = math.inf, True
        self.send({"kind": "setup", "packed": setup.packed()})

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def send(self, message: Message) -> None:
        """See `Worker`."""
        with suppress(OSError, ValueError):  # it is gone or stopped, as its inbox will tell
            self._channel.send(message)

    def stop(self) -> Death:
        """See `Worker`. Any thread may, also while another uses it."""
        self.was_waiting = _state_of(self.pid) not in ("R", "T", "t")
        # Of a process that has ended by itself this changes nothing: its code tells how it did.
        self._process.kill()
        before = _cpu_of_children()
        code = self._process.wait()
        self.cpu_seconds = max(_cpu_of_children() - before, 0) or math.inf
        with suppress(OSError):
            self._stdin.close()
        self._remove_folder()
        if code == -getattr(signal, "SIGPROF", 0):
            return "took_too_long"
        return "killed" if code < 0 and -code not in _OWN_SIGNALS else "stopped"

    def _remove_folder(self) -> None:
        if self._room is not None:
            self._room.remove()


class ThreadWorker:
    """A worker that can only be given up: it works on, unheard, until it comes to its end."""

    def __init__(self, setup: Setup) -> None:
        self._to_worker: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self.inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self.cpu_seconds, self.was_waiting = math.inf, True
        self.send({"kind": "setup", "packed": setup.packed()})
        threading.Thread(target=self._serve, name="ctxdiff-worker", daemon=True).start()

    def send(self, message: Message) -> None:
        """See `Worker`."""
        self._to_worker.put(message)

    def stop(self) -> Death:
        """See `Worker`."""
        self._to_worker.put(None)
        return "stopped"

    def _serve(self) -> None:
        from ctxdiff_mcp.worker.loop import serve_questions  # noqa: PLC0415  a server starts without

        try:
            serve_questions(_QueueChannel(self._to_worker, self.inbox), is_own_process=False)
        finally:
            self.inbox.put(None)


class _QueueChannel:
    """A channel within the process."""

    def __init__(
        self,
        incoming: queue.SimpleQueue[Message | None],
        outgoing: queue.SimpleQueue[Message | None],
    ) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    def send(self, message: Message) -> None:
        """See `Channel`."""
        self._outgoing.put(message)

    def receive(self) -> Message | None:
        """See `Channel`."""
        return self._incoming.get()


def _pumped(channel: PipeChannel) -> queue.SimpleQueue[Message | None]:
    """What comes through the channel, in a queue, which can be waited for with a limit."""
    inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    def pump() -> None:
        while (message := channel.receive()) is not None:
            inbox.put(message)
        channel.end()
        inbox.put(None)

    threading.Thread(target=pump, name="ctxdiff-worker-pipe", daemon=True).start()
    return inbox


def _state_of(pid: int) -> str:
    """The letter by which Linux tells what a process does; empty elsewhere. Source: proc(5)."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return ""
    return told.rpartition(")")[2].strip()[:1]


def _cpu_of_children() -> float:
    """Seconds that all children worked that were waited for; nothing where nobody counts."""
    spent = os.times()
    return spent.children_user + spent.children_system


def _command() -> list[str]:
    paths = [path for path in sys.path if Path(path).is_absolute()]
    options = ["-I", "-X", f"utf8={sys.flags.utf8_mode}"]
    if sys.dont_write_bytecode:
        options.append("-B")
    return [sys.executable, *options, "-c", BOOT, *paths]


def _private_room() -> Room | None:
    """A folder for the worker's copies of traces that are being written."""
    try:
        return Room()
    except OSError:
        return None  # only such traces cannot be read


def _environment(room: Room | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.upper() in KEPT_VARIABLES}
    if room is not None:
        kept |= dict.fromkeys(("TMPDIR", "TEMP", "TMP", "SQLITE_TMPDIR"), str(room.path))
    return kept
