"""Reads a `.ctrace` file and never writes."""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import accumulate, chain, takewhile
from pathlib import Path
from typing import TypeVar

from ctxdiff_capture.errors import (
    NoMemory,
    NotATrace,
    StoreBusy,
    StoreError,
    TooLarge,
    TraceNotFound,
)
from ctxdiff_capture.model import (
    Block,
    CallDetail,
    Decision,
    Placement,
    Recording,
    Session,
    Stage,
)
from ctxdiff_capture.store.connection import open_untouched
from ctxdiff_capture.store.deadline import Deadline
from ctxdiff_capture.store.extras import output_paths, read_detail
from ctxdiff_capture.store.membership import read_inputs
from ctxdiff_capture.store.numbering import Numbering
from ctxdiff_capture.store.pieces import read_request
from ctxdiff_capture.store.recording import read_outputs, read_recording
from ctxdiff_capture.store.rows import block_of, chunks, read_sessions
from ctxdiff_capture.store.said import read_decisions, read_stages
from ctxdiff_capture.store.troubles import is_of_the_disk
from ctxdiff_capture.store.values import MAX_TEXT_BYTES, Notes
from ctxdiff_capture.store.vetting import Layout, check_readable_version, layout_of

_STEPS_BETWEEN_LOOKS = 50_000
"""Steps of SQLite's machine between two looks at the clock: some 1 ms."""
_STEPS_OF_VETTING = 20_000
"""What the schema of a trace takes many times over; it is parsed before anything else is known."""
_TEXTS_AT_ONCE_BYTES = 16 * 2**20
"""Of several texts; a single one may be longer."""

T = TypeVar("T")
_OPENINGS = 3


