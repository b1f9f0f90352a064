"""The program's own hook between a call and the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from ctxdiff_capture.guard import log
from ctxdiff_capture.model import Block, Call, CallError, Decision, Json, Placement

Redact: TypeAlias = Callable[[Block], "Block | None"]
"""Gets a block, gives back what to store in its place; None withholds the text.

It sees every input and output block. Texts that stand outside of blocks come as blocks of role
`params`, `tag`, `error`, `decision` or `metadata` and kind `text`, of which only the text is used.
"""

WITHHELD = "[redacted]"
FAILED = "[redaction-error]"

# Names that the accounting needs, and that a program chooses from a public list.
_KEPT_PARAMS = frozenset({"model"})


def redacted(call: Call, hook: Redact) -> Call:
    """`call` as the hook wants it stored. Labels stay those of the original texts.

    The request's bytes are left out: they hold every text as it was. A hook that fails, or gives
    back something that is no block, costs the text and not the call.
    """
    apply = _Application(hook)
    return replace(
        call,
        inputs=tuple(map(apply.to_placement, call.inputs)),
        outputs=tuple(map(apply.to_placement, call.outputs)),
        params={
            key: value if key in _KEPT_PARAMS else apply.to_json(value, "params")
            for key, value in call.params.items()
        },
        tags=tuple(replace(tag, text=apply.to_text(tag.text, "tag")) for tag in call.tags),
        stages=tuple(
            replace(stage, inputs=tuple(map(apply.to_placement, stage.inputs)))
            for stage in call.stages
        ),
        decisions=tuple(map(apply.to_decision, call.decisions)),
        error=apply.to_error(call.error),
        attempts=tuple(replace(a, error=apply.to_error(a.error)) for a in call.attempts),
        metadata=apply.to_json(call.metadata, "metadata"),
        request_pieces=None,
    )


class _Application:
    """One hook applied to the parts of one call."""

    def __init__(self, hook: Redact) -> None:
        self._hook = hook
        self._has_failed = False

    def to_placement(self, placement: Placement) -> Placement:
        return replace(placement, block=self._to_block(placement.block))

    def to_text(self, text: str, role: str) -> str:
        return self._to_block(Block("", role, "text", text, 0, "estimate")).text

    def to_json(self, value: Json, role: str) -> Json:
        if isinstance(value, str):
            return self.to_text(value, role)
        if isinstance(value, Mapping):
            return {key: self.to_json(item, role) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.to_json(item, role) for item in value]
        return value

    def to_decision(self, decision: Decision) -> Decision:
        reason = decision.reason
        return replace(
            decision,
            candidate=self.to_text(decision.candidate, "decision"),
            reason=None if reason is None else self.to_text(reason, "decision"),
        )

    def to_error(self, error: CallError | None) -> CallError | None:
        if error is None or error.message is None:
            return error
        return replace(error, message=self.to_text(error.message, "error"))

    def _to_block(self, block: Block) -> Block:
        try:
            given = self._hook(block)
        except BaseException:  # noqa: BLE001 - the hook is the program's; whatever it raises, even
            # `sys.exit` on this thread of ours, withholds the text and ends no recording.
            self._tell_once()
            return replace(block, text=FAILED)
        if given is None:
            return replace(block, text=WITHHELD)
        return given if _is_storable(given) else replace(block, text=FAILED)

    def _tell_once(self) -> None:
        """Report the fault at hand, unless this call has had one: a call may have 1,000 blocks."""
        if not self._has_failed:
            self._has_failed = True
            log.warning("ctxdiff: the redaction hook failed; texts are withheld", exc_info=True)


def _is_storable(block: Json) -> bool:
    return (
        isinstance(block, Block)
        and all(
            isinstance(part, str)
            for part in (block.content_hash, block.role, block.kind, block.text, block.token_method)
        )
        and isinstance(block.token_count, int)
    )
