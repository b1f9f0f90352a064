from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ctxdiff_analyzers.prefix import PrefixReport, prefix_report

CLOCK = "Current time: {}. You are a helpful assistant that answers questions about orders."


def report(make: SimpleNamespace, *turns: list[Any], agents: Any = None, **call: Any) -> Any:
    run = make.run()
    for number, inputs in enumerate(turns):
        run.add(*inputs, agent=agents[number] if agents else None, **call)
    return prefix_report(run.done())


def broken(found: PrefixReport) -> list[tuple[int, int, str, str]]:
    return [
        (b.seq_new, b.divergent_position, b.culprit_kind, b.culprit_label) for b in found.breaks
    ]


def test_appending_repeating_and_cutting_short_break_nothing(make: SimpleNamespace) -> None:
    a, b, c = make.system("a", tokens=8), make.user("b", tokens=12), make.assistant("c")
    found = report(make, [a, b], [a, b], [a, b, c], [a, b])
    assert (found.pairs_analyzed, found.breaks, found.stable_prefix_tokens_min) == (3, (), 20)


def test_a_clock_in_the_system_text_breaks_every_turn_and_has_a_hint(make: SimpleNamespace) -> None:
    def turn(time: str) -> list[Any]:
        return [make.system(CLOCK.format(time), tokens=28), make.user("b", tokens=12)]

    found = report(make, turn("10:00:01"), turn("10:00:02"), turn("10:00:03"))
    assert broken(found) == [(2, 0, "modified", "system"), (3, 0, "modified", "system")]
    assert (found.breaks[0].first_diff_char, found.rebilled_tokens_total) == (21, 80)
    assert found.fix_hint
    assert [(group.count, group.denominator) for group in found.groups] == [(2, 2)]


def test_a_rewritten_system_text_is_no_volatile_value(make: SimpleNamespace) -> None:
    found = report(make, [make.system(CLOCK)], [make.system("Answer in Norwegian, always.")])
    assert broken(found) == [(2, 0, "added", "system")]
    assert not found.fix_hint


def test_the_culprit_is_what_happened_at_the_break(make: SimpleNamespace) -> None:
    a, b, c = make.system("a"), make.user("b"), make.assistant("c")
    x = make.user("x")
    assert broken(report(make, [a, b], [a, x, b])) == [(2, 1, "added", "user")]
    assert broken(report(make, [a, b, c], [a, c])) == [(2, 1, "evicted", "user")]
    assert broken(report(make, [a, b, c], [a, c, b])) == [(2, 1, "reordered", "history")]


def test_stored_positions_may_have_gaps(make: SimpleNamespace) -> None:
    # G-C12: the culprit is found by index, its place is told as stored.
    def turn(time: str) -> list[Any]:
        return [make.system("a"), make.system(CLOCK.format(time))]

    found = report(make, turn("10:01"), turn("10:02"), positions=(0, 10))
    assert broken(found) == [(2, 10, "modified", "system")]


def test_unlabelled_turns_are_held_against_their_own_pairs(make: SimpleNamespace) -> None:
    # G-C10
    a, b, x = make.system("a"), make.user("b"), make.user("x")
    found = report(make, [a], [a, b], [a, b], [x], agents=["p", "p", None, None])
    assert found.pairs_by_agent == (("p", 1), (None, 1))
    assert [one.pairs_denominator for one in found.breaks] == [1]


def test_a_cache_marker_that_moves_forward_breaks_nothing(make: SimpleNamespace) -> None:
    # G-C1
    def part(text: str, **marker: Any) -> Any:
        return make.part({"type": "text", "text": text} | marker)

    mark = {"cache_control": {"type": "ephemeral"}}
    tools = make.schema({"name": "a"} | mark), make.schema({"name": "a"})
    first = [tools[0], part("one", **mark)]
    second = [tools[1], part("one"), make.assistant("x"), part("two", **mark)]
    assert report(make, first, second).breaks == ()


def test_a_cache_point_block_is_passed_over(make: SimpleNamespace) -> None:
    point = make.part({"cachePoint": {"type": "default"}})
    a, b, c = make.user("a"), make.assistant("b"), make.user("c")
    assert report(make, [a, point], [a, b, c, point], [a, point, b, c]).breaks == ()


def test_a_real_change_beside_a_marker_is_a_break(make: SimpleNamespace) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    old = make.part({"type": "text", "text": "one two three"} | mark)
    new = make.part({"type": "text", "text": "one two four"})
    assert len(report(make, [old], [new]).breaks) == 1


def test_a_long_append_only_run_reads_no_text(make: SimpleNamespace) -> None:
    run = make.run()
    history = [make.system("a")]
    for number in range(60):
        history.append(make.user(f"{number}"))
        run.add(*history)
    prefix_report(run.done())
    assert run.fetched == []
