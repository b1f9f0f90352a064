"""What an optimiser did between two stages of one call."""

from __future__ import annotations

from hashlib import sha256

from ctxdiff_analyzers.diff import Counts
from ctxdiff_analyzers.stages import stage_diff
from ctxdiff_capture.model import Block, CallHead, Placement
from hypothesis import given
from hypothesis import strategies as st

CALL = CallHead("c", 7, "openai", "planner", None, {}, None, None, None)


def placed(texts: str, label: str = "history") -> list[Placement]:
    """One block per word; as many tokens as it has letters."""
    return [
        Placement(
            Block(
                sha256(text.encode()).hexdigest(), "user", "message", text, len(text), "tiktoken"
            ),
            label,
        )
        for text in texts.split()
    ]


def test_blocks_that_were_held_and_not_sent_are_named() -> None:
    found = stage_diff(CALL, placed("rules faq old older now"), placed("rules now"))

    assert found.counts == Counts(added=0, evicted=3, modified=0, unchanged=2, unchanged_moved=1)
    assert [(e.kind, e.position_old, e.tokens) for e in found.entries if e.kind == "evicted"] == [
        ("evicted", 1, 3),
        ("evicted", 2, 3),
        ("evicted", 3, 5),
    ]
    assert (found.tokens_evicted, found.net_tokens, found.approximate) == (11, -11, False)
    assert (found.seq_old, found.seq_new, found.crosses_agents) == (7, 7, False)


def test_a_summary_that_was_put_in_is_named_with_its_label() -> None:
    sent = placed("rules") + placed("summary", "memory") + placed("now")
    found = stage_diff(CALL, placed("rules now"), sent)

    assert [(e.kind, e.position_new, e.label) for e in found.entries if e.kind == "added"] == [
        ("added", 1, "memory")
    ]
    assert (found.counts.evicted, found.tokens_added) == (0, 7)


def test_an_optimiser_that_only_changed_the_order_lost_nothing() -> None:
    found = stage_diff(CALL, placed("rules faq now"), placed("faq rules now"))

    assert found.counts == Counts(added=0, evicted=0, modified=0, unchanged=3, unchanged_moved=2)


words = st.lists(st.sampled_from(["a", "bb", "ccc", "dddd"]), max_size=8).map(" ".join)


@given(words, words)
def test_every_block_of_both_stages_is_accounted_for(held: str, sent: str) -> None:
    counts = stage_diff(CALL, placed(held), placed(sent)).counts

    assert counts.evicted + counts.modified + counts.unchanged == len(held.split())
    assert counts.added + counts.modified + counts.unchanged == len(sent.split())
