"""What a store can do, whatever is behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from ctxdiff_capture.model import (
    Call,
    CallDetail,
    Decision,
    Placement,
    Recording,
    Session,
    Stage,
)


class SessionWriter(Protocol):
    """One session being written. Used by one thread."""

    @property
    def session_id(self) -> str:
        """The id of the session's row."""

    def write(self, call: Call) -> None:
        """Store a call whole or not at all."""

    def write_many(self, calls: Sequence[Call]) -> None:
        """Store all of `calls` in one transaction, or none of them."""

    def amend(self, call: Call) -> None:
        """Replace what was stored under `call.id`: a retry came, or a stream went on.

        Raises:
            TraceNotFound: no call is stored under that id.
        """

    def note_loss(self, reason: str, count: int = 1) -> None:
        """Add `count` calls that could not be recorded, with `reason` in fixed words of ours."""

    def settle(self) -> None:
        """Move what was written to where a copy of the file alone has it. May do nothing."""

    def release(self) -> None:
        """Hold nothing that a forked child would take over. The next write takes it again."""

    def close(self) -> None:
        """Make everything durable and leave no sidecar file. May be called twice."""


class TraceReader(Protocol):
    """Read access to one trace. Never creates, migrates or changes a byte.

    Any thread may ask; one question is answered at a time. Every method raises `StoreError` when
    the file is damaged or a question takes longer than the reader's limit, and `StoreBusy` when
    the file was changed since it was opened: open it again.
    """

    def sessions(self) -> list[Session]:
        """All sessions, in the order in which they were stored; the last one is the newest."""

    def load(self, session_id: str, seqs: Sequence[int] | None = None) -> Recording:
        """A session without its texts.

        Args:
            session_id: exact id.
            seqs: only these calls; None is all. Unknown numbers are left out.

        Raises:
            TraceNotFound: no such session.
        """

    def texts(self, content_hashes: Iterable[str]) -> dict[str, str]:
        """The texts of blocks, by content hash; unknown hashes are absent.

        Bytes that are not UTF-8 are read as surrogates U+DC80 to U+DCFF. Where all together are
        too long to be held, only the first ones come, at least one.
        """

    def find_text(self, session_id: str, query: str) -> list[str]:
        """Content hashes of the session's input and output blocks whose text contains `query`.

        Literal and case-sensitive; order of first appearance.
        """

    def detail(self, call_id: str) -> CallDetail:
        """What is stored about one call beyond its head and blocks.

        Raises:
            TraceNotFound: no such call; likewise in the five methods below.
        """

    def inputs(self, call_id: str) -> tuple[Placement, ...]:
        """A call's input blocks with their texts, in order."""

    def outputs(self, call_id: str) -> tuple[Placement, ...]:
        """A call's output blocks with their texts, in order."""

    def stages(self, call_id: str) -> tuple[Stage, ...]:
        """What the program held at stages before a call, in the order in which it said so."""

    def decisions(self, call_id: str) -> tuple[Decision, ...]:
        """What the program's planner decided before a call, likewise."""

    def request(self, call_id: str) -> bytes | None:
        """The request body as it was sent, byte for byte; None when it was not kept.

        Raises:
            NotATrace: what is stored does not have the digest that was stored with it.
        """

    def losses(self, session_id: str) -> dict[str, int]:
        """Calls that could not be recorded, counted by reason; empty in files of ctxdiff."""

    def close(self) -> None:
        """Release the file. May be called twice."""
