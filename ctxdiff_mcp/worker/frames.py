"""Messages between server and worker: JSON behind its length, over a pair of pipes."""

from __future__ import annotations

import json
import struct
import threading
from typing import IO, Any, Protocol, TypeAlias

Message: TypeAlias = dict[str, Any]
"""Names to JSON values. `kind` says which; the table is in `loop`."""

_LENGTH = struct.Struct(">I")
MAX_BYTES = 2**28
"""Of a message: a client's question is bounded by the wire, an answer by its cap."""


class Channel(Protocol):
    """One end of a connection. Any thread may send, one receives."""

    def send(self, message: Message) -> None:
        """Hand over a message.

        Raises:
            OSError: the other end is gone.
        """

    def receive(self) -> Message | None:
        """The next message, as soon as there is one; None when the other end is gone."""


class PipeChannel:
    """A channel over two pipes."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """See `Channel`."""
        # Not orjson: names that are no UTF-8 and numbers above 64 bits must arrive as they are.
        body = json.dumps(message).encode("ascii")
        with self._lock:
            self._outgoing.write(_LENGTH.pack(len(body)) + body)
            self._outgoing.flush()

    def receive(self) -> Message | None:
        """See `Channel`."""
        try:
            head = self._incoming.read(_LENGTH.size)
            if len(head) < _LENGTH.size:
                return None
            (length,) = _LENGTH.unpack(head)
            body = self._incoming.read(length) if length <= MAX_BYTES else b""
            message = json.loads(body) if len(body) == length else None
        except (OSError, ValueError):
            return None
        return message if isinstance(message, dict) else None

    def end(self) -> None:
        """Receive nothing any more. For the thread that receives."""
        self._incoming.close()
