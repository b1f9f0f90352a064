"""Runs without their words: what redacted answers are made from.

Every text, name and parameter of a recording is replaced by an ordinal before anything looks at
it. Whatever an analyzer concludes then follows from the structure alone, and two recordings that
differ in their words give the same answers, by construction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from ctxdiff_capture.decoders.usage import counters
from ctxdiff_capture.model import (
    Block,
    BlockHead,
    CallDetail,
    CallHead,
    Decision,
    Placement,
    Recording,
    Session,
    Stage,
)
from ctxdiff_capture.store.base import TraceReader

from ctxdiff_mcp.answers.buckets import bucketed
from ctxdiff_mcp.answers.open_run import EXACT, OpenRun
from ctxdiff_mcp.answers.refs import KINDS, OTHER, ROLES, TOOL_RESULT, known, moment, two_digits
from ctxdiff_mcp.answers.source import Listed, Source

WORD = "withheld"
"""Stands where the recording has a word."""
TAGGED, HEURISTIC = "tagged", "heuristic"
"""Where a label comes from; what a file says otherwise is a word."""


class RedactedSource(Source):
    """The runs of a source, without their words; with `rounds_counts`, two digits of counts."""

    def __init__(self, root: Path, *, rounds_counts: bool = False) -> None:
        super().__init__(root)
        self._rounds_counts = rounds_counts
        self._redacted: dict[OpenRun, OpenRun] = {}

    def open(self, run: Listed, only: Sequence[int] | None = None) -> OpenRun:
        """The run ready to be asked; ordinals need it whole.

        Raises:
            StoreError: the file went away or cannot be read.
        """
        del only
        with self._lock:
            opened = super().open(run)
            found = self._redacted.get(opened)
            if found is None:
                found = _Redacted(opened, rounds_counts=self._rounds_counts)
                kept = {one for _, one in self._open.values()}
                self._redacted = {o: r for o, r in self._redacted.items() if o in kept}
                self._redacted[opened] = found
            return found

    def _forget_runs(self) -> None:
        self._redacted.clear()
        super()._forget_runs()

    def close(self) -> None:
        """Release every file."""
        with self._lock:
            self._redacted.clear()
            super().close()


class _Redacted(OpenRun):
    """A run without its words."""

    def __init__(self, whole: OpenRun, *, rounds_counts: bool) -> None:
        recording = structure_of(whole)
        if rounds_counts:
            recording = bucketed(recording)
        super().__init__(whole.ref, cast("TraceReader", _NoTexts()), recording)
        self._whole = whole
        self._rounds_counts = rounds_counts

    def said_before(self, call_id: str) -> tuple[Sequence[Stage], Sequence[Placement]]:
        """The structure of what was held: which blocks, by ordinal, of which size.

        Analyzers get nothing of it by `stages`: what a program held is words.
        """
        whole = self._whole
        held, sent = whole.said_before(whole.recording.calls[int(call_id)].id)
        ordinals: dict[str, int] = {}

        def stand_in(placement: Placement) -> Placement:
            block = placement.block
            ref = next(iter(whole.blocks([block.content_hash])), None)
            # What no turn has sent comes after all that is in the run.
            unsent = len(whole.recording.blocks) + 1 + len(ordinals)
            ordinal = ref.ordinal if ref else ordinals.setdefault(block.content_hash, unsent)
            count = two_digits(block.token_count) if self._rounds_counts else block.token_count
            spelled = _stand_in(ordinal)
            withheld = Block(
                spelled,
                known(block.role, ROLES),
                known(block.kind, KINDS),
                _NoTexts().texts([spelled])[spelled],
                count,
                EXACT,
            )
            return Placement(withheld, whole.label(placement.label).handle, placement.label_source)

        stages = tuple(
            Stage(_stage(stage.name), "", tuple(map(stand_in, stage.inputs))) for stage in held
        )
        return stages, tuple(map(stand_in, sent))


def structure_of(run: OpenRun) -> Recording:
    """The recording with an ordinal, or a fixed word, in place of every word."""
    recording = run.recording
    ordinals = [run.block_at(at).ordinal for at in range(len(recording.blocks))]
    labels = [
        (run.label(label).handle, source if source == TAGGED else HEURISTIC)
        for label, source in recording.label_table
    ]
    agents = tuple(name.handle for name in run.agents.values())
    return replace(
        recording,
        session=Session(
            id=WORD,
            project=WORD,
            started_at=_time(recording.session.started_at) or WORD,
            provider=WORD,
            models=(),
            writer=WORD,
            schema_version=0,
            calls=recording.session.calls,
            agents=agents,
        ),
        calls=tuple(_call(run, call, number) for number, call in enumerate(recording.calls)),
        blocks=tuple(
            _block(head, ordinal) for head, ordinal in zip(recording.blocks, ordinals, strict=True)
        ),
        label_table=tuple(labels),
        notes=(),
    )


def _call(run: OpenRun, call: CallHead, number: int) -> CallHead:
    agent = run.agent(call.agent)
    return replace(
        call,
        id=str(number),
        provider=WORD,
        agent=None if agent is None else agent.handle,
        step=_word(call.step),
        params={},
        usage=counters(call.usage or {}) or None,
        error=_word(call.error),
        surface=None,
        started_at=_time(call.started_at),
        finish_reason=_word(call.finish_reason),
        response_id=None,
        response_model=WORD,
        error_message=None,
        request_digest=None,
        refusal=None,
    )


def _word(word: str | None) -> str | None:
    return None if word is None else WORD


def _stage(name: str) -> str:
    """Whether a tool's raw result was held or a prompt: more of a stage's name is a word."""
    return TOOL_RESULT if name == TOOL_RESULT else OTHER


def _time(text: str | None) -> str | None:
    """A point in time in one spelling; None for what is none."""
    found = moment(text)
    return None if found is None else found.isoformat()


def _block(head: BlockHead, ordinal: int) -> BlockHead:
    return replace(
        head,
        content_hash=_stand_in(ordinal),
        role=known(head.role, ROLES),
        kind=known(head.kind, KINDS),
        token_method=EXACT,
        is_empty=False,
        opens_json=False,
    )


def _stand_in(ordinal: int) -> str:
    """A hash that orders blocks by first appearance."""
    return f"{ordinal:064x}"


class _NoTexts:
    """A reader of stand-ins. What else a reader can do is missing: a question for it fails."""

    def texts(self, content_hashes: Iterable[str]) -> dict[str, str]:
        """Texts of one length that are equal where the hashes are, and otherwise unlike."""
        return {one: hashlib.sha256(one.encode()).hexdigest() for one in content_hashes}

    def detail(self, call_id: str) -> CallDetail:
        """Nothing: markers, paths and ids of a call are words too."""
        del call_id
        return CallDetail()

    def request(self, call_id: str) -> None:
        """None: a request is all words."""
        del call_id

    def stages(self, call_id: str) -> tuple[Stage, ...]:
        """None: what a program held is words."""
        del call_id
        return ()

    def decisions(self, call_id: str) -> tuple[Decision, ...]:
        """None: a planner's decisions are words, and withheld like all others."""
        del call_id
        return ()

    def close(self) -> None:
        """There is nothing to release."""
