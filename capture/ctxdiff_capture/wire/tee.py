"""A response body on its way to the host, with a copy kept."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any, cast

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.wire.flight import Ending, Flight, Sink


def tee_of(stream: Any, flight: Flight, sink: Sink) -> Any:
    """A byte stream of `stream`'s flavour that passes every chunk on at once and unchanged.

    `flight` is reported as ended at the first of: the last byte, an error, the stream being
    closed, the stream being dropped.

    Args:
        stream: the `SyncByteStream` or `AsyncByteStream` of an httpx2 or httpx response.
        flight: what the body answers.
        sink: gets the report.
    """
    return _tee_class(_flavour_of(stream), hasattr(stream, "aclose"))(stream, flight, sink)


def chunks_of(chunks: Any, flight: Flight, sink: Sink) -> Any:
    """The same for an iterator of chunks, asynchronous or not, of no HTTP library's flavour."""
    kind = _AsyncTee if hasattr(chunks, "__aiter__") else _Tee
    return kind(chunks, flight, sink)


def _flavour_of(stream: Any) -> str:
    tops = [kind.__module__.partition(".")[0] for kind in type(stream).__mro__]
    return "httpx2" if "httpx2" in tops else "httpx"


@cache
def _tee_class(flavour: str, is_async: bool) -> Any:
    """Our stream under the base class that the HTTP library checks for."""
    httpx: Any = sys.modules[flavour]
    if is_async:
        return type("AsyncTee", (_AsyncTee, httpx.AsyncByteStream), {})
    return type("Tee", (_Tee, httpx.SyncByteStream), {})


class _Kept:
    """What both kinds of stream share: the copy and the one report."""

    def __init__(self, stream: Any, flight: Flight, sink: Sink) -> None:
        self._stream = stream
        self._flight = flight
        self._sink = sink

    def _keep(self, chunk: bytes) -> None:
        with host_never_sees("keep a part of a stream"):
            flight = self._flight
            now = self._sink.clock.monotonic_ns()
            if flight.first_byte_ns is None:
                flight.first_byte_ns = now
            flight.last_byte_ns = now
            flight.keep(chunk)

    def _end(self, ending: Ending, error: BaseException | None = None) -> None:
        with host_never_sees("note the end of a stream"):
            self._sink.ended(self._flight, ending, error)

    def _passed_on(self, source: Iterator[bytes]) -> Iterator[bytes]:
        while True:
            try:
                chunk = next(source)
            except StopIteration:
                self._end("whole")
                return
            except BaseException as error:
                self._end("failed", error)
                raise
            self._keep(chunk)
            yield chunk

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":  # not yet there: __init__ failed
            raise AttributeError(name)
        return getattr(self._stream, name)

    def __del__(self) -> None:
        if "_sink" in self.__dict__:
            self._end("closed")


class _Tee(_Kept):
    def __iter__(self) -> Iterator[bytes]:
        yield from self._passed_on(iter(self._stream))

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._end("closed")


class _AsyncTee(_Kept):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        source = aiter(self._stream)
        while True:
            try:
                chunk = await anext(source)
            except StopAsyncIteration:
                self._end("whole")
                return
            except BaseException as error:
                self._end("failed", error)
                raise
            self._keep(chunk)
            yield chunk

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._end("closed")


def raw_tee(raw: Any, flight: Flight, sink: Sink) -> Any:
    """A raw response of urllib3, or what stands for one, with a copy of what is read from it.

    urllib3's own stays the object that it is, for it can be read in many ways: the copy is made
    where it reads the socket.
    """
    client: Any = sys.modules.get("http.client")
    below = getattr(raw, "_fp", None)
    if client is None or not isinstance(below, client.HTTPResponse):
        return RawTee(raw, flight, sink)
    flight.is_chunked = bool(below.chunked)
    if below.fp is None:  # the answer has no body
        sink.ended(flight, "whole")
    else:
        below.fp = FileTee(below.fp, flight, sink, below.length, told=_told_by_urllib3)
    return raw


def _told_by_urllib3(error: BaseException) -> BaseException:
    """What urllib3 makes of an error below it."""
    exceptions: Any = sys.modules["urllib3.exceptions"]
    if isinstance(error, TimeoutError):
        return cast("Exception", exceptions.ReadTimeoutError(None, None, "Read timed out."))
    if isinstance(error, Exception):
        return cast("Exception", exceptions.ProtocolError(f"Connection broken: {error!r}", error))
    return error


