from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.check import Assertion, HighWater, Thresholds, Violation, check


def sized(make: SimpleNamespace, *totals: int, agents: Any = None) -> Any:
    run = make.run()
    for number, total in enumerate(totals):
        run.add(make.user(f"{number}", tokens=total), agent=agents[number] if agents else None)
    return run.done()


def only(timeline: Any, **limits: Any) -> Assertion:
    (found,) = check(timeline, Thresholds(**limits)).assertions
    return found


def test_a_total_over_the_limit_fails_with_its_turn(make: SimpleNamespace) -> None:
    assert only(sized(make, 133, 238, 52), max_context=200) == Assertion(
        name="max-context",
        passed=False,
        violations=(Violation("over", 2, value=238, excess=38),),
        vacuous=None,
        limit=200,
        high_water=HighWater(238, 2, None, approximate=False),
        measured=3,
    )


def test_a_percentage_is_compared_exactly_and_shown_rounded(make: SimpleNamespace) -> None:
    over = only(sized(make, 801), max_context_pct=80, context_window=1_001)
    assert (over.passed, over.high_water and over.high_water.value) == (False, 80.0)


def test_a_floor_cannot_pass_a_budget(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.block("user", "[image]", "image", tokens=0, method="estimate"))
    found = only(run.done(), max_context=5_000)
    assert (found.passed, [row.why for row in found.violations]) == (False, ["unmeasured"])


def test_growth_is_between_an_agents_own_turns(make: SimpleNamespace) -> None:
    timeline = sized(make, 100, 10, 150, agents=["a", "b", "a"])
    found = only(timeline, max_growth=40)
    assert [(row.seq_old, row.seq, row.value) for row in found.violations] == [(1, 3, 50)]
    assert only(timeline, max_growth_pct=50).passed


def test_growth_from_nothing_has_no_percentage(make: SimpleNamespace) -> None:
    run = make.run()
    run.add()
    run.add(make.user("a", tokens=5))
    found = only(run.done(), max_growth_pct=1)
    assert (found.passed, found.vacuous) == (True, "all_pairs_start_empty")


@pytest.mark.parametrize(
    ("limits", "vacuous"),
    [
        ({"require_stable_prefix": True}, "no_same_agent_pair"),
        ({"no_dead_schemas": True}, "no_schemas"),
        ({"no_tagged_eviction": True}, "nothing_tagged"),
        ({"max_growth": 1}, "no_same_agent_pair"),
    ],
)
def test_a_pass_that_measured_nothing_says_so(
    make: SimpleNamespace, limits: dict[str, Any], vacuous: str
) -> None:
    found = only(sized(make, 1, 2, agents=["a", "b"]), **limits)
    assert (found.passed, found.vacuous) == (True, vacuous)


def test_nameless_schemas_pass_and_say_that_nothing_is_known(make: SimpleNamespace) -> None:
    # G-T2: the peer says "all 0 registered were invoked".
    run = make.run()
    run.add(make.block("system", "no json", "tool_schema"))
    assert only(run.done(), no_dead_schemas=True).vacuous == "no_names"


def test_a_replaced_tagged_block_fails(make: SimpleNamespace) -> None:
    # G-E1
    run = make.run()
    run.add(make.user("order 42 can be returned until Friday", tag="rag"))
    run.add(make.user("what about the weather in Berlin?"))
    found = only(run.done(), no_tagged_eviction=True)
    assert [(row.name, row.seq_old, row.seq) for row in found.violations] == [("rag", 1, 2)]


def test_assertions_stand_in_fixed_order(make: SimpleNamespace) -> None:
    asked = Thresholds(10, 50.0, 100, True, True, True, 1, 1.0)
    assert [found.name for found in check(sized(make, 1, 2), asked).assertions] == [
        "max-context",
        "max-context-pct",
        "require-stable-prefix",
        "no-dead-schemas",
        "no-tagged-eviction",
        "max-growth",
        "max-growth-pct",
    ]


def test_a_run_without_turns_does_not_pass(make: SimpleNamespace) -> None:
    found = check(make.run().done(), Thresholds(max_context=1))
    assert (found.passed, found.assertions) == (False, ())


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"context_window": 5},
        {"max_context": 0},
        {"max_context_pct": 50.0},
        {"max_context_pct": 0.0, "context_window": 5},
        {"max_context_pct": 5.0, "context_window": 0},
        {"max_growth": -1},
        {"max_growth_pct": -0.1},
        {"max_growth_pct": float("nan")},
    ],
)
def test_limits_that_make_no_sense_are_refused(
    make: SimpleNamespace, limits: dict[str, Any]
) -> None:
    with pytest.raises(ValueError):
        check(sized(make, 1), Thresholds(**limits))
