from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ctxdiff_analyzers.counts import total_tokens
from ctxdiff_analyzers.diff import TurnDiff, turn_diff
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

POLICY = "Refunds are paid within six working days after the parcel has been scanned at the depot."
SIZES = (
    "The stove Myr weighs 2.4 kg, burns for five hours on one can and folds to the size of a book."
)
CLUB = "Members of the club return free of charge, everyone else pays a return label of 79 crowns."


def compared(make: SimpleNamespace, old: list[Any], new: list[Any]) -> TurnDiff:
    run = make.run()
    first, second = run.add(*old), run.add(*new)
    return turn_diff(first, second, run.done())


def told(diff: TurnDiff) -> list[tuple[str, int | None, int | None]]:
    return [(entry.kind, entry.position_old, entry.position_new) for entry in diff.entries]


def test_an_appended_turn_keeps_everything_and_adds(make: SimpleNamespace) -> None:
    old = [make.system("be brief"), make.user("hello")]
    diff = compared(make, old, [*old, make.assistant("hi there")])
    assert told(diff) == [("unchanged", 0, 0), ("unchanged", 1, 1), ("added", None, 2)]
    assert (diff.tokens_added, diff.tokens_evicted, diff.unchanged_tokens) == (2, 0, 3)


def test_a_moved_block_is_found_before_edits_are_looked_for(make: SimpleNamespace) -> None:
    # G-D1
    moved, dropped, new = (make.user(text) for text in (POLICY, SIZES, CLUB))
    kept = [make.assistant("one"), make.assistant("two")]
    diff = compared(make, [moved, dropped, *kept], [new, *kept, moved])
    assert sorted(told(diff), key=str) == sorted(
        [
            ("evicted", 1, None),
            ("added", None, 0),
            ("unchanged", 2, 1),
            ("unchanged", 3, 2),
            ("unchanged", 0, 3),
        ],
        key=str,
    )


def test_edits_are_paired_by_likeness_and_not_by_place(make: SimpleNamespace) -> None:
    # G-D2
    old = [make.user(text) for text in (POLICY, SIZES, CLUB)]
    edited = [make.user(f"{text} (checked)") for text in (POLICY, SIZES, CLUB)]
    diff = compared(make, old, [make.user("Note: prices are in crowns"), *edited])
    assert told(diff) == [
        ("added", None, 0),
        ("modified", 0, 1),
        ("modified", 1, 2),
        ("modified", 2, 3),
    ]


def test_unlike_texts_in_one_place_are_no_edit(make: SimpleNamespace) -> None:
    # G-D3
    diff = compared(make, [make.user("refund policy for order 42?")], [make.user("Berlin weather")])
    assert told(diff) == [("evicted", 0, None), ("added", None, 0)]


def test_the_same_text_of_another_role_is_no_edit(make: SimpleNamespace) -> None:
    diff = compared(make, [make.user(POLICY)], [make.assistant(POLICY)])
    assert told(diff) == [("evicted", 0, None), ("added", None, 0)]


def test_tool_results_of_two_calls_are_no_edit_of_each_other(make: SimpleNamespace) -> None:
    def result(number: int) -> Any:
        return make.part(
            {"type": "tool_result", "tool_use_id": f"tu_{number}", "content": "no new mail today"}
        )

    diff = compared(make, [result(1)], [result(2)])
    assert told(diff) == [("evicted", 0, None), ("added", None, 0)]


def test_a_window_that_slides_evicts_and_adds_however_alike_its_ends(make: SimpleNamespace) -> None:
    steps = [make.user(f"Observation {n}: the page shows a form with a button") for n in range(5)]
    diff = compared(make, steps[:4], steps[1:])
    assert told(diff) == [
        ("evicted", 0, None),
        *[("unchanged", n, n - 1) for n in (1, 2, 3)],
        ("added", None, 3),
    ]


def test_a_result_that_was_cut_off_is_a_form_of_what_it_was(make: SimpleNamespace) -> None:
    whole = " ".join(f"row {n}: {POLICY}" for n in range(30))
    diff = compared(make, [make.tool(whole)], [make.tool(f"{whole[:400]} [cut]")])
    assert told(diff) == [("modified", 0, 0)]


def test_a_cache_marker_that_moves_on_changes_nothing(make: SimpleNamespace) -> None:
    def part(text: str, **marker: Any) -> Any:
        return make.part({"type": "text", "text": text, **marker})

    mark = {"cache_control": {"type": "ephemeral"}}
    diff = compared(
        make,
        [make.user("hello"), part(POLICY, **mark)],
        [make.user("hello"), part(POLICY), part(SIZES, **mark)],
    )
    assert told(diff) == [("unchanged", 0, 0), ("unchanged", 1, 1), ("added", None, 2)]
    assert diff.entries[1].content_hash_before is not None


def test_a_string_and_one_text_part_are_the_same_content(make: SimpleNamespace) -> None:
    diff = compared(make, [make.user(POLICY)], [make.part({"type": "text", "text": POLICY})])
    assert told(diff) == [("unchanged", 0, 0)]


def test_turns_of_two_sessions_are_compared_by_content(make: SimpleNamespace) -> None:
    left, right = make.run(), make.run()
    old = left.add(make.system("be brief"), make.user("hello"))
    new = right.add(make.user("hello"), make.user("new"))
    diff = turn_diff(old, new, left.done(), right.done())
    assert told(diff) == [("evicted", 0, None), ("unchanged", 1, 0), ("added", None, 1)]


def test_a_diff_across_agents_says_so(make: SimpleNamespace) -> None:
    # G-D5
    run = make.run()
    old, new = run.add(make.user("a"), agent="x"), run.add(make.user("a"), agent="y")
    assert turn_diff(old, new, run.done()).crosses_agents


def test_a_thousand_new_blocks_cost_no_thousand_texts(make: SimpleNamespace) -> None:
    run = make.run()
    old = run.add(*[make.user(f"old {n} {POLICY}") for n in range(1_000)])
    new = run.add(*[make.user(f"new {n} {SIZES}") for n in range(1_000)])
    timeline = run.done()
    turn_diff(old, new, timeline)
    assert len(run.fetched) < 1_000


words = st.sampled_from(["alpha", "bravo bravo", "charlie one two", "charlie one three", "", "x"])
blocks = st.tuples(st.sampled_from(["user", "assistant", "system"]), words)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(blocks, max_size=8), st.lists(blocks, max_size=8))
def test_every_block_is_in_one_entry_and_tokens_add_up(
    make: SimpleNamespace, old: list[tuple[str, str]], new: list[tuple[str, str]]
) -> None:
    run = make.run()
    first = run.add(*[make.block(*spec) for spec in old])
    second = run.add(*[make.block(*spec) for spec in new])
    timeline = run.done()
    diff = turn_diff(first, second, timeline)
    positions_old = [e.position_old for e in diff.entries if e.position_old is not None]
    positions_new = [e.position_new for e in diff.entries if e.position_new is not None]
    assert sorted(positions_old) == list(range(len(old)))
    assert positions_new == list(range(len(new)))
    assert diff.net_tokens == total_tokens(timeline, second) - total_tokens(timeline, first)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(blocks, max_size=8))
def test_a_turn_is_unchanged_against_itself(
    make: SimpleNamespace, specs: list[tuple[str, str]]
) -> None:
    run = make.run()
    turn = run.add(*[make.block(*spec) for spec in specs])
    diff = turn_diff(turn, turn, run.done())
    assert told(diff) == [("unchanged", n, n) for n in range(len(specs))]