class RawTee(_Kept):
    """Stands for a response that is read as urllib3's are, with a copy of what it reads."""

    def __enter__(self) -> RawTee:  # noqa: PYI034 - `Self` came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, *args: Any, **options: Any) -> bytes:
        """As the raw stream reads; an empty answer to a wish for bytes is the end."""
        try:
            chunk: bytes = self._stream.read(*args, **options)
        except BaseException as error:
            self._end("failed", error)
            raise
        amount = args[0] if args else options.get("amt")
        if chunk:
            self._keep(chunk)
        if amount is None or (amount > 0 and not chunk):
            self._end("whole")
        return chunk

    def readinto(self, buffer: Any) -> int:
        """As the raw stream reads."""
        try:
            count: int = self._stream.readinto(buffer)
        except BaseException as error:
            self._end("failed", error)
            raise
        if count:
            self._keep(bytes(memoryview(buffer)[:count]))
        elif len(buffer):
            self._end("whole")
        return count

    def stream(self, *args: Any, **options: Any) -> Iterator[bytes]:
        """As the raw stream gives its chunks."""
        # Decoded here or not, as the host wishes.
        self._flight.is_decoded = bool(options.get("decode_content"))
        yield from self._passed_on(iter(self._stream.stream(*args, **options)))

    def __iter__(self) -> Iterator[bytes]:
        return self._passed_on(iter(self._stream))

    def close(self) -> None:
        """Close the raw stream."""
        try:
            self._stream.close()
        finally:
            self._end("closed")


class FileTee(_Kept):
    """The socket's file in an answer of `http.client`, with a copy of what is read from it.

    Args:
        stream: the file.
        flight: what the body answers.
        sink: gets the report.
        length: of the body in bytes; None where the answer does not say.
        told: from an error to the one that the host is told of.
    """

    def __init__(
        self,
        stream: Any,
        flight: Flight,
        sink: Sink,
        length: int | None,
        told: Callable[[BaseException], BaseException] = lambda error: error,
    ) -> None:
        super().__init__(stream, flight, sink)
        self._left = length
        self._tail = (b"", b"")
        self._told = told

    def read(self, *args: Any) -> bytes:
        """As the file reads, like the methods below."""
        return self._read(self._stream.read, args)

    def read1(self, *args: Any) -> bytes:
        """At most what one reading of the socket gives."""
        return self._read(self._stream.read1, args)

    def readline(self, *args: Any) -> bytes:
        """Up to the end of a line."""
        return self._read(self._stream.readline, args)

    def readinto(self, buffer: Any) -> int:
        """Into a buffer."""
        try:
            count: int = self._stream.readinto(buffer)
        except BaseException as error:
            self._end("failed", self._told(error))
            raise
        self._took(bytes(memoryview(buffer)[:count]), len(buffer))
        return count

    def close(self) -> None:
        """Close the file; the connection may go on."""
        try:
            self._stream.close()
        finally:
            self._end("closed")

    def _read(self, read: Callable[..., bytes], args: tuple[Any, ...]) -> bytes:
        try:
            chunk = read(*args)
        except BaseException as error:
            self._end("failed", self._told(error))
            raise
        self._took(chunk, args[0] if args and args[0] is not None else -1)
        return chunk

    def _took(self, chunk: bytes, wanted: int) -> None:
        """Keep a chunk, and see whether it is the last one."""
        with host_never_sees("keep a part of a stream"):
            if chunk:
                self._keep(chunk)
                self._tail = (self._tail[1], chunk)
            if self._left is not None:
                self._left -= len(chunk)
            if self._flight.is_chunked:
                # The piece of no bytes: its size, and an empty line.
                is_last = self._tail == (b"0\r\n", b"\r\n")
            else:
                is_last = self._left is not None and self._left <= 0
            is_cut = not is_last and (self._flight.is_chunked or self._left is not None)
            if is_last or (not is_cut and (wanted < 0 or (wanted and not chunk))):
                self._end("whole")
            elif is_cut and wanted and not chunk:
                # What `http.client` raises above us.
                missing = sys.modules["http.client"].IncompleteRead(b"", self._left)
                self._end("failed", self._told(missing))
