"""The parts of a call, each as the steps of a redaction leave it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, TypeAlias

from ctxdiff_capture import guard
from ctxdiff_capture.errors import StoreBusy, StoreError, StoreFull
from ctxdiff_capture.guard import log
from ctxdiff_capture.model import (
    Attempt,
    Block,
    Call,
    CallError,
    Decision,
    Json,
    Placement,
    Stage,
    Tag,
)

Hook: TypeAlias = Callable[[Block], "Block | None"]

WITHHELD = "[redacted]"
FAILED = "[redaction-error]"

# A name that the accounting needs, and that a program chooses from a public list.
_KEPT_PARAMS = frozenset({"model"})
_MOST_TOKENS = 2**48


class Rules(Protocol):
    """What a redaction does to one text."""

    @property
    def steps(self) -> tuple[Hook | str, ...]:
        """In the order in which they are done; a text stands for a look for credentials."""

    def masked(self, text: str) -> str:
        """The text with credentials as tags."""

    def masked_block(self, block: Block) -> Block:
        """The block with credentials as tags."""

    def identified(self, block: Block, original: Block, *, by_hook: bool) -> Block:
        """A changed block under a hash of its own."""


class Parts:
    """One redaction applied to one call; not used again."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._masks = any(isinstance(step, str) for step in rules.steps)
        self._has_told = False
        self._counts: dict[str, int] = {}
        self._names: dict[str, str] = {}

    def of(self, call: Call) -> Call:
        """The call, every part of it redacted, its request's bytes apart.

        Names (agent, step, labels, keys, ids) are shown to no hook; credentials are found in them.
        """
        seen = replace(
            call,
            inputs=tuple(map(self._placement, call.inputs)),
            outputs=tuple(map(self._placement, call.outputs)),
            params=self._params(call.params),
            usage=None if call.usage is None else self._json(call.usage, None),
            tags=tuple(map(self._tag, call.tags)),
            stages=tuple(map(self._stage, call.stages)),
            decisions=tuple(map(self._decision, call.decisions)),
            error=self._error(call.error),
            attempts=tuple(map(self._attempt, call.attempts)),
            metadata=self._json(call.metadata, "metadata"),
            agent=self._name_or_none(call.agent),
            step=self._name_or_none(call.step),
            endpoint=self._name(call.endpoint),
            finish_reason=self._name_or_none(call.finish_reason),
            response_id=self._name_or_none(call.response_id),
            response_model=self._name_or_none(call.response_model),
            request_id=self._name_or_none(call.request_id),
        )
        if self._counts:
            seen = replace(seen, metadata={**seen.metadata, "redaction": self._counts})
        return seen

    def _placement(self, placement: Placement) -> Placement:
        block = self._block(placement.block)
        label = self._name(placement.label)
        if block is placement.block and label == placement.label:
            return placement
        return replace(placement, block=block, label=label)

    def _params(self, params: Mapping[str, Json]) -> Mapping[str, Json]:
        return {
            self._name(key): self._json(value, None if key in _KEPT_PARAMS else "params")
            for key, value in params.items()
        }

    def _json(self, value: Json, role: str | None) -> Json:
        """A value with each text redacted; shown to the hook under `role`, unless that is None."""
        try:
            return self._each(value, role)
        except RecursionError:
            self._count("failed")
            return {"value": FAILED}

    def _each(self, value: Json, role: str | None) -> Json:
        if isinstance(value, str):
            return self._name(value) if role is None else self._text(value, role)
        if isinstance(value, Mapping):
            return {self._name(key): self._each(item, role) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._each(item, role) for item in value]
        return value

    def _tag(self, tag: Tag) -> Tag:
        return replace(tag, label=self._name(tag.label), text=self._text(tag.text, "tag"))

    def _stage(self, stage: Stage) -> Stage:
        return replace(
            stage,
            name=self._name(stage.name),
            inputs=tuple(map(self._placement, stage.inputs)),
        )

    def _decision(self, decision: Decision) -> Decision:
        reason = decision.reason
        return replace(
            decision,
            candidate=self._text(decision.candidate, "decision"),
            disposition=self._name(decision.disposition),
            reason=None if reason is None else self._text(reason, "decision"),
        )

    def _error(self, error: CallError | None) -> CallError | None:
        if error is None:
            return None
        message = None if error.message is None else self._text(error.message, "error")
        return replace(error, type=self._name(error.type), message=message)

    def _attempt(self, attempt: Attempt) -> Attempt:
        return (
            attempt if attempt.error is None else replace(attempt, error=self._error(attempt.error))
        )

    def _name_or_none(self, text: str | None) -> str | None:
        return None if text is None else self._name(text)

    def _name(self, text: str) -> str:
        """A text that only credentials are taken from; most are few and come again."""
        if not self._masks or not isinstance(text, str):
            return text
        known = self._names.get(text)
        if known is None:
            known = self._names[text] = self._masked(Block("", "", "", text, 0, "")).text
        return known

    def _text(self, text: str, role: str) -> str:
        return self._stepped(Block("", role, "text", text, 0, "estimate"))[0].text

    def _block(self, block: Block) -> Block:
        seen, by_hook = self._stepped(block)
        if seen == block:
            return block
        return self._rules.identified(seen, block, by_hook=by_hook)

    def _stepped(self, block: Block) -> tuple[Block, bool]:
        """The block after all steps, and whether a hook changed it."""
        seen, by_hook = block, False
        for step in self._rules.steps:
            if isinstance(step, str):
                seen = self._masked(seen)
                continue
            given = self._given(step, seen)
            by_hook = by_hook or given != seen
            seen = given
        return seen, by_hook

    def _masked(self, block: Block) -> Block:
        try:
            if block.content_hash:
                return self._rules.masked_block(block)
            return replace(block, text=self._rules.masked(block.text))
        except (StoreBusy, StoreFull):
            raise  # the trace cannot number it now; the call waits until it can
        except Exception as problem:
            # A fault of ours must not show the text either.
            if guard.strict and not isinstance(problem, StoreError):
                raise
            self._tell("ctxdiff could not look for credentials; texts are withheld")
            return replace(block, text=FAILED)

    def _given(self, hook: Hook, block: Block) -> Block:
        try:
            given = hook(block)
        except BaseException:  # noqa: BLE001 - the hook is the program's; whatever it raises, even
            # `sys.exit` on this thread of ours, withholds the text and ends no recording.
            self._tell("ctxdiff: the redaction hook failed; texts are withheld")
            return replace(block, text=FAILED)
        if given is None:
            self._count("withheld")
            return replace(block, text=WITHHELD)
        if not _is_storable(given):
            self._count("failed")
            return replace(block, text=FAILED)
        # Which block it is, is not for the hook to say.
        return replace(given, content_hash=block.content_hash)

    def _tell(self, words: str) -> None:
        """Count the fault at hand; report one per call, which may have 1,000 blocks."""
        self._count("failed")
        if not self._has_told:
            self._has_told = True
            log.warning(words, exc_info=True)

    def _count(self, what: str) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1


def _is_storable(block: Json) -> bool:
    return (
        isinstance(block, Block)
        and all(
            isinstance(part, str)
            for part in (block.role, block.kind, block.text, block.token_method)
        )
        and isinstance(block.token_count, int)
        and 0 <= block.token_count <= _MOST_TOKENS
    )
