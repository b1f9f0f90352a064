"""Every billed call counts once, in the arithmetic of its provider, wherever it is summed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.doubles import doubles
from ctxdiff_analyzers.ledger import Tally, ledger
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ANTHROPIC = {
    "input_tokens": 3,
    "cache_read_input_tokens": 900,
    "cache_creation_input_tokens": 100,
    "cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 40},
    "output_tokens": 6,
}
OPENAI = {
    "prompt_tokens": 100,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens": 20,
    "completion_tokens_details": {"reasoning_tokens": 8},
}
BEDROCK = {"inputTokens": 10, "outputTokens": 5, "cacheWriteInputTokens": 2}


def test_providers_are_added_up_in_one_arithmetic(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("u"), provider="anthropic", usage=ANTHROPIC)
    run.add(make.user("u"), provider="openai", usage=OPENAI)
    run.add(make.user("u"), provider="bedrock", usage=BEDROCK)
    found = ledger(run.done()).total.tally
    assert found == Tally(
        calls=3,
        reported=3,
        prompt=1_003 + 100 + 12,
        uncached=3 + 36 + 10,
        cache_read=964,
        cache_write=102,
        cache_write_5m=60,
        cache_write_1h=40,
        output=31,
        reasoning=8,
    )
    assert found.cache_write_other == 2


def test_coverage_tells_silent_calls_from_failed_ones(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("u"), usage=OPENAI)
    run.add(make.user("u"))
    run.add(make.user("u"), error="RateLimitError")
    run.add(make.user("u"), error="APIError", usage={"prompt_tokens": 5})
    found = ledger(run.done()).total.tally
    assert (found.calls, found.reported, found.failed, found.silent) == (4, 2, 1, 1)


def test_a_step_is_one_of_its_agent_and_no_agent_is_nobodys_name(make: SimpleNamespace) -> None:
    run = make.run()
    for agent, step, prompt in (
        ("a", "plan", 1),
        (None, "plan", 2),
        ("(unlabeled)", "plan", 4),
        ("a", "act", 8),
        ("a", "plan", 16),
        (None, None, 32),
    ):
        run.add(make.user("u"), agent=agent, step=step, usage={"prompt_tokens": prompt})
    timeline = run.done()
    by_agent = [(row.agent, row.tally.prompt) for row in ledger(timeline, "agent").rows]
    assert by_agent == [("a", 25), (None, 34), ("(unlabeled)", 4)]
    by_step = [(row.agent, row.step, row.tally.prompt) for row in ledger(timeline, "step").rows]
    assert by_step == [
        ("a", "plan", 17),
        (None, "plan", 2),
        ("(unlabeled)", "plan", 4),
        ("a", "act", 8),
        (None, None, 32),
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]),
            st.sampled_from(["x", None]),
            st.sampled_from(["m1", "m2", None]),
            st.none() | st.sampled_from([ANTHROPIC, OPENAI, BEDROCK, {}]),
        ),
        max_size=12,
    )
)
def test_every_grouping_adds_up_to_the_same_total(make: SimpleNamespace, calls: Any) -> None:
    run = make.run()
    for agent, step, model, usage in calls:
        run.add(make.user("u"), agent=agent, step=step, params={"model": model}, usage=usage)
    timeline = run.done()
    total = ledger(timeline).total.tally
    names = Tally.__dataclass_fields__
    for by in ("call", "agent", "step", "model", "run"):
        rows = ledger(timeline, by).rows
        tallies = [row.tally for row in rows]
        models = [one.tally for row in rows for one in row.models]
        for name in names:
            assert sum(getattr(tally, name) for tally in tallies) == getattr(total, name)
            assert sum(getattr(tally, name) for tally in models) == getattr(total, name)


def at(second: float) -> str:
    return f"2026-11-30T10:00:{second:09.6f}+00:00"


def call(start: float, latency_ms: int, **more: Any) -> dict[str, Any]:
    return {"started_at": at(start), "latency_ms": latency_ms, "usage": OPENAI, **more}


DOUBLES = {
    "a handler around a tap": (call(1, 900), call(1.1, 700, response_id="r1")),
    "two logs of one exchange": (
        call(1, 900, response_id="r1"),
        call(1, 900, response_id="r1"),
    ),
    "clocks a little apart": (call(1.02, 900), call(1, 890, response_id="r1")),
}
NO_DOUBLES = {
    "asked twice at once": (call(1, 900, response_id="r1"), call(1, 900, response_id="r2")),
    "asked twice at once of a provider without ids": (call(1, 900), call(1, 900)),
    "asked again": (call(1, 900), call(2, 900, response_id="r1")),
    "a server that gives every answer one id": (
        call(1, 500, response_id="r1"),
        call(2, 500, response_id="r1"),
    ),
    "another model": (call(1, 900), call(1.1, 700, response_id="r1", params={"model": "n"})),
    "another bill": (call(1, 900), call(1.1, 700, response_id="r1", usage={"prompt_tokens": 9})),
    "no bill": (call(1, 900, usage=None), call(1.1, 700, response_id="r1", usage=None)),
    "no times": ({"usage": OPENAI}, {"usage": OPENAI, "response_id": "r1"}),
    "times that are none": (
        {**call(1, 900), "started_at": "noon"},
        {**call(1, 900, response_id="r1"), "started_at": "noon"},
    ),
}


@pytest.mark.parametrize("calls", DOUBLES.values(), ids=DOUBLES)
def test_a_call_that_two_layers_recorded_counts_once(
    make: SimpleNamespace, calls: tuple[Any, Any]
) -> None:
    run = make.run()
    for one in calls:
        run.add(make.user("u"), **one)
    timeline = run.done()
    assert doubles(timeline) == {2: 1}
    found = ledger(timeline, "call")
    assert [row.seq for row in found.rows] == [1]
    tally = found.total.tally
    assert (tally.calls, tally.doubles, tally.prompt, found.doubles) == (1, 1, 100, ((2, 1),))


@pytest.mark.parametrize("calls", NO_DOUBLES.values(), ids=NO_DOUBLES)
def test_calls_that_are_only_alike_all_count(make: SimpleNamespace, calls: tuple[Any, Any]) -> None:
    run = make.run()
    for one in calls:
        run.add(make.user("u"), **one)
    assert ledger(run.done()).total.tally.calls == 2


def test_other_answers_are_other_calls(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    run.add(make.user("u"), outputs=[make.assistant("yes")], **call(1, 900))
    run.add(make.user("u"), outputs=[make.assistant("no")], **call(1.1, 700, response_id="r1"))
    assert doubles(run.done()) == {}


def test_many_alike_calls_one_after_another_are_compared_with_their_neighbours_only(
    make: SimpleNamespace,
) -> None:
    run = make.run()
    for n in range(3_000):
        started = f"2026-11-30T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000000+00:00"
        run.add(make.user("u"), started_at=started, latency_ms=900, usage=OPENAI)
    assert doubles(run.done()) == {}
