"""How a program starts to record."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ctxdiff_capture.errors import CtxdiffError
from ctxdiff_capture.guard import log
from ctxdiff_capture.recorder.redact import Redact, Redaction, steps_of
from ctxdiff_capture.recorder.tracer import BUSY_S, Tracer
from ctxdiff_capture.store.config import Destination, resolve
from ctxdiff_capture.store.secrets import SecretNumbers

__all__ = ["Tracer", "auto", "configure", "init"]

Target = str | os.PathLike[str]

_configured: Target | None = None


def configure(store: Target | None = None) -> None:
    """Set where traces of this process go unless `init` says otherwise; None unsets it."""
    global _configured  # noqa: PLW0603 - the setting is the process's
    _configured = store


def init(
    project: str,
    redact: Redact | None = None,
    path: Target | None = None,
    store: Target | None = None,
) -> Tracer:
    """A tracer that records `project`. Opens nothing and starts no thread yet.

    A target or a redaction that cannot be used costs the recording, with one warning; it is never
    raised.

    Args:
        project: name of what is recorded; the file is `./<project>.ctrace` unless a target is set.
        redact: `"secrets"` stores credentials as tags; a function gets every block before it is
            stored and gives back what to store; a list of both is done in order. The environment
            adds to it: `CTXDIFF_REDACT=secrets`.
        path: the trace's file, or a directory for it.
        store: a path or URL, as `CTXDIFF_STORE` takes it; wins over `path`.
    """
    destination = _destination(str(project), path, store)
    redaction = None
    try:
        steps = steps_of(redact, os.environ)
    except (TypeError, ValueError) as problem:
        # Nothing rather than everything in clear.
        log.warning("ctxdiff records nothing: %s", problem)
        destination = None
    else:
        if destination is not None and destination.path is not None:
            numbers = SecretNumbers(destination.path, busy_seconds=BUSY_S)
            redaction = Redaction(steps, numbers)
    return Tracer(str(project), destination, redact=redaction)


def auto(
    project: str | None = None,
    redact: Redact | None = None,
    path: Target | None = None,
    store: Target | None = None,
    agent: str | None = None,
) -> Tracer:
    """A tracer that records every model call of this process, whichever library makes it.

    Call it once, at the start of the program; `close()` ends it. See `Tracer.record_process`.

    Args:
        project: as for `init`; the name of the running script unless given.
        redact: as for `init`.
        path: as for `init`.
        store: as for `init`.
        agent: name for calls of clients that were not wrapped under a name of their own.
    """
    name = project or Path(sys.argv[0] if sys.argv else "").stem.strip("-_") or "agent"
    tracer = init(name, redact, path, store)
    tracer.record_process(agent)
    return tracer


def _destination(project: str, path: Target | None, store: Target | None) -> Destination | None:
    try:
        return resolve(project, path=path, store=store, configured=_configured, environ=os.environ)
    except (CtxdiffError, TypeError, ValueError, OSError) as problem:
        log.warning("ctxdiff records nothing: %s", problem)
        return None
