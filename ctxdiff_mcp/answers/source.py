"""Where runs come from: a folder of trace files, watched by identity and kept open while asked."""

from __future__ import annotations

import gc
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ctxdiff_capture.errors import (
    EmptyTrace,
    NoMemory,
    NotATrace,
    StoreBusy,
    StoreError,
    TooLarge,
    TraceNotFound,
    UnfinishedChange,
    UnsafeTrace,
    UnsupportedVersion,
)
from ctxdiff_capture.model import Session

from ctxdiff_mcp.answers.folder import Found, Identity, TraceFile, trace_files
from ctxdiff_mcp.answers.refs import RunRef, instant, moment
from ctxdiff_mcp.answers.watch import Watch
from ctxdiff_mcp.gate.captured import Captured, Name

# SQLite, the decoders and the analyzers are needed by the first question, not by a server's start:
# the methods that need them import them.
if TYPE_CHECKING:
    from ctxdiff_capture.store.base import TraceReader

    from ctxdiff_mcp.answers.open_run import OpenRun

MAX_OPEN = 8
"""Runs kept open at the same time."""
SECONDS_TO_TRY_AGAIN = 10.0
"""After these a file is read again about which nothing was found out, even if it did not change."""
SESSION_CHARS = 8
"""Characters of a session's id in a handle, more where they do not tell a file's sessions apart."""

REASONS: tuple[tuple[type[StoreError], str], ...] = (
    (UnsupportedVersion, "written_by_a_newer_version"),
    (UnfinishedChange, "unfinished_change"),
    (StoreBusy, "busy"),
    (TooLarge, "too_large"),
    (EmptyTrace, "no_session"),
    (TraceNotFound, "gone"),
    (UnsafeTrace, "unsafe_schema"),
    (NotATrace, "not_a_trace"),
)


def limit_sqlite() -> None:
    """Bound what SQLite holds in memory in this whole process; for one that only reads traces."""
    from ctxdiff_capture.store.defence import limit_memory  # noqa: PLC0415  see above

    limit_memory()


_Key: TypeAlias = tuple[Path, str, tuple[int, ...] | None]
"""Of an open run: its file, its session, and its turns where it has not all."""
_Read: TypeAlias = tuple[TraceFile, Sequence[Session] | str]
"""A file with its sessions, or why these cannot be read."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What was found out of a file."""

    identity: Identity
    sessions: Sequence[Session] | str
    until: float
    """On a monotonic clock; then it is looked at again."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A run as found in a folder, before anything but its session row was read. Not for output."""

    ref: RunRef
    handle: str
    """The text of `ref.name`."""
    label: str
    """Of its file."""
    file: TraceFile
    session: Session
    started: str | None
    """`session.started_at` as an instant; None when it is none."""
    has_siblings: bool
    """True when its file holds several sessions."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that cannot be read, with the reason in fixed words."""

    name: Name
    reason: str
    """A word of `REASONS`, `unreadable`, `link`, `folder` or `not_a_regular_file`; from the watch
    `took_too_long`, `stopped_the_reader` or `too_large`."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All runs of a source, newest first."""

    runs: tuple[Listed, ...]
    unreadable: tuple[Unreadable, ...]
    complete: bool
    """False when the folder holds more files than are looked at."""
    is_read: bool
    """False when there was no time to read every file: the next list has more."""


