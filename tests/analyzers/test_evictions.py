from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ctxdiff_analyzers.evictions import Eviction, Evictions, evictions

FACT = "The crucial retrieved fact is that order 42 can be returned until the end of the month."


def lost(make: SimpleNamespace, *turns: list[Any], agents: list[str | None] | None = None) -> Any:
    run = make.run()
    for number, inputs in enumerate(turns):
        run.add(*inputs, agent=agents[number] if agents else None)
    return evictions(run.done())


def fact(make: SimpleNamespace, tag: str | None = "rag", text: str = FACT) -> Any:
    return make.user(text, tag=tag, tokens=13)


def event(make: SimpleNamespace, **changed: Any) -> Eviction:
    known = {
        "label": "rag",
        "agent": None,
        "tagged_turn": 1,
        "entered_turn": 1,
        "last_seen_turn": 1,
        "evicted_turn": 2,
        "tokens": 13,
        "token_method": "tiktoken",
        "role": "user",
        "content_hash": fact(make).content_hash,
    }
    return Eviction(**(known | changed))


def test_a_tag_made_once_is_remembered_until_the_block_leaves(make: SimpleNamespace) -> None:
    q = make.user("q")
    found = lost(make, [fact(make), q], [fact(make, None), q], [q])
    assert found == Evictions(2, None, 1, (event(make, last_seen_turn=2, evicted_turn=3),))


def test_a_block_that_comes_back_is_not_lost(make: SimpleNamespace) -> None:
    q = make.user("q")
    assert lost(make, [fact(make), q], [q], [q, fact(make, None)]).events == ()


def test_other_text_in_the_same_place_is_a_loss(make: SimpleNamespace) -> None:
    # G-E1
    found = lost(make, [fact(make)], [make.user("A completely different block of that role.")])
    assert found.events == (event(make),)


def test_a_small_edit_is_no_loss_and_the_tag_goes_on(make: SimpleNamespace) -> None:
    edited = f"{FACT} Checked."
    q = make.user("q")
    found = lost(make, [fact(make), q], [fact(make, None, edited), q], [q])
    expected = event(
        make,
        last_seen_turn=2,
        evicted_turn=3,
        content_hash=fact(make, text=edited).content_hash,
    )
    assert found.events == (expected,)


def test_a_block_that_nobody_tagged_is_not_reported(make: SimpleNamespace) -> None:
    assert lost(make, [fact(make, None), make.user("q")], [make.user("q")]).tagged_blocks == 0


def test_a_hand_off_to_another_agent_loses_nothing(make: SimpleNamespace) -> None:
    found = lost(make, [fact(make)], [make.user("q")], agents=["a", "b"])
    assert found == Evictions(0, 2, 1, ())


def test_an_agents_loss_is_seen_over_anothers_turns(make: SimpleNamespace) -> None:
    q = make.user("q")
    found = lost(make, [fact(make), q], [q], [q], agents=["a", "b", "a"])
    assert found.events == (event(make, agent="a", evicted_turn=3),)


def test_a_moved_cache_marker_is_no_loss(make: SimpleNamespace) -> None:
    marked = make.part(
        {"type": "text", "text": FACT, "cache_control": {"type": "ephemeral"}}, tag="rag"
    )
    bare = make.part({"type": "text", "text": FACT})
    assert lost(make, [marked], [bare, make.user("q")]).events == ()
