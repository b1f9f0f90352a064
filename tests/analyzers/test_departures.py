"""How a block left: edited, compacted, trimmed, dropped, or another conversation took its turn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers import departures
from ctxdiff_analyzers.departures import Departure, departure

FACT = "The depot in Malmö closes at six on Fridays and at four on Saturdays."
EDITED = "The depot in Malmö closes at seven on Fridays and at four on Saturdays."


def left(make: SimpleNamespace, before: list[Any], after: list[Any], text: str) -> Departure | None:
    run = make.run()
    run.add(*before)
    run.add(*after)
    timeline = run.done()
    block = next(
        i for i, head in enumerate(timeline.blocks) if run.texts[head.content_hash] == text
    )
    return departure(timeline, block, 2)


def hash_of(spec: Any) -> str:
    return spec.content_hash


def test_an_edited_block_names_its_new_form(make: SimpleNamespace) -> None:
    system, ask = make.system("Be brief."), make.user("When?")
    new = make.user(EDITED)
    found = left(make, [system, make.user(FACT), ask], [system, new, ask], FACT)
    assert found == Departure(2, "edited", hash_of(new))


def test_the_oldest_messages_are_trimmed(make: SimpleNamespace) -> None:
    system = make.system("Be brief.")
    rest = [make.assistant("Noted."), make.user("And on Sundays?"), make.assistant("Closed.")]
    last = make.user("Thanks, and on holidays?")
    found = left(make, [system, make.user(FACT), *rest], [system, *rest, last], FACT)
    assert found == Departure(2, "trimmed")


def test_what_goes_from_between_others_is_dropped(make: SimpleNamespace) -> None:
    first, rest = make.user("Hello there."), [make.assistant("Noted."), make.user("When?")]
    found = left(make, [first, make.user(FACT), *rest], [first, *rest], FACT)
    assert found == Departure(2, "dropped")


def test_system_text_that_goes_is_dropped_and_not_trimmed(make: SimpleNamespace) -> None:
    ask = make.user("When?")
    assert left(make, [make.system(FACT), ask], [ask], FACT) == Departure(2, "dropped")


def test_messages_that_a_summary_stands_for_are_compacted(make: SimpleNamespace) -> None:
    talk = [
        make.user(FACT),
        make.assistant("The Malmö depot closes at six on Fridays, noted for the driver Anna."),
        make.user("Route 14 goes through Lund, with parcels for the harbour and the bridge."),
        make.assistant("Route 14: Lund, harbour, bridge. Anna drives, eleven parcels."),
        make.user("Invoice 7781 belongs to the customer Bergström in Lund."),
        make.assistant("Invoice 7781, Bergström, Lund."),
    ]
    summary = make.user(
        "Summary of the conversation so far: the Malmö depot closes at six on Fridays and at four "
        "on Saturdays; Anna drives route 14 (Lund, harbour, bridge) with eleven parcels; invoice "
        "7781 belongs to Bergström in Lund."
    )
    system, last = make.system("You plan tours."), make.user("Who drives?")
    found = left(make, [system, *talk], [system, summary, last], FACT)
    assert found == Departure(2, "compacted", hash_of(summary))


def test_another_conversation_of_the_agent_takes_nothing_away(make: SimpleNamespace) -> None:
    run = make.run()
    one = [make.user(FACT), make.assistant("Noted."), make.user("When?")]
    other = [make.user("Book a table."), make.assistant("For whom?"), make.user("For two.")]
    run.add(*other[:1], agent="a")
    run.add(*one, agent="a")
    run.add(*other, agent="a")
    timeline = run.done()
    block = run.blocks[one[0].content_hash]
    assert departure(timeline, block, 3) == Departure(3, "other_conversation")


def test_where_nothing_left_there_is_nothing_to_tell(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user(FACT))
    run.add(make.user(FACT), make.user("When?"))
    timeline = run.done()
    assert departure(timeline, 0, 1) is None
    assert departure(timeline, 0, 2) is None
    assert departure(timeline, 1, 2) is None
    assert departure(timeline, 0, 9) is None


def test_blocks_that_leave_at_one_turn_are_matched_once(
    make: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    matched: list[int] = []
    match = departures.matching
    monkeypatch.setattr(
        departures,
        "matching",
        lambda old, new, *rest: matched.append(new.seq) or match(old, new, *rest),
    )
    facts = [make.user(f"{FACT} Depot {n}.") for n in range(12)]
    run = make.run()
    run.add(make.system("Be brief."), *facts, make.user("When?"))
    run.add(make.system("Be brief."), make.user("When?"))
    timeline = run.done()
    gone = [
        n for n, head in enumerate(timeline.blocks) if run.texts[head.content_hash].startswith(FACT)
    ]
    found = [departure(timeline, block, 2) for block in gone]
    assert [one and one.way for one in found] == ["trimmed"] * 12
    assert matched.count(2) == 1
