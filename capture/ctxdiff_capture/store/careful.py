"""Opening files of strangers: once, no link, no pipe, no device, no giant; then by descriptor.

What is known of a file is asked of the descriptor, so nobody can put another in its place between
the check and the use.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from ctxdiff_capture.errors import NotATrace, StoreError, TooLarge, TraceNotFound

MAX_FILE_BYTES = 8 * 2**30
"""A larger trace is not opened."""

_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)

_PART_BYTES = 2**20
_SETTLED_NS = 100_000_000
"""Longer than the ticks in which file systems count time: two changes within one look like one."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What changes when a file changes or is replaced."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> FileState:
        """From what `stat` says."""
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    @property
    def which(self) -> tuple[int, int]:
        """Device and inode: which file it is, however it changed."""
        return self.device, self.inode

    def has_settled(self, now_ns: int | None = None) -> bool:
        """Whether a later change would show: the last one is more than a tick ago."""
        now = time.time_ns() if now_ns is None else now_ns
        return all(abs(now - then) > _SETTLED_NS for then in (self.mtime_ns, self.ctime_ns))


class CarefulFile:
    """A regular file, open for reading. Use with `with`."""

    def __init__(self, path: Path, *, most_bytes: int = MAX_FILE_BYTES) -> None:
        """Open `path`, which is no link.

        Raises:
            TraceNotFound: there is no such file.
            NotATrace: it is no regular file.
            TooLarge: it has more than `most_bytes`.
            StoreError: it may not be read.
        """
        self.path = path
        try:
            # A device may act on being opened, and Windows has no flag against links.
            _check_kind(path, os.lstat(path))
            self._file = io.FileIO(os.open(path, _FLAGS), "rb")
        except (FileNotFoundError, NotADirectoryError):
            raise TraceNotFound(f"there is no file {path}", remedy="check the path") from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _no_regular_file(path) from None
            raise StoreError(
                f"{path} cannot be read ({error.strerror})", remedy="check its permissions"
            ) from None
        try:
            found = os.fstat(self._file.fileno())
            _check_kind(path, found)
            _check_size(path, found, most_bytes)
        except BaseException:
            self._file.close()
            raise
        self.state = FileState.of(found)

    def __enter__(self) -> CarefulFile:  # noqa: PYI034 - Self came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def descriptor(self) -> int:
        """The number of the open file."""
        return self._file.fileno()

    def start(self, size: int) -> bytes:
        """The first `size` bytes, as they are now; fewer where the file is shorter."""
        self._file.seek(0)
        return self._file.read(size)

    def copy_to(self, target: Path, most_bytes: int) -> None:
        """Write the content to a new file; what stands beyond `most_bytes` is an error.

        Raises:
            TooLarge: it grew beyond.
        """
        self._file.seek(0)
        copied = 0
        with target.open("xb") as copy:
            while part := self._file.read(_PART_BYTES):
                copied += len(part)
                if copied > most_bytes:
                    raise TooLarge(
                        f"{self.path} grew beyond {most_bytes:,} bytes while it was copied",
                        remedy="ask again when its writer has ended",
                    )
                copy.write(part)


def state_now(path: str | Path) -> FileState | None:
    """The state of what has that name now, a link itself; None when there is nothing."""
    try:
        return FileState.of(os.lstat(path))
    except OSError:
        return None


def _check_kind(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _no_regular_file(path)


def _check_size(path: Path, found: os.stat_result, most_bytes: int) -> None:
    if found.st_size > most_bytes:
        raise TooLarge(
            f"{path} has {found.st_size:,} bytes, more than the {most_bytes:,} that are read",
            remedy="record into a new file for each run",
        )


def _no_regular_file(path: Path) -> NotATrace:
    return NotATrace(f"{path} is not a regular file", remedy="name a .ctrace file")
