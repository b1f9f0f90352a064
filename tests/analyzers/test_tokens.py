from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.tokens import (
    AgentUsage,
    Slice,
    all_turn_tokens,
    peak,
    tokens_by_agent,
    turn_tokens,
    usage_rollup,
)
from ctxdiff_analyzers.window import Fill, window_fill


def test_labels_share_a_turn_largest_first(make: SimpleNamespace) -> None:
    run = make.run()
    turn = run.add(
        make.system("s", tokens=10), make.user("u", tokens=30), make.user("v", tag="rag", tokens=60)
    )
    found = turn_tokens(run.done(), turn)
    assert found.slices == (
        Slice("rag", 60, 1, 60.0),
        Slice("user", 30, 1, 30.0),
        Slice("system", 10, 1, 10.0),
    )
    assert (found.total_tokens, found.approximate, found.reconciliation_delta) == (100, False, None)


@pytest.mark.parametrize(
    "result",
    [
        {"type": "tool_result", "tool_use_id": "t", "content": "4 C"},
        {"toolResult": {"toolUseId": "t", "content": [{"text": "4 C"}]}},
        {"function_response": {"name": "f", "response": {"result": "4 C"}}},
    ],
)
def test_a_tool_result_in_a_users_message_is_tool_output(
    make: SimpleNamespace, result: Any
) -> None:
    # G-T6
    run = make.run()
    turn = run.add(make.part(result, tokens=9), make.part({"type": "text", "text": "hi"}, tokens=1))
    assert turn_tokens(run.done(), turn).slices == (
        Slice("tool_output", 9, 1, 90.0),
        Slice("user", 1, 1, 10.0),
    )


def test_a_tag_stays_on_a_tool_result(make: SimpleNamespace) -> None:
    run = make.run()
    turn = run.add(make.part({"type": "tool_result", "content": "x"}, tag="rag", tokens=9))
    assert [piece.label for piece in turn_tokens(run.done(), turn).slices] == ["rag"]


def test_cached_parts_belong_to_the_prompt(make: SimpleNamespace) -> None:
    # G-T7
    run = make.run()
    usage = {"input_tokens": 3, "cache_read_input_tokens": 1_534, "output_tokens": 9}
    turn = run.add(make.user("u", tokens=1_500), provider="anthropic", usage=usage)
    found = turn_tokens(run.done(), turn)
    assert (found.usage.prompt_tokens, found.reconciliation_delta) == (1_537, 37)


def test_a_count_made_for_another_provider_is_approximate(make: SimpleNamespace) -> None:
    # G-T8
    run = make.run()
    exact, estimate = make.user("exact"), make.user("estimate", method="estimate")
    turns = [
        run.add(exact, provider="openai"),
        run.add(exact, provider="anthropic"),
        run.add(estimate, provider="openai"),
    ]
    timeline = run.done()
    assert [turn_tokens(timeline, t).approximate for t in turns] == [False, True, True]


def test_an_image_that_was_never_fetched_makes_the_total_a_floor(make: SimpleNamespace) -> None:
    run = make.run()
    image = make.block("user", "[image]", "image", tokens=0, method="estimate")
    turn = run.add(image)
    assert turn_tokens(run.done(), turn).unmeasured_blocks == 1


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"surface": "openai.chat", "params": {"stream": True}}, 1),
        ({"provider": "openai", "params": {"stream": True}}, 1),
        ({"surface": "openai.chat", "params": {}}, 0),
        ({"surface": "openai.responses", "params": {"stream": True}}, 0),
        ({"surface": "anthropic.messages", "params": {"stream": True}}, 0),
        ({"surface": "openai.chat", "params": {"stream": True}, "error": "APIError"}, 0),
        (
            {
                "surface": "openai.chat",
                "params": {"stream": True, "stream_options": {"include_usage": True}},
            },
            0,
        ),
    ],
)
def test_a_stream_without_usage_is_one_that_was_not_asked_for_it(
    make: SimpleNamespace, call: dict[str, Any], expected: int
) -> None:
    # G-T4
    run = make.run()
    run.add(make.user("u"), **call)
    assert usage_rollup(run.done()).streamed_without_usage == expected


def test_agents_are_summed_apart(make: SimpleNamespace) -> None:
    run = make.run()
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    run.add(make.user("u", tokens=4), agent="a", usage=usage)
    run.add(make.user("u", tokens=4))
    run.add(make.user("u", tokens=4), agent="a", usage=usage)
    timeline = run.done()
    assert usage_rollup(timeline).by_agent == (AgentUsage("a", 10, 4),)
    assert tokens_by_agent(timeline) == {"a": 8, None: 4}


def test_no_agent_is_not_the_agent_who_is_named_like_its_bucket(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("u", tokens=4), agent="(unlabeled)", usage={"prompt_tokens": 5})
    run.add(make.user("v", tokens=3), usage={"prompt_tokens": 2})
    timeline = run.done()
    assert tokens_by_agent(timeline) == {"(unlabeled)": 4, None: 3}
    assert usage_rollup(timeline).by_agent == (
        AgentUsage("(unlabeled)", 5, 0),
        AgentUsage(None, 2, 0),
    )


def test_the_peak_is_the_earliest_of_the_largest(make: SimpleNamespace) -> None:
    run = make.run()
    for tokens in (1, 7, 7):
        run.add(make.user(f"{tokens}", tokens=tokens))
    top = peak(all_turn_tokens(run.done()))
    assert top is not None
    assert top.seq == 2


@pytest.mark.parametrize(
    ("tokens", "window", "pct", "alarm"),
    [
        (18_400, 200_000, 9.2, False),
        (79_950, 100_000, 80.0, True),
        (79_949, 100_000, 79.9, False),
        (25, 400, 6.2, False),
        (15, 400, 3.8, False),
    ],
)
def test_a_window_fills_as_displayed(tokens: int, window: int, pct: float, alarm: bool) -> None:
    assert window_fill(tokens, window) == Fill(tokens, window, pct)
    assert window_fill(tokens, window).alarm is alarm


def test_a_window_is_positive() -> None:
    with pytest.raises(ValueError, match="0"):
        window_fill(1, 0)
