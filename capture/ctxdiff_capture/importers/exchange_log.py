"""The exchange log: one model call per line of JSON, as a program's own request log keeps it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from io import BufferedReader
from pathlib import Path

from ctxdiff_capture.decoders.body import members
from ctxdiff_capture.decoders.dispatch import DECODERS
from ctxdiff_capture.decoders.seen import Element
from ctxdiff_capture.errors import ImportFailed
from ctxdiff_capture.importers.values import ImportedCall, LineError
from ctxdiff_capture.model import CallError, Exchange, Json, Tag

LONGEST_LINE = 128 * 2**20
"""Bytes of a line that is read; no provider takes a request that long."""
_LONGEST_QUOTE = 80
"""Characters of a name that a report quotes."""
_OTHER_FILES = {
    b"\x1f\x8b": ("gzip", "unpack it with gunzip first"),
    b"PK\x03\x04": ("a zip archive", "unpack it first"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unpack it with zstd -d first"),
    b"SQLite format 3": ("a database", "if it is a trace, ask it as it is"),
    b"\xff\xfe": ("UTF-16", "save it as UTF-8 first"),
    b"\xfe\xff": ("UTF-16", "save it as UTF-8 first"),
}
"""How files begin that are no lines of text at all, what they are, and what helps."""
_FIELDS = frozenset(
    (
        *("provider", "request", "response", "error", "started_at", "latency_ms"),
        *("agent", "step", "session", "tags", "attempt"),
    )
)


def read_exchange_log(
    path: Path, *, progress: Callable[[int], object] | None = None
) -> Iterator[ImportedCall | LineError]:
    """The calls of the log in the order of its lines, and the lines that are none.

    Empty lines are passed over, and what is longer than `LONGEST_LINE` is not held in memory. A
    known field of a wrong type is kept in the call's metadata, as unknown fields are.

    Args:
        path: the log.
        progress: called with the bytes read since it was last called.

    Raises:
        ImportFailed: the file cannot be read, or is compressed or no UTF-8 as a whole.
    """
    try:
        with path.open("rb") as log:
            _refuse_other_files(log, path)
            at = 0
            for number, (line, length) in enumerate(_lines(log), 1):
                if line is None:
                    yield LineError(number, f"longer than {LONGEST_LINE // 2**20} MB")
                elif line.strip():
                    yield _read_line(line, number, at)
                at += length
                if progress is not None:
                    progress(length)
    except OSError as error:
        raise _unreadable(path, error) from error


def read_again(path: Path, places: Iterable[tuple[int, int]]) -> Iterator[ImportedCall | LineError]:
    """The calls that `read_exchange_log` gave, each by its `line` and `at`.

    Raises:
        ImportFailed: the file cannot be read any more.
    """
    try:
        with path.open("rb") as log:
            for number, at in places:
                log.seek(at)
                yield _read_line(log.readline(LONGEST_LINE), number, at)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> ImportFailed:
    return ImportFailed(
        f"{path} cannot be read ({error.strerror})", remedy="check the path and the permissions"
    )


def _refuse_other_files(log: BufferedReader, path: Path) -> None:
    start = log.peek(16)
    for magic, (kind, remedy) in _OTHER_FILES.items():
        if start.startswith(magic):
            raise ImportFailed(f"{path} is {kind}, no lines of JSON", remedy=remedy)


def _lines(log: BufferedReader) -> Iterator[tuple[bytes | None, int]]:
    """Each line, None for one that is too long to be held, and its bytes."""
    while line := log.readline(LONGEST_LINE + 1):
        length, end = len(line), line[-1:]
        if length <= LONGEST_LINE:
            yield line, length
            continue
        while end != b"\n" and (line := log.readline(2**20)):
            length, end = length + len(line), line[-1:]
        yield None, length


def _read_line(line: bytes, number: int, at: int) -> ImportedCall | LineError:
    try:
        record = members(line.decode("utf-8-sig" if number == 1 else "utf-8").strip())
    except UnicodeDecodeError:
        return LineError(number, "not UTF-8")
    except ValueError:
        return LineError(number, "not a JSON object")
    except RecursionError:
        return LineError(number, "nested too deeply")
    surface = _value(record, "provider")
    if not isinstance(surface, str):
        return LineError(number, "no provider")
    if surface not in DECODERS:
        named = surface if len(surface) <= _LONGEST_QUOTE else f"{surface[:_LONGEST_QUOTE]}..."
        return LineError(number, f"unknown provider {named!r}; known: {', '.join(DECODERS)}")
    request = record.get("request")
    if request is None or not isinstance(request.value, Mapping):
        return LineError(number, "no request object")
    return _call(record, surface, request, number, at)


def _call(
    record: Mapping[str, Element], surface: str, request: Element, number: int, at: int
) -> ImportedCall:
    fields = _Fields(record)
    error = fields.error()
    session = fields.text("session")
    attempt = fields.whole("attempt")
    exchange = Exchange(
        surface=surface,
        request=request.raw.encode(),
        started_at=fields.started_at(),
        response=fields.response(),
        status=error.status if error else None,
        latency_ms=fields.whole("latency_ms"),
        error=error,
        provider=surface.partition(".")[0],
        agent=fields.text("agent"),
        step=fields.text("step"),
        tags=fields.tags(),
        metadata=fields.left,
    )
    return ImportedCall(number, exchange, session, attempt or 1, at)


class _Fields:
    """The optional fields of a record, each taken when it has the type that the format says.

    Args:
        record: the members of the line.
    """

    def __init__(self, record: Mapping[str, Element]) -> None:
        self._record = record
        self.left = {k: e.value for k, e in record.items() if k not in _FIELDS}
        """What has not been taken: unknown fields, and known ones of a wrong type."""

    def _leave(self, name: str, value: Json) -> None:
        if value is not None:
            self.left[name] = value

    def text(self, name: str) -> str | None:
        """A text; None when it is absent, null or no text."""
        value = _value(self._record, name)
        if isinstance(value, str):
            return value
        self._leave(name, value)
        return None

    def whole(self, name: str) -> int | None:
        """A whole number from 0 up; fractions are cut off."""
        value = _value(self._record, name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53:
            return int(value)
        self._leave(name, value)
        return None

    def response(self) -> bytes | None:
        """The body of the answer as written."""
        element = self._record.get("response")
        if element is None or element.value is None:
            return None
        if isinstance(element.value, Mapping):
            return element.raw.encode()
        self._leave("response", element.value)
        return None

    def error(self) -> CallError | None:
        """How the call failed; a record without a type of error is an `Error`."""
        value = _value(self._record, "error")
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self._leave("error", value)
            return CallError("Error", value if isinstance(value, str) else None)
        kind, message, status = (value.get(key) for key in ("type", "message", "status"))
        is_status = isinstance(status, int) and not isinstance(status, bool) and 0 <= status < 1_000
        if status is not None and not is_status:
            self._leave("error", value)
        return CallError(
            kind if isinstance(kind, str) and kind else "Error",
            message if isinstance(message, str) else None,
            status if is_status else None,
        )

    def started_at(self) -> str:
        """ISO 8601 in UTC with microseconds and offset; empty when the log does not say."""
        value = _value(self._record, "started_at")
        if not isinstance(value, str):
            self._leave("started_at", value)
            return ""
        try:
            moment = datetime.fromisoformat(_readable(value))
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=timezone.utc)
            moment = moment.astimezone(timezone.utc)
        except (ValueError, OverflowError):  # in UTC it may lie before the year 1
            self._leave("started_at", value)
            return ""
        return moment.isoformat(timespec="microseconds")

    def tags(self) -> tuple[Tag, ...]:
        """The tags; entries without two texts are left out."""
        value = _value(self._record, "tags")
        if not isinstance(value, list):
            self._leave("tags", value)
            return ()
        pairs = ((tag.get("label"), tag.get("text")) for tag in value if isinstance(tag, Mapping))
        return tuple(
            Tag(label, text)
            for label, text in pairs
            if isinstance(label, str) and isinstance(text, str)
        )


def _readable(moment: str) -> str:
    """`moment` as Python 3.10 can read it: no Z, and six digits behind the point."""
    spelled = re.sub(r"[zZ]$", "+00:00", moment.strip())
    return re.sub(r"\.(\d+)", lambda found: f".{found[1][:6]:0<6}", spelled)


def _value(record: Mapping[str, Element], name: str) -> Json:
    element = record.get(name)
    return None if element is None else element.value
