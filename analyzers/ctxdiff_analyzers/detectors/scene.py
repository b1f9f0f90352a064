"""What a detector looks at, and how it words what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ctxdiff_capture.model import BlockHead

from ctxdiff_analyzers.counts import EXACT
from ctxdiff_analyzers.edits import Edit
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.matching import Matching
from ctxdiff_analyzers.paths import path_of
from ctxdiff_analyzers.roles import PROMPT_ROLES as PROMPT_ROLES  # noqa: PLC0414 - for detectors
from ctxdiff_analyzers.roles import is_conversation as is_conversation  # noqa: PLC0414 - for detectors
from ctxdiff_analyzers.roles import is_prompt as is_prompt  # noqa: PLC0414 - for detectors
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.window import Fill

EXCERPT = 160
"""Code points of recorded text in an excerpt, at most."""
LISTED = 10
"""Blocks or names that one finding lists, at most."""
FRESH = 2
"""Messages up to which a turn whose successor shares none of them is a question of its own."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One turn with what it is compared to."""

    whole: Timeline
    """The session, all agents."""
    mine: Timeline
    """The turns of this turn's agent."""
    turn: Turn
    previous: Turn | None
    """The same agent's turn before."""
    matching: Matching
    """From `previous`; everything is new where there is none."""
    window: Fill | None

    def old_block(self, i: int) -> BlockHead:
        """The block at index `i` of the previous turn."""
        assert self.previous is not None
        return self.mine.blocks[self.previous.inputs[i]]

    def new_block(self, j: int) -> BlockHead:
        """The block at index `j` of this turn."""
        return self.mine.blocks[self.turn.inputs[j]]

    def text(self, block: BlockHead) -> str:
        """The block's text. Captured text."""
        return self.mine.text_of(block.content_hash)

    def to_diff(self) -> NextCall | None:
        """The question that shows the whole change since the previous turn."""
        if self.previous is None:
            return None
        return NextCall("ctxdiff_diff", (("turn_a", self.previous.seq), ("turn_b", self.turn.seq)))

    def kept_conversation(self) -> list[int]:
        """Old indices of what was said in the previous turn and still is, edited or not."""
        edited = () if self.starts_over() else self.matching.edited
        pairs = (*self.matching.same, *edited)
        return [i for i, _ in pairs if is_conversation(self.old_block(i))]

    def starts_over(self) -> bool:
        """True for a conversation's first message where nothing said before is said again.

        However much it resembles an earlier first message, it is another one and no edit of it.
        """
        said = [block for block in self._new_blocks() if is_conversation(block)]
        return (
            self.previous is not None
            and not any(block.role == "assistant" for block in said)
            and not any(is_conversation(self.old_block(i)) for i, _ in self.matching.same)
        )

    def _new_blocks(self) -> list[BlockHead]:
        return [self.mine.blocks[block] for block in self.turn.inputs]

    def sends_back(self) -> bool:
        """True when something that was answered to the previous turn stands in this one."""
        answered = () if self.previous is None else self.previous.outputs
        return not frozenset(answered).isdisjoint(self.turn.inputs)

    def stands_alone(self) -> bool:
        """True for an agent whose calls have no history.

        Nothing said before is said again, and what was answered is not sent back.
        """
        if self.previous is None or self.kept_conversation():
            return self.previous is None
        if self.sends_back():
            return False
        said = [i for i in range(len(self.previous.inputs)) if is_conversation(self.old_block(i))]
        return len(said) <= FRESH

    def finding(self, code: Any, severity: Any, **fields: Any) -> Finding:
        """A measured finding about this turn, unless `fields` say otherwise."""
        known = {"turn": self.turn.seq, "agent": self.turn.agent, "certainty": "measured"}
        return Finding(code=code, severity=severity, **(known | fields))

    def about(
        self,
        code: Any,
        severity: Any,
        blocks: Sequence[BlockHead],
        positions: Sequence[int],
        *,
        names: Sequence[str] = (),
        counts: tuple[tuple[str, int], ...] | None = None,
        path: str | None = None,
        **fields: Any,
    ) -> Finding:
        """A `finding` that lists blocks, counts their tokens and points to the whole change."""
        tokens, method = tokens_of(blocks)
        told = {
            "evidence": Evidence(
                content_hashes=tuple(block.content_hash for block in blocks[:LISTED]),
                positions=tuple(positions[:LISTED]),
                names=tuple(names[:LISTED]),
                excerpts=tuple(excerpt(self.text(block)) for block in blocks[:3]),
                counts=counts or (("blocks", len(blocks)),),
                path=path,
            ),
            "tokens": tokens,
            "tokens_method": method,
            "next": self.to_diff(),
        }
        return self.finding(code, severity, **(told | fields))

    def edited(
        self,
        code: Any,
        severity: Any,
        i: int,
        j: int,
        *,
        found: Edit,
        cause: str | None,
        path: str | None = None,
    ) -> Finding:
        """A `finding` about the old block at `i` that became the new one at `j`."""
        old, new = self.old_block(i), self.new_block(j)
        tokens, method = tokens_of([new])
        return self.finding(
            code,
            severity,
            cause=cause,
            evidence=Evidence(
                content_hashes=(old.content_hash, new.content_hash),
                positions=(self.turn.positions[j],),
                first_difference=found.first_difference,
                excerpts=(found.old, found.new),
                path=path or path_of(self.mine, self.turn, j),
            ),
            tokens=tokens,
            tokens_method=method,
            next=self.to_diff(),
        )


Detector: TypeAlias = Callable[[Scene], Iterable[Finding]]


def excerpt(text: str, start: int = 0) -> str:
    """A short piece of recorded text from `start` on. Captured text."""
    piece = text[start : start + EXCERPT]
    return piece if start + EXCERPT >= len(text) else f"{piece}…"


def last_words(text: str) -> str:
    """The end of a recorded text. Captured text."""
    return text if len(text) <= EXCERPT else f"…{text[-EXCERPT:]}"


def tokens_of(blocks: Sequence[BlockHead]) -> tuple[int, Literal["exact", "estimate"]]:
    """Sum of token counts, and how good it is."""
    exact = all(block.token_method == EXACT for block in blocks)
    return sum(block.token_count for block in blocks), "exact" if exact else "estimate"
