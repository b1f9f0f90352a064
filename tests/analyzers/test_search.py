from __future__ import annotations

from types import SimpleNamespace

from ctxdiff_analyzers.search import Appearance, Event, appearances


def test_a_block_is_followed_through_one_agents_turns(make: SimpleNamespace) -> None:
    run = make.run()
    fact, q = make.assistant("fact"), make.user("q")
    run.add(q, outputs=[fact])
    run.add(q, fact)
    run.add(q)
    run.add(fact, q)
    assert appearances(run.done(), [fact.content_hash]) == (
        Appearance(
            content_hash=fact.content_hash,
            agent=None,
            label="history",
            first_seen=1,
            last_seen=4,
            input_turns=2,
            output_turns=(1,),
            events=(Event(2, "entered"), Event(3, "left"), Event(4, "entered")),
            positions=((2, 1), (4, 0)),
        ),
    )


def test_each_agent_has_its_own_story(make: SimpleNamespace) -> None:
    run = make.run()
    fact, q = make.user("fact"), make.user("q")
    run.add(fact, agent="a")
    run.add(q, fact, agent="b")
    run.add(q, agent="a")
    found = appearances(run.done(), [fact.content_hash])
    assert [(one.agent, one.events) for one in found] == [
        ("a", (Event(1, "entered"), Event(3, "left"))),
        ("b", (Event(2, "entered"),)),
    ]


def test_a_hash_that_is_nowhere_has_no_appearance(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("q"))
    assert appearances(run.done(), ["0" * 64]) == ()
