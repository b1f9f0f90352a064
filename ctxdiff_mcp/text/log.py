"""What a process of ours logs: on stderr, so that a terminal obeys nothing in it.

An error's own words are often a stranger's: a traceback quotes what was being read.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import TracebackType

log = logging.getLogger("ctxdiff")

CONTINUES = "  | "
"""Stands before every line of a record but its first, so that none can be taken for another."""
MOST_LINES, MOST_CHARS = 80, 400
"""Of a record; the first lines and the last are kept."""


def log_to_stderr(*, withheld: bool = False) -> None:
    """Send every record of this process there and nowhere else, with what nothing caught.

    Args:
        withheld: write none of them, as redact mode promises.
    """
    _only(_Nowhere() if withheld else _Stderr())
    logging.captureWarnings(capture=True)
    sys.excepthook = uncaught
    sys.unraisablehook = lambda told: uncaught(told.exc_type, told.exc_value, told.exc_traceback)
    threading.excepthook = lambda told: uncaught(told.exc_type, told.exc_value, told.exc_traceback)


@contextmanager
def logged_to_stderr() -> Generator[None, None, None]:
    """Send every record there until the block is left; the process may be another's.

    An error that leaves the block is one more record to come, so nothing is changed back then.
    """
    before = _only(_Stderr())
    yield
    _only(*before)


def uncaught(
    kind: type[BaseException] | None,
    error: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    """Log an error that nothing caught; a hook for the interpreter."""
    if kind is not None and error is not None:
        log.critical("ctxdiff: uncaught error", exc_info=(kind, error, traceback))


def harmless(text: str) -> str:
    """Text of any origin as the lines of one record: masked, cleaned, marked and bounded."""
    # A server that logs nothing starts without them.
    from ctxdiff_mcp.gate.clean import clean  # noqa: PLC0415
    from ctxdiff_mcp.text.shown import masked  # noqa: PLC0415

    lines = clean(masked(text.expandtabs(4))).split("\n")
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines = [*lines[:half], f"... {len(lines) - 2 * half} lines ...", *lines[-half:]]
    return f"\n{CONTINUES}".join(
        line if len(line) <= MOST_CHARS else f"{line[:MOST_CHARS]}…" for line in lines
    )


class _Nowhere(logging.NullHandler):
    """Takes every record, so that `logging` does not print it as a last resort."""


class _Stderr(logging.Handler):
    """Writes harmless records to what is stderr at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):  # a handler that raises is printed with the record as it is
            sys.stderr.write(f"{harmless(self.format(record))}\n")
            sys.stderr.flush()


def _only(*wanted: logging.Handler) -> list[logging.Handler]:
    """Let these handlers stand for all of ours; gives those that stood there."""
    root = logging.getLogger()
    before: list[logging.Handler] = [
        one for one in root.handlers if isinstance(one, (_Stderr, _Nowhere))
    ]
    for handler in before:
        root.removeHandler(handler)
    for handler in wanted:
        root.addHandler(handler)
    return before
