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
from weakref import WeakKeyDictionary

from ctxdiff_capture.model import BlockHead, CallDetail, CallHead, Decision, Recording, Stage
from ctxdiff_capture.store.base import TraceReader

from ctxdiff_mcp.answers.buckets import bucketed
from ctxdiff_mcp.answers.open_run import EXACT, OpenRun
from ctxdiff_mcp.answers.refs import KINDS, ROLES, known
from ctxdiff_mcp.answers.source import Listed, Source

WORD = "withheld"
"""Stands where the recording has a word."""


class RedactedSource(Source):
    """The runs of a source, without their words; with `rounds_counts`, two digits of counts."""

    def __init__(self, root: Path, *, rounds_counts: bool = False) -> None:
        super().__init__(root)
        self._rounds_counts = rounds_counts
        self._redacted: WeakKeyDictionary[OpenRun, OpenRun] = WeakKeyDictionary()

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
                recording = structure_of(opened)
                if self._rounds_counts:
                    recording = bucketed(recording)
                found = self._redacted[opened] = OpenRun(
                    opened.ref, cast("TraceReader", _NoTexts()), recording
                )
            return found


def structure_of(run: OpenRun) -> Recording:
    """The recording with an ordinal, or a fixed word, in place of every word."""
    recording = run.recording
    ordinals = [run.block_at(at).ordinal for at in range(len(recording.blocks))]
    labels = [(run.label(label).handle, source) for label, source in recording.label_table]
    agents = tuple(name.handle for name in run.agents.values())
    return replace(
        recording,
        session=replace(recording.session, project=WORD, provider=WORD, models=(), agents=agents),
        calls=tuple(_call(run, call) for call in recording.calls),
        blocks=tuple(
            _block(head, ordinal) for head, ordinal in zip(recording.blocks, ordinals, strict=True)
        ),
        label_table=tuple(labels),
    )


def _call(run: OpenRun, call: CallHead) -> CallHead:
    agent = run.agent(call.agent)
    return replace(
        call,
        provider=WORD,
        agent=None if agent is None else agent.handle,
        step=_word(call.step),
        params={},
        error=_word(call.error),
        surface=None,
        finish_reason=_word(call.finish_reason),
        response_id=None,
        response_model=WORD,
        error_message=None,
        request_digest=None,
        refusal=None,
    )


def _word(word: str | None) -> str | None:
    return None if word is None else WORD


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
