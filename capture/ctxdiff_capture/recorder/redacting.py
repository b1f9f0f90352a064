"""A session whose calls are redacted on their way into the store, and nowhere before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxdiff_capture.model import Call
from ctxdiff_capture.recorder.redact import Redaction
from ctxdiff_capture.store.base import SessionWriter


def redacting(open_session: Callable[[], SessionWriter], redaction: Redaction) -> SessionWriter:
    """The session that `open_session` begins, behind `redaction`."""
    session = open_session()
    redaction.begin()
    return RedactingSession(session, redaction)


class RedactingSession:
    """Meets `base.SessionWriter`.

    Credentials are numbered by the trace itself. When it cannot be asked for a while, the call
    waits as one that cannot be written: it is neither lost nor stored without its texts.
    """

    def __init__(self, session: SessionWriter, redaction: Redaction) -> None:
        self._session = session
        self._redaction = redaction
        # What could not be written is tried again, and a hook is not asked twice.
        self._ready: dict[str, tuple[Call, Call]] = {}

    @property
    def session_id(self) -> str:
        """The id of the session's row."""
        return self._session.session_id

    def write(self, call: Call) -> None:
        """Store a call whole or not at all."""
        self._session.write(self._redacted(call))
        self._ready.pop(call.id, None)

    def write_many(self, calls: Sequence[Call]) -> None:
        """Store all of `calls` in one transaction, or none of them."""
        self._session.write_many([self._redacted(call) for call in calls])
        for call in calls:
            self._ready.pop(call.id, None)

    def amend(self, call: Call) -> None:
        """Replace what was stored under `call.id`."""
        self._session.amend(self._redacted(call))
        self._ready.pop(call.id, None)

    def note_loss(self, reason: str, count: int = 1) -> None:
        """Add `count` calls that could not be recorded."""
        self._session.note_loss(reason, count)

    def settle(self) -> None:
        """Move what was written to where a copy of the file alone has it."""
        self._session.settle()

    def release(self) -> None:
        """Hold nothing that a forked child would take over."""
        self._session.release()

    def close(self) -> None:
        """Make everything durable."""
        self._ready.clear()
        self._session.close()

    def _redacted(self, call: Call) -> Call:
        ready = self._ready.get(call.id)
        if ready is None or ready[0] is not call:
            ready = self._ready[call.id] = (call, self._redaction.of(call))
        return ready[1]
