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


PROMPTS = {
    "harbour": "You keep the log of the harbour: ships, berths, tides. Answer in one line.",
    "bakery": "Bread orders come in until six. Repeat each order with its weight and its price.",
    "cinema": "You keep the log of the cinema: films, seats, breaks. Answer in one line.",
}
MARK = {"cache_control": {"type": "ephemeral"}}


def desk(make: SimpleNamespace, who: str, number: int) -> list[Any]:
    """A conversation at its turn `number`, the marker on its newest message."""

    def user(k: int) -> Any:
        text = {"type": "text", "text": f"{who} asks question {k} of the day."}
        return make.part(text | MARK if k == number else text)

    said = [make.system(PROMPTS[who]), make.schema({"name": who})]
    for k in range(number):
        said += [user(k), make.assistant(f"{who} is told answer {k}.")]
    return [*said, user(number)]


@pytest.mark.parametrize("marked", [True, False])
def test_unnamed_conversations_of_other_programs_are_no_change_of_a_prompt(
    make: SimpleNamespace, marked: bool
) -> None:
    run = make.run()
    for number in range(3):
        for who in ("harbour", "bakery", "cinema"):
            if marked:
                run.add(*desk(make, who, number))
            else:
                rest = desk(make, who, 0)[:2]
                talk = [make.user(f"{who} {k}") for k in range(number + 1)]
                run.add(*rest, *talk)
    timeline = run.done()
    found = {turn.seq: explain(timeline, turn.seq) for turn in timeline.turns}
    assert [one.findings for one in found.values()] == [()] * 9
    assert [one.previous for one in found.values()] == [None, None, None, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("agent", [None, "desk"])
@pytest.mark.parametrize("own", [None, "Make titles. Three words, no more, in English."])
@pytest.mark.parametrize("mark", [{}, MARK])
def test_a_question_on_the_side_changes_no_instructions(
    make: SimpleNamespace, mark: dict[str, Any], own: str | None, agent: str | None
) -> None:
    run = make.run()
    asked = {"type": "text", "text": "Which ships are in?"}
    prompt = make.system("You keep the harbour log.")
    run.add(prompt, make.part(asked | mark), agent=agent)
    title = make.user("Give this conversation a title of three words.")
    run.add(*([] if own is None else [make.system(own)]), title, agent=agent)
    told = make.assistant("The Anna.")
    run.add(prompt, make.part(asked), told, make.user("Since when?"), agent=agent)
    timeline = run.done()
    assert [explain(timeline, seq).findings for seq in (1, 2, 3)] == [(), (), ()]


@pytest.mark.parametrize(
    ("agent", "old", "new", "code"),
    [
        ("desk", "You keep the log.", "Bake bread, and never talk of ships.", "system_changed"),
        (
            None,
            "It is 10:01. You keep the log.",
            "It is 10:02. You keep the log.",
            "system_changed",
        ),
        (None, "You keep the log of the harbour.", None, "context_evicted"),
    ],
    ids=["a named agent", "the same prompt with a clock", "nothing goes on behind it"],
)
def test_single_questions_are_compared_by_what_stands_in_front(
    make: SimpleNamespace, agent: str | None, old: str, new: str | None, code: str
) -> None:
    run = make.run()
    run.add(make.system(old), make.user("Which ships are in?"), agent=agent)
    prompt = [] if new is None else [make.system(new)]
    run.add(*prompt, make.user("How deep is the basin?"), agent=agent)
    explanation = explain(run.done(), 2)
    assert explanation.previous == 1
    assert code in {finding.code for finding in explanation.findings}


def test_a_prompt_that_is_replaced_within_a_conversation_is_told(make: SimpleNamespace) -> None:
    run = make.run()
    talk = [make.user("Which ships are in?"), make.assistant("The Anna."), make.user("Since when?")]
    run.add(make.system("You keep the log."), talk[0])
    run.add(make.system("Bake bread, and never talk of it."), *talk)
    found = [(f.code, f.cause) for f in explain(run.done(), 2).findings]
    assert ("system_changed", "system_replaced") in found
