from __future__ import annotations

from types import SimpleNamespace


def test_turns_are_found_by_number_and_by_what_came_before(make: SimpleNamespace) -> None:
    run = make.run()
    for seq, agent in ((1, "a"), (2, "b"), (5, "a"), (9, "b")):
        run.add(make.user("q"), seq=seq, agent=agent)
    timeline = run.done()
    found = timeline.turn(5)
    assert found is not None
    assert (found.seq, timeline.turn(3)) == (5, None)
    before = [timeline.previous(seq) for seq in (1, 2, 3, 5, 9)]
    assert [turn and turn.seq for turn in before] == [None, None, None, 1, 2]


def test_no_agent_is_an_agent_of_its_own(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("q"))
    run.add(make.user("q"), agent="a")
    timeline = run.done()
    assert timeline.agents() == [None, "a"]
    assert [turn.seq for turn in timeline.of_agent("a").turns] == [2]
    assert timeline.of_agent("nobody").turns == ()


def test_a_text_is_read_once_for_all_selections_of_a_session(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("q"), agent="a")
    run.add(make.user("r"), agent="b")
    timeline = run.done()
    for mine in (timeline, timeline.of_agent("a"), timeline.of_agent("b")):
        assert mine.fact("length", 0, len) == 1
    assert len(run.fetched) == 1
