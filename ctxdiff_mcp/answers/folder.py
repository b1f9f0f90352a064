"""Which trace files lie below a folder. Nothing is opened here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".ctrace"
MAX_DEPTH = 6
"""Folders below the runs folder that are entered, counted downwards."""
MAX_FILES = 5_000
MAX_ENTRIES = 200_000
"""Directory entries looked at before the walk stops."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What changes when a file, or the write-ahead log beside it, changes."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    log: tuple[int, int, int] | None
    """Inode, size and time of the `-wal`; None without one."""


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A regular file with the suffix of a trace."""

    label: str
    """Path below the runs folder with `/`, without the suffix. Captured text."""
    path: Path
    identity: Identity


@dataclass(frozen=True, slots=True)
class Found:
    """What a walk met."""

    files: tuple[TraceFile, ...]
    """The last one changed first. No name decides: in redact mode the order would tell of it."""
    refused: tuple[tuple[str, str], ...]
    """(label, reason) of entries with the suffix that are no regular files, in the order of the
    file system's own numbers."""
    complete: bool
    """False when a limit ended the walk early."""


def trace_files(root: Path) -> Found:
    """The traces below `root`; `root` may be a single file.

    Links are not followed, hidden folders are not entered, and what cannot be read is left out.
    """
    if not root.is_dir():
        return _single(root)
    files: list[TraceFile] = []
    refused: list[tuple[str, str]] = []
    complete = True
    for entry, label in _entries(root):
        if entry is None or len(files) >= MAX_FILES:
            complete = False
            break
        if not entry.name.endswith(SUFFIX) or entry.name == SUFFIX:
            continue
        reason = _why_refused(entry)
        if reason:
            refused.append((label.removesuffix(SUFFIX), reason))
            continue
        identity = identity_of(entry.path)
        if identity is not None:
            files.append(TraceFile(label.removesuffix(SUFFIX), Path(entry.path), identity))
    files.sort(key=lambda file: (file.identity.mtime_ns, file.identity.inode), reverse=True)
    return Found(tuple(files), tuple(refused), complete)


def identity_of(path: str | Path) -> Identity | None:
    """The file's identity now; None when it is gone or no regular file."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    try:
        beside = os.lstat(f"{path}-wal")
        log = (beside.st_ino, beside.st_size, beside.st_mtime_ns)
    except OSError:
        log = None
    return Identity(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, log)


def _single(path: Path) -> Found:
    identity = identity_of(path)
    if identity is None:
        refused = ((path.stem, "not_a_regular_file"),) if os.path.lexists(path) else ()
        return Found((), refused, complete=True)
    return Found((TraceFile(path.stem, path, identity),), (), complete=True)


def _why_refused(entry: os.DirEntry[str]) -> str | None:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return None if entry.is_file(follow_symlinks=False) else "not_a_regular_file"
    except OSError:
        return "unreadable"


def _entries(root: Path) -> Iterator[tuple[os.DirEntry[str] | None, str]]:
    """Every entry below `root` with its label, a folder's own before those of folders in it.

    By inode, see `Found`; None when a limit was met.
    """
    pending = [(str(root), "", 0)]
    seen = 0
    while pending:
        folder, prefix, depth = pending.pop()
        try:
            with os.scandir(folder) as entries:
                here = sorted(entries, key=os.DirEntry.inode)
        except OSError:
            continue  # one unreadable folder never hides the others
        below = []
        for entry in here:
            seen += 1
            if seen > MAX_ENTRIES:
                yield None, ""
                return
            label = prefix + entry.name
            yield entry, label
            if depth < MAX_DEPTH and _may_enter(entry):
                below.append((entry.path, f"{label}/", depth + 1))
        pending.extend(reversed(below))


def _may_enter(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
    except OSError:
        return False
