"""One session ready to be asked: its timeline, and handles for what it holds."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeVar

from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_capture.decoders.usage import usage_of
from ctxdiff_capture.errors import NotATrace
from ctxdiff_capture.model import (
    CallDetail,
    Decision,
    Placement,
    Recording,
    Stage,
    TokenMethod,
)
from ctxdiff_capture.store.base import TraceReader

from ctxdiff_mcp.answers.refs import KINDS, ROLES, BlockRef, RunRef, digest_or_nothing, known, names
from ctxdiff_mcp.gate.captured import Captured, Name

_Answer = TypeVar("_Answer")
EXACT: TokenMethod = "tiktoken"
MAX_TEXT_MEMORY = 72_000_000
"""Texts kept per run, in bytes of memory: the longest that is read, and short ones beside it."""
BATCH_BLOCKS, BATCH_TOKENS = 256, 50_000
"""Texts fetched at once, at most."""


class OpenRun:
    """A session, its timeline and its texts. Safe to ask from several threads."""

    def __init__(self, ref: RunRef, reader: TraceReader, recording: Recording) -> None:
        self.ref = ref
        self.recording = recording
        self.lock = threading.RLock()
        """Held by whoever asks an analyzer: a timeline remembers what it worked out."""
        self._reader = reader
        self._texts: dict[str, str] = {}
        self._text_memory = 0
        # A run may be dropped while another thread still asks it: the last reference closes it.
        self._release = weakref.finalize(self, reader.close)

    @cached_property
    def timeline(self) -> Timeline:
        """All turns of the session."""
        recording = self.recording
        turns = tuple(
            Turn(
                call=call,
                inputs=recording.inputs[at],
                labels=recording.labels[at],
                positions=recording.positions[at],
                outputs=recording.outputs[at],
                usage=usage_of(call.usage, call.provider or "", call.surface),
            )
            for at, call in enumerate(recording.calls)
        )
        return Timeline(
            turns,
            recording.blocks,
            recording.label_table,
            self.text,
            recording.has_outputs,
            self,
        )

    @cached_property
    def agents(self) -> dict[str | None, Name]:
        """The named agents, in order of first appearance."""
        # From the session's row, not its calls, of which a question may have read but two.
        return names(self.recording.session.agents, "a")

    @cached_property
    def labels(self) -> dict[str | None, Name]:
        """The labels, in the order in which the file lists them."""
        # Most calls share their labels with the one before, often the very array.
        rows = {id(row): row for row in self.recording.labels}
        used = chain.from_iterable(dict.fromkeys(row) for row in rows.values())
        in_order = dict.fromkeys(used)
        return names((self.recording.label_table[at][0] for at in in_order), "L")

    def agent(self, agent: str | None) -> Name | None:
        """The name of an agent of this run; None for None."""
        return self.agents.get(agent)

    def label(self, label: str) -> Name:
        """The name of a label of this run."""
        return self.labels.get(label) or Name(Captured(label), "L0")

    def block(self, content_hash: str) -> BlockRef:
        """A block by the hash that the file gives it.

        Raises:
            KeyError: the run has no such block.
        """
        at = self._index[content_hash]
        head = self.recording.blocks[at]
        return BlockRef(
            content_hash=digest_or_nothing(head.content_hash),
            ordinal=self._ordinals.get(at, at + 1),
            role=known(head.role, ROLES),
            kind=known(head.kind, KINDS),
            tokens=head.token_count,
            exact=head.token_method == EXACT,
        )

    def blocks(self, content_hashes: Iterable[str]) -> tuple[BlockRef, ...]:
        """The blocks with these hashes; unknown ones are left out."""
        return tuple(self.block(digest) for digest in content_hashes if digest in self._index)

    def block_at(self, index: int) -> BlockRef:
        """A block by its index in the recording."""
        return self.block(self.recording.blocks[index].content_hash)

    def stored_hash(self, ref: BlockRef) -> str:
        """The hash under which the file holds the block."""
        return ref.content_hash or self.recording.blocks[self._by_ordinal[ref.ordinal]].content_hash

    def index_of(self, content_hash: str) -> int:
        """The index of a block in the recording.

        Raises:
            KeyError: the run has no such block.
        """
        return self._index[content_hash]

    def starting_with(self, prefix: str) -> list[BlockRef]:
        """Blocks whose hash starts with `prefix`."""
        return [self.block(digest) for digest in self._index if digest.startswith(prefix)]

    def with_ordinal(self, ordinal: int) -> BlockRef | None:
        """The block that first appeared as number `ordinal`."""
        at = self._by_ordinal.get(ordinal)
        return None if at is None else self.block_at(at)

    def text(self, content_hash: str) -> str:
        """The text of a block.

        Raises:
            KeyError: the run has no such block.
        """
        with self.lock:
            if content_hash not in self._texts:
                wanted = self._with_neighbours(self._index[content_hash])
                found = self._ask(lambda reader: reader.texts(wanted))
                self._keep(found)
                return found[content_hash]
            return self._texts[content_hash]

    def text_of(self, ref: BlockRef) -> Captured:
        """The text of a block, for the gate."""
        return Captured(self.text(self.stored_hash(ref)))

    def find_text(self, query: str) -> list[str]:
        """Hashes of the blocks whose text contains `query`, by first appearance."""
        session = self.recording.session.id
        return self._ask(lambda reader: reader.find_text(session, query))

    def detail(self, call_id: str) -> CallDetail:
        """What is stored about one call beyond its head and blocks."""
        return self._ask(lambda reader: reader.detail(call_id))

    def request(self, call_id: str) -> bytes | None:
        """The call's request body, byte for byte; None where it was not kept, or is damaged."""
        try:
            return self._ask(lambda reader: reader.request(call_id))
        except NotATrace:
            return None

    def input_placements(self, call_id: str) -> Sequence[Placement]:
        """A call's input blocks with texts."""
        return self._ask(lambda reader: reader.inputs(call_id))

    def stages(self, call_id: str) -> Sequence[Stage]:
        """What the program held at stages before a call."""
        return self._ask(lambda reader: reader.stages(call_id))

    def said_before(self, call_id: str) -> tuple[Sequence[Stage], Sequence[Placement]]:
        """The stages before a call, and the call's input blocks where there are any."""
        held = self.stages(call_id)
        return held, self.input_placements(call_id) if held else ()

    def decisions(self, call_id: str) -> Sequence[Decision]:
        """What the program's planner decided before a call."""
        return self._ask(lambda reader: reader.decisions(call_id))

    def close(self) -> None:
        """Release the file. Questions after that fail."""
        with self.lock:
            self._release()

    def _ask(self, question: Callable[[TraceReader], _Answer]) -> _Answer:
        with self.lock:
            return question(self._reader)

    def _with_neighbours(self, at: int) -> list[str]:
        """The block's hash and those of the next blocks: who asks for one often asks on."""
        wanted: list[str] = []
        tokens = 0
        for block in self.recording.blocks[at : at + BATCH_BLOCKS]:
            tokens += block.token_count
            if wanted and (tokens > BATCH_TOKENS or block.content_hash in self._texts):
                break
            wanted.append(block.content_hash)
        return wanted

    def _keep(self, found: dict[str, str]) -> None:
        size = sum(map(sys.getsizeof, found.values()))
        if self._text_memory + size > MAX_TEXT_MEMORY:
            self._texts.clear()
            self._text_memory = 0
        self._texts.update(found)
        self._text_memory += size

    @cached_property
    def _index(self) -> dict[str, int]:
        return {block.content_hash: at for at, block in enumerate(self.recording.blocks)}

    @cached_property
    def _ordinals(self) -> dict[int, int]:
        """Block index to ordinal by first appearance: it must not follow from text or hash."""
        rows = zip(self.recording.inputs, self.recording.outputs, strict=True)
        met = dict.fromkeys(chain.from_iterable(chain.from_iterable(rows)))
        return {at: n for n, at in enumerate(met, 1)}

    @cached_property
    def _by_ordinal(self) -> dict[int, int]:
        return {ordinal: at for at, ordinal in self._ordinals.items()}
