"""Which trace files lie below a folder. Nothing is opened here."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ctxdiff_capture.store.careful import FileState, state_now

SUFFIX = ".ctrace"
MAX_DEPTH = 6
"""Folders below the runs folder that are entered, counted downwards."""
MAX_FILES = 5_000
MAX_ENTRIES = 200_000
"""Directory entries looked at before the walk stops."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What changes when a file changes, or the write-ahead log or the journal beside it."""

    file: FileState
    log: FileState | None
    """Of the `-wal`; None without one."""
    journal: FileState | None
    """Of the `-journal`."""
    seen_ns: int | None
    """When it was looked at, for a log that was written a moment before: another commit within the
    same tick of the file system's clock would not show. None otherwise."""


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
    for entry in _entries(root):
        if entry is None or len(files) >= MAX_FILES or len(refused) >= MAX_FILES:
            complete = False
            break
        label = entry.label.removesuffix(SUFFIX)
        reason = _why_refused(entry.found)
        if reason:
            refused.append((label, reason))
            continue
        identity = _identity(entry.found.path, entry.has_log, entry.has_journal)
        if identity is not None:
            files.append(TraceFile(label, Path(entry.found.path), identity))
    files.sort(key=lambda one: (one.identity.file.mtime_ns, one.identity.file.inode), reverse=True)
    return Found(tuple(files), tuple(refused), complete)


def identity_of(path: str | Path) -> Identity | None:
    """The file's identity now; None when it is gone or no regular file."""
    return _identity(path, has_log=True, has_journal=True)


def _identity(path: str | Path, has_log: bool, has_journal: bool) -> Identity | None:
    """`identity_of`, without looking for sidecars that a listing of the folder did not have."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    log = state_now(f"{path}-wal") if has_log else None
    now = time.time_ns()
    return Identity(
        FileState.of(found),
        log,
        state_now(f"{path}-journal") if has_journal else None,
        None if log is None or log.has_settled(now) else now,
    )


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


@dataclass(frozen=True, slots=True)
class _Entry:
    """Something with the suffix of a trace."""

    found: os.DirEntry[str]
    label: str
    has_log: bool
    has_journal: bool


def _entries(root: Path) -> Iterator[_Entry | None]:
    """What has the suffix below `root`, a folder's own entries before those of folders in it.

    By inode, see `Found`; None when a limit was met. Names are bytes: what is no text in them
    comes as surrogates, which lead back to the same bytes.
    """
    pending = [(str(root), "", 0)]
    seen = 0
    while pending:
        folder, prefix, depth = pending.pop()
        try:
            with os.scandir(folder) as entries:
                here = list(islice(entries, MAX_ENTRIES - seen + 1))
        except OSError:
            continue  # one unreadable folder never hides the others
        seen += len(here)
        names = {entry.name for entry in here}
        here.sort(key=os.DirEntry.inode)
        below = []
        for entry in here:
            name = entry.name
            if name.endswith(SUFFIX) and name != SUFFIX:
                has_log, has_journal = f"{name}-wal" in names, f"{name}-journal" in names
                yield _Entry(entry, prefix + name, has_log, has_journal)
            if depth < MAX_DEPTH and _may_enter(entry):
                below.append((entry.path, f"{prefix}{name}/", depth + 1))
        if seen > MAX_ENTRIES:
            yield None
            return
        pending.extend(reversed(below))


def _may_enter(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
    except OSError:
        return False