class SQLiteReader:
    """Read access to a file. Meets `base.TraceReader`; see `open.open_reader`."""

    def __init__(self, path: Path, *, seconds_per_question: float = 4.0) -> None:
        self._path = path
        self._deadline = Deadline(seconds_per_question)
        self._lock = threading.Lock()
        self._whole: Recording | None = None
        """The session that was loaded last, when all of it was: a search puts hits in its order."""
        for attempt in range(1, _OPENINGS + 1):
            self._opened = open_untouched(path)
            self._connection = self._opened.connection
            try:
                self._connection.set_progress_handler(lambda: True, _STEPS_OF_VETTING)
                self._layout = self._answer(self._vetted)
                self._connection.set_progress_handler(self._deadline.is_over, _STEPS_BETWEEN_LOOKS)
            except StoreBusy:  # a writer ended between opening and looking
                self._opened.close()
                if attempt == _OPENINGS:
                    raise
            except BaseException:
                self._opened.close()
                raise
            else:
                return

    def sessions(self) -> list[Session]:
        """All sessions, in the order in which they were stored."""
        return self._answer(lambda: read_sessions(self._connection, self._layout))

    def load(self, session_id: str, seqs: Sequence[int] | None = None) -> Recording:
        """A session without its texts."""
        return self._answer(lambda: self._recording(session_id, seqs))

    def texts(self, content_hashes: Iterable[str]) -> dict[str, str]:
        """The texts of blocks, by content hash; unknown hashes are absent."""
        hashes = list(content_hashes)
        return self._answer(lambda: self._texts(hashes))

    def find_text(self, session_id: str, query: str) -> list[str]:
        """Content hashes of the session's blocks whose text contains `query`."""
        return self._answer(lambda: self._found(session_id, query))

    def detail(self, call_id: str) -> CallDetail:
        """What is stored about one call beyond its head and blocks."""
        return self._answer(lambda: self._detail(call_id))

    def inputs(self, call_id: str) -> tuple[Placement, ...]:
        """A call's input blocks with their texts, in order."""
        return self._answer(lambda: self._inputs(call_id))

    def outputs(self, call_id: str) -> tuple[Placement, ...]:
        """A call's output blocks with their texts, in order."""
        return self._answer(lambda: self._outputs(call_id))

    def stages(self, call_id: str) -> tuple[Stage, ...]:
        """What the program held at stages before a call, in the order in which it said so."""
        return self._answer(lambda: self._stages(call_id))

    def decisions(self, call_id: str) -> tuple[Decision, ...]:
        """What the program's planner decided before a call, likewise."""
        return self._answer(lambda: self._decisions(call_id))

    def request(self, call_id: str) -> bytes | None:
        """The request body as it was sent, byte for byte; None when it was not kept."""
        return self._answer(lambda: self._request(call_id))

    def losses(self, session_id: str) -> dict[str, int]:
        """Calls that could not be recorded, counted by reason."""
        return self._answer(lambda: self._losses(session_id))

    def close(self) -> None:
        """Release the file and remove the private copy, if there was one."""
        with self._lock:
            self._opened.close()

    def _answer(self, work: Callable[[], T]) -> T:
        """One question at a time, within its time, with SQLite's errors told in our words."""
        with self._lock:
            self._deadline.begin()
            try:
                answer = self._decoded(work)
            except (sqlite3.Error, MemoryError) as error:
                raise self._told(error) from None
            if self._opened.is_stale():
                raise self._changed()
            return answer

    def _decoded(self, work: Callable[[], T]) -> T:
        """`work`, once more with a patient decoder if a text turns out not to be UTF-8."""
        try:
            return work()
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
        # Not from the start: a decoder written in Python costs a fifth of a large session's time.
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        return work()

    def _told(self, error: sqlite3.Error | MemoryError) -> StoreError:
        """SQLite's own words are left out: they may quote what stands in the file."""
        if isinstance(error, sqlite3.ProgrammingError):
            return StoreError(f"{self._path} was closed", remedy="open it again")
        if isinstance(error, MemoryError):
            return NoMemory(
                f"there is no memory left to read {self._path}",
                remedy="close other runs, or ask about another turn",
            )
        if isinstance(error, sqlite3.DataError):
            return TooLarge(
                f"{self._path} holds a value that is larger than is read",
                remedy="ask about another turn or another run",
            )
        if self._opened.is_stale():
            return self._changed()
        if self._deadline.is_over():
            return StoreError(
                f"{self._path} took longer than {self._deadline.seconds:g} s to read",
                remedy="ask about fewer turns; if it is small, the file may be damaged",
            )
        if is_of_the_disk(error):
            return StoreError(f"{self._path} cannot be read ({error})", remedy="check the disk")
        return NotATrace(f"{self._path} is damaged", remedy="ask once more, or record it again")

    def _changed(self) -> StoreBusy:
        return StoreBusy(f"{self._path} was changed since it was opened", remedy="open it again")

    def _vetted(self) -> Layout:
        layout = layout_of(self._connection)
        check_readable_version(self._connection)
        return layout

    def _recording(self, session_id: str, seqs: Sequence[int] | None) -> Recording:
        session = self._session(session_id)
        found = read_recording(self._connection, self._layout, session, seqs, Notes())
        if seqs is None:
            self._whole = found
        return found

    def _found(self, session_id: str, query: str) -> list[str]:
        recording = self._whole
        if recording is None or recording.session.id != session_id:
            recording = self._recording(session_id, None)
        try:
            rows = self._connection.execute(
                "select content_hash from block where instr(text, ?)", (query,)
            )
        except UnicodeEncodeError:  # a lone surrogate: no column can hold it
            return []
        found = {content_hash for (content_hash,) in rows}
        missing = {i for i, b in enumerate(recording.blocks) if b.content_hash in found}
        order: dict[int, None] = {}
        for members in chain.from_iterable(zip(recording.inputs, recording.outputs, strict=True)):
            if not missing:
                break
            if not missing.isdisjoint(members):
                order |= dict.fromkeys(index for index in members if index in missing)
                missing.difference_update(members)
        return [recording.blocks[index].content_hash for index in order]

    def _detail(self, call_id: str) -> CallDetail:
        self._check_call(call_id)
        return read_detail(self._connection, call_id, self._layout.side_tables)

    def _inputs(self, call_id: str) -> tuple[Placement, ...]:
        detail = self._detail(call_id)
        numbering = Numbering()
        (members,) = read_inputs(self._connection, [call_id], numbering, Notes())
        paths = [detail.paths.get(p, "") for p in members.positions]
        ids = [detail.tool_call_ids.get(p) for p in members.positions]
        return self._placements(numbering, members.blocks, members.labels, paths, ids)

    def _outputs(self, call_id: str) -> tuple[Placement, ...]:
        detail = self._detail(call_id)
        if "ctx_output" not in self._layout.side_tables:
            return ()
        numbering = Numbering()
        blocks, labels = read_outputs(self._connection, call_id, numbering)
        known = output_paths(self._connection, call_id, self._layout.side_tables)
        paths = [*known, *[""] * len(blocks)][: len(blocks)]
        ids = [detail.output_tool_call_ids.get(p) for p in range(len(blocks))]
        return self._placements(numbering, blocks, labels, paths, ids)

    def _stages(self, call_id: str) -> tuple[Stage, ...]:
        sent = self._inputs(call_id)
        if "ctx_snapshot" not in self._layout.side_tables:
            return ()
        return read_stages(self._connection, call_id, sent, self._blocks)

    def _decisions(self, call_id: str) -> tuple[Decision, ...]:
        self._check_call(call_id)
        if "ctx_decision" not in self._layout.side_tables:
            return ()
        return read_decisions(self._connection, call_id)

    def _request(self, call_id: str) -> bytes | None:
        self._check_call(call_id)
        if not {"ctx_request", "ctx_piece", "ctx_call"} <= self._layout.side_tables:
            return None
        body = read_request(self._connection, call_id)
        row = self._connection.execute(
            "select request_digest from ctx_call where call_id = ?", (call_id,)
        ).fetchone()
        if body is not None and row and row[0] not in (None, sha256(body).hexdigest()):
            raise NotATrace(
                "the stored request of this call is not the one that was sent",
                remedy="its blocks can still be read",
            )
        return body

    def _losses(self, session_id: str) -> dict[str, int]:
        self._session(session_id)
        if "ctx_loss" not in self._layout.side_tables:
            return {}
        rows = self._connection.execute(
            "select reason, count from ctx_loss where run_id = ? order by reason", (session_id,)
        )
        return {reason: n for reason, n in rows if isinstance(reason, str) and type(n) is int}

    def _session(self, session_id: str) -> Session:
        for session in read_sessions(self._connection, self._layout, session_id):
            return session
        raise TraceNotFound(
            f"no session {session_id!r} in {self._path}",
            remedy="list the sessions to see their ids",
        )

    def _check_call(self, call_id: str) -> None:
        try:
            row = self._connection.execute("select 1 from call where id = ?", (call_id,)).fetchone()
        except UnicodeEncodeError:
            row = None
        if row is None:
            raise TraceNotFound(
                f"no call {call_id!r} in {self._path}", remedy="load a session to see its calls"
            )

    def _texts(self, content_hashes: Sequence[str]) -> dict[str, str]:
        """As `texts`."""
        most = MAX_TEXT_BYTES if len(content_hashes) == 1 else _TEXTS_AT_ONCE_BYTES
        try:
            blocks = self._blocks(content_hashes, most)
        except TooLarge:
            blocks = self._blocks(self._first_that_fit(content_hashes))
        return {content_hash: block.text for content_hash, block in blocks.items()}

    def _first_that_fit(self, content_hashes: Iterable[str]) -> list[str]:
        """The first hashes, at least one, whose texts together are not too long."""
        hashes = list(dict.fromkeys(content_hashes))
        sizes: dict[str, int] = {}
        for marks, chunk in chunks(hashes):
            query = (
                "select content_hash, length(cast(text as blob)) from block"  # noqa: S608 - only question marks
                f" where content_hash in ({marks})"
            )
            sizes |= dict(self._connection.execute(query, chunk))
        known = [content_hash for content_hash in hashes if sizes.get(content_hash) is not None]
        total = accumulate(sizes[content_hash] for content_hash in known)
        fitting = sum(1 for _ in takewhile(lambda size: size <= _TEXTS_AT_ONCE_BYTES, total))
        return known[: max(1, fitting)]

    def _blocks(
        self, content_hashes: Iterable[str], most_chars: int = MAX_TEXT_BYTES
    ) -> dict[str, Block]:
        """Whole blocks by hash; unknown ones, and any with too long a text, are absent.

        Raises:
            TooLarge: their texts together have more than `most_chars`.
        """
        blocks: dict[str, Block] = {}
        left = most_chars
        for marks, chunk in chunks(content_hashes):
            query = (
                "select content_hash, role, kind, token_count, token_method, text from block"  # noqa: S608 - only question marks
                f" where content_hash in ({marks})"
                f" and length(cast(text as blob)) <= {MAX_TEXT_BYTES}"
            )
            for row in self._connection.execute(query, chunk):
                block = block_of(row, Notes())
                blocks[block.content_hash] = block
                left -= len(block.text)
                if left < 0:
                    raise TooLarge(
                        "the texts of these blocks are too long", remedy="ask for one of them"
                    )
        return blocks

    def _placements(
        self,
        numbering: Numbering,
        blocks: array[int],
        labels: array[int],
        paths: Sequence[str],
        ids: Sequence[str | None],
    ) -> tuple[Placement, ...]:
        """Blocks at their places; those without a stored block are left out."""
        stored = self._blocks(numbering.blocks)
        hashes, names = list(numbering.blocks), list(numbering.labels)
        return tuple(
            Placement(
                stored[hashes[block]],
                names[label][0],
                "tagged" if names[label][1] == "tagged" else "heuristic",
                path,
                tool_call_id,
            )
            for block, label, path, tool_call_id in zip(blocks, labels, paths, ids, strict=True)
            if hashes[block] in stored
        )
