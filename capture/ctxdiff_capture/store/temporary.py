"""Where files stand that only this process needs."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a folder in use cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

_PREFIX = "ctxdiff-"
_LOCK = "lock"


class Room:
    """A locked folder, removed at the end of its process, or by the next room after a kill.

    The lock goes with its process, however that ends.

    Raises:
        OSError: there is no place for it.
    """

    def __init__(self) -> None:
        _sweep()
        self.owner = os.getpid()
        # Prepared under another name, so that nobody sweeps it before it is locked.
        folder = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=temporary_folder()))
        lock = None
        if fcntl is not None:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
        self.path = folder.rename(folder.with_name(folder.name[1:]))
        self.remove = weakref.finalize(self, remove_own, self.path, self.owner, lock)


def remove_own(folder: Path, owner: int, lock: int | None = None) -> None:
    """Remove a folder, unless this is a forked child of its owner; and let its lock go."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _sweep() -> None:
    """Remove the rooms of processes that were killed: those whose lock nobody holds."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(temporary_folder()) as entries:
        rooms = [
            Path(entry.path)
            for entry in entries
            if entry.name.startswith(_PREFIX)
            and entry.is_dir(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_uid == os.getuid()
        ]
        for room in rooms:
            with suppress(OSError):
                lock = os.open(room / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(room, ignore_errors=True)
                finally:
                    os.close(lock)


def temporary_folder() -> Path:
    """The system's folder for temporary files; never the current one by default.

    Python's own choice ends with the current folder where no other can be written to, or all are
    full, and writes a file there to try it: beside the traces that must not be touched.

    Raises:
        FileNotFoundError: there is none that may be written to.
    """
    if os.name == "nt" or tempfile.tempdir is not None:
        return Path(tempfile.gettempdir())
    for name in _usual():
        if os.path.isdir(name) and os.access(name, os.W_OK | os.X_OK):  # noqa: PTH112  no such check of a Path
            return Path(name).absolute()
    raise FileNotFoundError(errno.ENOENT, "there is no folder for temporary files")


def _usual() -> Iterator[str]:
    """Where Python looks, but for the current folder. Source: the docs of `tempfile.tempdir`."""
    for variable in ("TMPDIR", "TEMP", "TMP"):
        if named := os.environ.get(variable):
            yield named
    yield from ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108  mkdtemp makes the names