class Source:
    """The runs below one folder, or those of one file. Safe to ask from several threads."""

    def __init__(self, root: Path, watch: Watch | None = None) -> None:
        self.root = root
        self.watch = watch or Watch()
        self._lock = threading.RLock()
        self._sessions: dict[Path, _Known] = {}
        self._open: OrderedDict[_Key, tuple[Identity, OpenRun]] = OrderedDict()
        self._handles: dict[tuple[str, str], int] = {}
        self._listing: tuple[Found, list[_Read], Listing] | None = None

    def listing(self) -> Listing:
        """What is there now. Files that did not change are not read again."""
        with self._lock:
            found = trace_files(self.root)
            read = self._read(found.files)
            if self._listing is not None and self._listing[:2] == (found, read):
                return self._listing[2]
            runs = _newest_first(
                [
                    (file, session)
                    for file, sessions in read
                    if not isinstance(sessions, str)
                    for session in sessions
                ]
            )
            bad = [(file.label, why) for file, why in read if isinstance(why, str)]
            bad += found.refused
            starts = {
                file.path: _telling_starts([session.id for session in sessions])
                for file, sessions in read
                if not isinstance(sessions, str)
            }
            listing = Listing(
                tuple(self._listed(file, session, starts[file.path]) for file, session in runs),
                tuple(
                    Unreadable(Name(Captured(label), f"f{n}"), why)
                    for n, (label, why) in enumerate(bad, 1)
                ),
                found.complete,
                len(read) == len(found.files),
            )
            self._listing = found, read, listing
            return listing

    def open(self, run: Listed, only: Sequence[int] | None = None) -> OpenRun:
        """The run ready to be asked.

        Args:
            run: as listed.
            only: the turns that the question is about: a run that is not open yet then has just
                these. None is all.

        Raises:
            StoreError: the file went away or cannot be read.
        """
        from ctxdiff_capture.store.open import open_reader  # noqa: PLC0415  see the top

        from ctxdiff_mcp.answers.open_run import OpenRun  # noqa: PLC0415  likewise

        whole: _Key = (run.file.path, run.session.id, None)
        key = whole if only is None else (*whole[:2], tuple(only))
        with self._lock:
            self.watch.asked(run.file)
            for known in (whole, key):
                kept = self._open.get(known)
                if kept is not None and kept[0] == run.file.identity:
                    self._open.move_to_end(known)
                    return kept[1]
            reader = open_reader(run.file.path)
            try:
                opened = OpenRun(run.ref, reader, reader.load(run.session.id, only))
            except BaseException:
                reader.close()
                raise
            self._open[key] = (run.file.identity, opened)
            while len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
            return opened

    def _forget_runs(self) -> None:
        """Keep no run open but those that a question still has."""
        self._open.clear()
        gc.collect()

    def numbered(self, after: int = 0) -> list[tuple[str, str]]:
        """(label of the file, id of the session) of all runs ever listed, by number from 1.

        Args:
            after: leave out the first so many.
        """
        with self._lock:
            return list(islice(self._handles, after, None))

    def remember(self, numbered: Iterable[tuple[str, str]]) -> None:
        """Give runs the numbers that they had for another source; before the first list."""
        with self._lock:
            self._handles = {key: number for number, key in enumerate(numbered, 1)}

    def close(self) -> None:
        """Release every file."""
        with self._lock:
            for _, run in self._open.values():
                run.close()
            self._open.clear()

    def _read(self, files: Sequence[TraceFile]) -> list[_Read]:
        """The files, those changed last first, with their sessions or why these cannot be read.

        When the time for a list is over, files that were not read before are left out: what was
        read is kept, so that the next list comes further.
        """
        begin = time.monotonic()
        limit = self.watch.seconds_to_list
        found = []
        for file in files:
            known = self._known_sessions(file)
            if known is None and (limit is None or time.monotonic() - begin < limit):
                with self.watch.listing(file):
                    known = self._sessions_of(file)
            if known is not None:
                found.append((file, known))
        self.watch.listed()
        return found

    def _known_sessions(self, file: TraceFile) -> Sequence[Session] | str | None:
        """What is known of a file without reading it."""
        refused = self.watch.refusal(file)
        if refused is not None:
            return refused
        known = self._sessions.get(file.path)
        if known is None or known.identity != file.identity or time.monotonic() > known.until:
            return None
        return known.sessions

    def _sessions_of(self, file: TraceFile) -> Sequence[Session] | str:
        """The file's sessions, or why they cannot be read."""
        from ctxdiff_capture.store.open import open_reader  # noqa: PLC0415  see the top

        answer: Sequence[Session] | str
        reader: TraceReader | None = None
        try:
            reader = open_reader(file.path)
            answer = tuple(reader.sessions())
        except NoMemory:
            if self._open:
                self._forget_runs()
                return self._sessions_of(file)
            answer = "too_large"
        except StoreError as problem:
            answer = next(
                (word for kind, word in REASONS if isinstance(problem, kind)), "unreadable"
            )
        except Exception:  # noqa: BLE001  # one bad file must never hide the good ones
            answer = "unreadable"
        finally:
            if reader is not None:
                reader.close()
        if answer != "busy":
            # Why it is unreadable may lie elsewhere: a full disk, a right that came since.
            until = time.monotonic() + SECONDS_TO_TRY_AGAIN if answer == "unreadable" else math.inf
            self._sessions[file.path] = _Known(file.identity, answer, until)
        return answer

    def _listed(self, file: TraceFile, session: Session, starts: Mapping[str, str]) -> Listed:
        handle = file.label
        parts: tuple[Captured, ...] = ()
        if len(starts) > 1:
            start = starts[session.id]
            handle, parts = f"{handle}#{start}", (Captured(file.label), Captured(start))
        number = self._handles.setdefault((file.label, session.id), len(self._handles) + 1)
        return Listed(
            ref=RunRef(Name(Captured(handle), f"r{number}", parts), Captured(session.id)),
            handle=handle,
            label=file.label,
            file=file,
            session=session,
            started=instant(session.started_at),
            has_siblings=len(starts) > 1,
        )


_Row = tuple[TraceFile, Session]


def _newest_first(rows: list[_Row]) -> list[_Row]:
    """By start, then by size; runs without a readable start last. No text decides."""
    earliest = datetime.min.replace(tzinfo=timezone.utc)

    def age(row: _Row) -> tuple[datetime, int]:
        return moment(row[1].started_at) or earliest, row[1].calls

    return sorted(rows, key=age, reverse=True)


def _telling_starts(ids: Sequence[str]) -> dict[str, str]:
    """Of each id the start that tells it from the others, of `SESSION_CHARS` at least."""
    # What an id shares with any other it shares with a neighbour; all pairs would be too many.
    ordered = sorted(ids)
    shared = [_shared_length(*pair) for pair in pairwise(ordered)]
    return {
        own: own[: max(SESSION_CHARS, before + 1, after + 1)]
        for own, before, after in zip(ordered, [0, *shared], [*shared, 0], strict=False)
    }


def _shared_length(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
