"""What an optimiser did between two stages of one call: what it held, and what it sent."""

from __future__ import annotations

from collections.abc import Sequence

from ctxdiff_capture.model import BlockHead, CallHead, Placement

from ctxdiff_analyzers.diff import TurnDiff, turn_diff
from ctxdiff_analyzers.timeline import Timeline, Turn


def stage_diff(call: CallHead, held: Sequence[Placement], sent: Sequence[Placement]) -> TurnDiff:
    """The difference from `held` to `sent`, as between two turns.

    An `evicted` entry is a block that was held and not sent, an `added` one was put in. Both
    sides carry the call's number and agent; positions are indices into the two lists.

    Args:
        call: the call that both are stages of.
        held: blocks of the earlier stage, in order.
        sent: blocks of the later stage or of the call itself, in order.
    """
    blocks: dict[str, BlockHead] = {}
    texts: dict[str, str] = {}
    labels: dict[tuple[str, str], int] = {}
    for placement in (*held, *sent):
        block = placement.block
        texts.setdefault(block.content_hash, block.text)
        blocks.setdefault(block.content_hash, _head(placement))
        labels.setdefault((placement.label, placement.label_source), len(labels))
    numbers = {content_hash: index for index, content_hash in enumerate(blocks)}

    def turn(placements: Sequence[Placement]) -> Turn:
        return Turn(
            call,
            inputs=[numbers[p.block.content_hash] for p in placements],
            labels=[labels[p.label, p.label_source] for p in placements],
            positions=range(len(placements)),
        )

    old, new = turn(held), turn(sent)
    timeline = Timeline((old, new), tuple(blocks.values()), tuple(labels), texts.__getitem__)
    return turn_diff(old, new, timeline)


def _head(placement: Placement) -> BlockHead:
    block = placement.block
    return BlockHead(
        block.content_hash,
        block.role,
        block.kind,
        block.token_count,
        block.token_method,
        is_empty=not block.text,
        opens_json=block.text[:1] in ("{", "["),
    )
