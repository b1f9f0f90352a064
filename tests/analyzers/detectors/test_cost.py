from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding


def broken(make: SimpleNamespace, before: Any = None, now: Any = None) -> list[Finding]:
    run = make.run()
    q = make.user("q")
    run.add(make.system("one two three four"), q, usage=before)
    run.add(make.system("one two three five"), q, usage=now)
    return [f for f in explain(run.done(), 2).findings if f.code == "cache_break"]


def cached(read: int, write: int = 0) -> dict[str, int]:
    return {
        "input_tokens": 5,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "output_tokens": 1,
    }


def test_a_broken_prefix_is_inferred_with_its_rule(make: SimpleNamespace) -> None:
    (found,) = broken(make)
    assert (found.certainty, found.severity, found.tokens) == ("inferred", "low", 5)
    assert found.why is not None
    assert found.evidence.positions == (0,)
    assert found.evidence.first_difference == len("one two three f")


def test_a_cache_that_was_not_read_makes_it_measured(make: SimpleNamespace) -> None:
    (found,) = broken(make, cached(0, 1_600), cached(0))
    assert (found.certainty, found.severity, found.why) == ("measured", "medium", None)


def test_what_the_provider_read_overrules_the_suspicion(make: SimpleNamespace) -> None:
    assert broken(make, cached(0, 1_600), cached(1_600)) == []


def test_tools_for_nothing_are_told_since_the_first_call(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    dead = make.schema({"name": "dead"}, tokens=40)
    said: list[Any] = []
    for number in range(4):
        said.append(make.user(f"{number}"))
        run.add(dead, *said, outputs=[make.assistant("a")], finish_reason="stop")
    (found,) = explain(run.done(), 4).findings
    assert (found.code, found.since, found.tokens) == ("dead_schemas", 1, 40)
    assert found.evidence.names == ("dead",)
    assert found.evidence.counts == (("unused", 1), ("registered", 1), ("calls", 4))


def run_with_tools(make: SimpleNamespace, *tools: Any, turns: int = 4, late: Any = None) -> Any:
    run = make.run(has_outputs=True)
    said: list[Any] = []
    for number in range(turns):
        said.append(make.user(f"question {number}", tokens=100))
        offered = [*tools, late] if late is not None and number == turns - 1 else tools
        run.add(*offered, *said, outputs=[make.assistant("a")], finish_reason="stop")
    return [f for f in explain(run.done(), turns).findings if f.code == "dead_schemas"]


def test_small_tools_that_a_short_run_did_not_need_are_nothing_to_tell(
    make: SimpleNamespace,
) -> None:
    small = [make.schema({"name": f"tool_{number}"}, tokens=20) for number in range(8)]
    assert run_with_tools(make, *small) == []
    assert run_with_tools(make, late=make.schema({"name": "new"}, tokens=5_000)) == []


def test_a_dear_tool_is_told_first_and_so_are_many(make: SimpleNamespace) -> None:
    small = [make.schema({"name": f"tool_{number}"}, tokens=20) for number in range(3)]
    large = make.schema({"name": "large"}, tokens=1_200)
    (found,) = run_with_tools(make, *small, large)
    assert (found.evidence.names[0], found.tokens, found.since) == ("large", 1_260, 1)
    many = [make.schema({"name": f"tool_{number}"}, tokens=20) for number in range(120)]
    (found,) = run_with_tools(make, *many)
    assert (len(found.evidence.names), found.tokens) == (20, 2_400)


def test_tools_declared_together_cost_their_share(make: SimpleNamespace) -> None:
    long = {"name": "large", "description": "x " * 900}
    declared = [{"name": "used"}, long]
    tools = make.schema({"function_declarations": declared}, tokens=1_300)
    run = make.run(has_outputs=True)
    call = make.call({"function_call": {"name": "used", "args": {}}})
    run.add(tools, make.user("q"), outputs=[call])
    run.add(tools, make.user("q"), call, outputs=[make.assistant("a")], finish_reason="STOP")
    (found,) = [f for f in explain(run.done(), 2).findings if f.code == "dead_schemas"]
    assert found.evidence.names == ("large",)
    assert found.tokens is not None
    assert 1_200 < found.tokens < 1_300


def test_a_turn_that_grows_far_more_than_usual_is_a_spike(make: SimpleNamespace) -> None:
    run = make.run()
    said: list[Any] = []
    for number, tokens in enumerate((10, 20, 30, 2_000, 20)):
        said.append(make.user(f"{number}", tokens=tokens))
        run.add(*said)
    timeline = run.done()
    spikes = [
        [f.tokens for f in explain(timeline, seq).findings if f.code == "growth_spike"]
        for seq in (3, 4, 5)
    ]
    assert spikes == [[], [2_000], []]


@pytest.mark.parametrize(
    ("sizes", "spikes"),
    [
        ((50, 60, 9_000, 30), [3]),
        ((50, 60, 900, 30), []),
        ((4_000, 60, 9_000, 30), []),
        ((50, 600, 9_000, 30), []),
        ((50, 9_000, 30), []),
    ],
    ids=["far above", "small", "much was there", "others grew too", "nothing usual"],
)
def test_few_turns_show_a_spike_that_is_above_all_there_was(
    sizes: tuple[int, ...], spikes: list[int], make: SimpleNamespace
) -> None:
    run = make.run()
    said: list[Any] = []
    for number, tokens in enumerate(sizes):
        said.append(make.user(f"{number}", tokens=tokens))
        run.add(*said)
    timeline = run.done()
    found = [f.turn for t in timeline.turns for f in explain(timeline, t.seq).findings]
    assert found == spikes


def test_a_stream_that_was_not_asked_for_usage_misses_it(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("q"), surface="openai.chat", params={"stream": True})
    (found,) = explain(run.done(), 1).findings
    assert (found.code, found.cause) == ("usage_missing", "usage_not_requested")


@pytest.mark.parametrize(
    ("said", "is_too_long"),
    [
        ("the request exceeds the available context size, try a larger one", True),
        ("`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9001 and 512", True),
        ("The decoder prompt (length 9001) is longer than the maximum model length of 8192.", True),
        ("Please reduce the length of the messages or completion.", True),
        ("prompt is too long: 210000 tokens > 200000 maximum", True),
        ("max_tokens is too large: 9000. This model supports at most 4096 tokens.", False),
        ("max_new_tokens must be <= 512. Given: 9000", False),
        ("Invalid function name: expected maximum length 64, longer than max length", False),
        ("Request too large for the tier: limit 30000 tokens per min", False),
    ],
)
def test_a_refusal_of_the_requests_size_is_told_in_any_servers_words(
    said: str, is_too_long: bool, make: SimpleNamespace
) -> None:
    run = make.run()
    run.add(make.user("hello"))
    run.add(make.user("hello"), error="BadRequestError", error_message=said, error_status=400)
    codes = [one.code for one in explain(run.done(), 2).findings]
    assert ("window_pressure" in codes) is is_too_long
