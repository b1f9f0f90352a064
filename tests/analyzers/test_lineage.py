"""Several conversations under one agent's name are told apart by what they hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.lineage import LOOK_BACK, predecessor

TOPICS = ("parcels", "invoices", "holidays")


def interleaved(make: SimpleNamespace, rounds: int, agent: str | None = None) -> Any:
    """Three conversations with prompts of their own, one turn of each in every round."""
    run = make.run(has_outputs=True)
    talks = {topic: [make.system(f"You answer questions about {topic}.")] for topic in TOPICS}
    for number in range(rounds):
        for topic, talk in talks.items():
            talk.append(make.user(f"{topic}, question {number}: where is it, and since when?"))
            answer = make.assistant(f"{topic}, answer {number}: it has been there for long.")
            run.add(*talk, outputs=[answer], agent=agent, finish_reason="stop")
            talk.append(answer)
    return run.done()


@pytest.mark.parametrize("agent", [None, "desk"])
def test_a_turn_goes_on_from_its_own_conversation(make: SimpleNamespace, agent: str | None) -> None:
    timeline = interleaved(make, 3, agent)
    found = [predecessor(timeline, turn) for turn in timeline.turns]
    assert [one and one.seq for one in found[3:]] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("agent", [None, "desk"])
def test_conversations_that_take_turns_have_no_findings(
    make: SimpleNamespace, agent: str | None
) -> None:
    timeline = interleaved(make, 4, agent)
    findings = {turn.seq: explain(timeline, turn.seq).findings for turn in timeline.turns[3:]}
    assert findings == dict.fromkeys(range(4, 13), ())


def test_a_loss_is_found_in_the_conversation_that_lost(make: SimpleNamespace) -> None:
    run = make.run()
    one = [make.system("s"), make.user("alpha fact one"), make.assistant("alpha reply one")]
    two = [make.system("s"), make.user("beta fact"), make.assistant("beta reply")]
    run.add(*one, make.user("alpha question"))
    run.add(*two, make.user("beta question"))
    run.add(one[0], one[2], make.user("alpha question"), make.assistant("a"), make.user("more"))
    explanation = explain(run.done(), 3)
    assert explanation.previous == 1
    first = explanation.findings[0]
    assert (first.code, first.evidence.excerpts) == ("context_evicted", ("alpha fact one",))


def test_what_shares_nothing_goes_on_from_the_turn_before(make: SimpleNamespace) -> None:
    run = make.run()
    for text in ("a", "b", "c"):
        run.add(make.system("s"), make.user(text))
    timeline = run.done()
    assert predecessor(timeline, timeline.turns[2]) == timeline.turns[1]


def test_of_turns_that_share_as_much_the_newest_counts(make: SimpleNamespace) -> None:
    run = make.run()
    for _ in range(3):
        run.add(make.user("same"))
    timeline = run.done()
    assert predecessor(timeline, timeline.turns[2]) == timeline.turns[1]


def test_only_the_last_few_turns_are_looked_at(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("old"))
    for number in range(LOOK_BACK):
        run.add(make.user(f"other {number}"))
    run.add(make.user("old"), make.user("new"))
    timeline = run.done()
    assert predecessor(timeline, timeline.turns[-1]) == timeline.turns[-2]
