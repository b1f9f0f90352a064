"""From a log to a trace."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.errors import ImportFailed
from ctxdiff_capture.importers.exchange_log import read_again, read_exchange_log
from ctxdiff_capture.importers.values import ImportedCall, ImportReport, LineError
from ctxdiff_capture.model import Attempt, Call
from ctxdiff_capture.recorder.redact import Redact, Redaction, steps_of
from ctxdiff_capture.recorder.redacting import redacting
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session
from ctxdiff_capture.store.secrets import SecretNumbers
from ctxdiff_capture.tokens.counter import TokenCounter

__all__ = ["ImportReport", "ImportedCall", "LineError", "import_log"]

_TOGETHER = 64
"""Calls written in one transaction."""
_OPEN = 32
"""Sessions written at the same time; some systems let a process open 256 files."""


def import_log(
    source: Path,
    target: Path,
    *,
    progress: Callable[[int], object] | None = None,
    redact: Redact | None = None,
) -> ImportReport:
    """Write the calls of a log into a new trace.

    There is one session per distinct `session` of the log, in the order of their first calls. Bad
    lines are reported and the others written; without any good line there is no trace. `target`
    appears when it is complete.

    Args:
        source: an exchange log.
        target: the trace, which must not exist.
        progress: called with the bytes read since it was last called.
        redact: what is done to the calls, as for `trace.init`.

    Raises:
        ImportFailed: `source` cannot be read, `target` exists, or there is no such redaction.
        StoreError: `target` cannot be written.
    """
    if target.exists():
        raise ImportFailed(
            f"{target} exists, and its calls would be in it twice",
            remedy="remove it, or choose another file",
        )
    try:
        steps = steps_of(redact, os.environ)
    except (TypeError, ValueError) as problem:
        raise ImportFailed(str(problem), remedy="CTXDIFF_REDACT=secrets, or none") from problem
    unfinished = target.with_name(f".{target.name}.{uuid4().hex[:8]}")
    try:
        redaction = Redaction(steps, SecretNumbers(unfinished))
        found = read_exchange_log(source, progress=progress)
        report = _Writing(source, unfinished, redaction).write(found)
        if report.calls:
            unfinished.replace(target)
    finally:
        for leftover in target.parent.glob(f"{unfinished.name}*"):
            leftover.unlink(missing_ok=True)
    return report


class _Writing:
    """The sessions of a log on their way into a new trace.

    Args:
        source: the log.
        target: the trace.
        redaction: what is done to each call.
    """

    def __init__(self, source: Path, target: Path, redaction: Redaction) -> None:
        self._source, self._target, self._redaction = source, target, redaction
        self._counter = TokenCounter()
        self._calls = 0
        self._sessions = 0

    def write(self, found: Iterable[ImportedCall | LineError]) -> ImportReport:
        """Write what was found in the log."""
        errors: list[LineError] = []
        sessions: dict[str | None, _Session] = {}
        later: dict[str | None, array[int]] = {}
        # Many sessions may take turns in one file and SQLite has one writer, so calls wait in
        # memory until their session has a handful of them. A session holds files open: what is of
        # too many is read again afterwards, one session after the other.
        with ExitStack() as at_end:
            for item in found:
                if isinstance(item, LineError):
                    errors.append(item)
                elif item.session in sessions:
                    sessions[item.session].add(item)
                elif len(sessions) < _OPEN:
                    session = sessions[item.session] = self._begun(item)
                    at_end.callback(session.close)
                    session.add(item)
                else:
                    places = later.setdefault(item.session, array("q"))
                    places.extend((item.line, item.at))
            for session in sessions.values():
                self._finish(session)
        for places in later.values():
            errors += self._write_later(places)
        return ImportReport(self._calls, self._sessions, tuple(errors))

    def _write_later(self, places: array[int]) -> list[LineError]:
        """Write one session from its lines; those that somebody has changed meanwhile are given."""
        errors: list[LineError] = []
        session: _Session | None = None
        with ExitStack() as at_end:
            for item in read_again(self._source, zip(places[::2], places[1::2], strict=True)):
                if isinstance(item, LineError):
                    errors.append(item)
                    continue
                if session is None:
                    session = self._begun(item)
                    at_end.callback(session.close)
                session.add(item)
            if session is not None:
                self._finish(session)
        return errors

    def _begun(self, first: ImportedCall) -> _Session:
        project = first.session or self._source.stem
        return _Session(first, self._target, project, self._counter, self._redaction)

    def _finish(self, session: _Session) -> None:
        session.flush()
        self._calls += session.calls
        self._sessions += 1


@dataclass(frozen=True, slots=True)
class _Sent:
    """What a retry needs to know of the call that it repeats."""

    id: str
    seq: int
    attempts: tuple[Attempt, ...]


class _Session:
    """One session of the log on its way into the store."""

    def __init__(
        self,
        first: ImportedCall,
        target: Path,
        project: str,
        counter: TokenCounter,
        redaction: Redaction,
    ) -> None:
        opening = partial(
            create_session,
            Destination(path=target.absolute()),
            project=project,
            provider=first.exchange.provider,
            started_at=first.exchange.started_at,
        )
        self._writer = redacting(opening, redaction)
        self._counter = counter
        self._waiting: dict[str, Call] = {}
        self._sent: dict[tuple[str, str | None], _Sent] = {}
        self.calls = 0
        """Calls so far, retries not counted."""

    def add(self, item: ImportedCall) -> None:
        """Decode a call; a retry becomes an attempt of the call that it repeats."""
        exchange = item.exchange
        key = (sha256(exchange.request).hexdigest(), exchange.agent)
        earlier = self._sent.get(key) if item.attempt > 1 else None
        if earlier is None:
            self.calls += 1
            call_id, seq = uuid4().hex, self.calls
        else:
            call_id, seq = earlier.id, earlier.seq
            exchange = replace(exchange, attempts=earlier.attempts)
        call = decode(exchange, seq=seq, call_id=call_id, count=self._counter)
        self._sent[key] = _Sent(call_id, seq, call.attempts)
        if earlier is not None and call_id not in self._waiting:
            self._writer.amend(call)
            return
        self._waiting[call_id] = call
        if len(self._waiting) >= _TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting = list(self._waiting.values()), {}
        self._writer.write_many(waiting)

    def close(self) -> None:
        """Give the file free."""
        self._writer.close()
