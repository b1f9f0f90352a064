"""Findings as answers carry them: the trace's words are captured, blocks are references."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ctxdiff_analyzers.findings import Certainty, Code, Finding, NextCall, Severity
from ctxdiff_analyzers.lineage import predecessor
from ctxdiff_capture.model import CallHead, Decision

from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.places import place
from ctxdiff_mcp.answers.refs import BlockRef
from ctxdiff_mcp.gate.captured import Captured, Name

_MOST_DECISIONS = 3
_LONGEST_QUOTE = 80
"""Characters of each part of a decision."""
_TELLING_CHARS = 8
"""A shorter piece of text may stand in any block."""


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding of `ctxdiff_analyzers.findings`, field by field."""

    code: Code
    cause: str | None
    turn: int
    since: int | None
    agent: Name | None
    severity: Severity
    certainty: Certainty
    blocks: tuple[BlockRef, ...]
    """The blocks of the evidence's content hashes."""
    positions: tuple[int, ...]
    first_difference: int | None
    names: tuple[Captured, ...]
    excerpts: tuple[Captured, ...]
    counts: tuple[tuple[str, int], ...]
    path: str | None
    """Place in the request in words of the protocol alone, see `answers.places`."""
    reusable: tuple[str, ...]
    """Places likewise: what the provider's cache can still read."""
    tokens: int | None
    tokens_method: Literal["exact", "estimate"] | None
    why: str | None
    next: NextCall | None
    _origins: Callable[[], tuple[Captured, ...]] = field(repr=False, compare=False)

    def origins(self) -> tuple[Captured, ...]:
        """The texts that names and excerpts were cut from, whole."""
        return self._origins()


def finding_rows(run: OpenRun, findings: Iterable[Finding]) -> tuple[FindingRow, ...]:
    """Findings about `run`, in the given order."""
    return tuple(_row(run, finding) for finding in findings)


def _row(run: OpenRun, finding: Finding) -> FindingRow:
    evidence = finding.evidence
    decided = _decided(run, finding)
    whole = [word for decision in decided for word in _parts(decision)]
    return FindingRow(
        code=finding.code,
        cause=finding.cause,
        turn=finding.turn,
        since=finding.since,
        agent=run.agent(finding.agent),
        severity=finding.severity,
        certainty=finding.certainty,
        blocks=run.blocks(evidence.content_hashes),
        positions=evidence.positions,
        first_difference=evidence.first_difference,
        names=tuple(Captured(name) for name in evidence.names),
        excerpts=tuple(Captured(text) for text in (*evidence.excerpts, *map(_quoted, decided))),
        counts=evidence.counts,
        path=place(evidence.path),
        reusable=tuple(filter(None, map(place, evidence.reusable))),
        tokens=finding.tokens,
        tokens_method=finding.tokens_method,
        why=finding.why,
        next=finding.next,
        _origins=lambda: (*_origins(run, finding), *map(Captured, whole)),
    )


def _decided(run: OpenRun, finding: Finding) -> list[Decision]:
    """What the program's own planner said of the blocks that an eviction took away."""
    turn = run.timeline.turn(finding.turn) if finding.code == "context_evicted" else None
    if turn is None:
        return []
    gone = [run.stored_hash(block) for block in run.blocks(finding.evidence.content_hashes)]
    texts = [run.text(digest) for digest in gone]
    said = [
        decision
        for decision in run.decisions(turn.call.id)
        if _is_about(decision.candidate, texts, finding.evidence.names)
    ]
    return said[:_MOST_DECISIONS]


def _is_about(candidate: str, texts: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a candidate is one of these blocks: by its text, a piece of it, or its label."""
    if candidate in texts or candidate in names:
        return True
    return len(candidate) >= _TELLING_CHARS and any(candidate in text for text in texts)


def _quoted(decision: Decision) -> str:
    """The decision in the program's words, cut short."""
    return " · ".join(part[:_LONGEST_QUOTE] for part in _parts(decision))


def _parts(decision: Decision) -> list[str]:
    parts = (decision.candidate, decision.disposition, decision.reason)
    return [part for part in parts if part]


def _origins(run: OpenRun, finding: Finding) -> tuple[Captured, ...]:
    """The blocks of the evidence, and what the turn's and the previous turn's calls say."""
    shown = [run.stored_hash(block) for block in run.blocks(finding.evidence.content_hashes)]
    texts = [run.text(digest) for digest in shown]
    this = run.timeline.turn(finding.turn)
    earlier = None if this is None else predecessor(run.timeline, this)
    since = None if finding.since is None else run.timeline.turn(finding.since)
    for turn in (this, earlier, since):
        if turn is not None:
            texts += _words(turn.call)
            answer = turn.outputs[-1:]
            texts += [run.text(run.recording.blocks[at].content_hash) for at in answer]
    return tuple(Captured(text) for text in texts)


def _words(call: CallHead) -> list[str]:
    words = [call.error, call.error_message, call.refusal, call.finish_reason, call.response_model]
    return [word for word in words if word] + [str(value) for value in call.params.values()]
