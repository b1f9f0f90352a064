from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Evidence, Finding


def of_turn(make: SimpleNamespace, *outputs: Any, **call: Any) -> list[Finding]:
    run = make.run(has_outputs=True)
    run.add(make.user("q"), outputs=outputs, **call)
    return list(explain(run.done(), 1).findings)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_an_answer_cut_off_at_a_limit_is_told_with_its_end(
    make: SimpleNamespace, reason: str
) -> None:
    answer = make.assistant("a long answer that stops in the mid")
    (found,) = of_turn(make, answer, finish_reason=reason, params={"max_tokens": 20})
    assert (found.code, found.severity) == ("output_truncated", "high")
    assert found.evidence == Evidence(
        content_hashes=(answer.content_hash,),
        names=(reason,),
        excerpts=("a long answer that stops in the mid",),
        counts=(("max_tokens", 20),),
    )


@pytest.mark.parametrize(
    ("reason", "part"),
    [
        ("content_filter", {"type": "text", "text": "x"}),
        ("refusal", {"type": "text", "text": "x"}),
        ("SAFETY", {"type": "text", "text": "x"}),
        ("stop", {"type": "refusal", "refusal": "I can't help with that."}),
    ],
)
def test_a_refusal_is_known_by_its_reason_or_its_part(
    make: SimpleNamespace, reason: str, part: Any
) -> None:
    found = of_turn(make, make.call(part), finish_reason=reason)
    assert [f.code for f in found] == ["output_refused"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("I'm sorry, but I can't assist with that.", ["output_refused"]),
        ("I can’t help with this request.", ["output_refused"]),
        ("I am unable to provide that information.", ["output_refused"]),
        ("I can't find that booking; could you give me its number?", []),
        ("I'm sorry, I can't help with that order before it is paid, but I can cancel it.", []),
        ("Sorry to hear that! I can help with that.", []),
    ],
)
def test_an_answer_that_is_a_set_phrase_of_refusal_is_one(
    make: SimpleNamespace, text: str, codes: list[str]
) -> None:
    found = of_turn(make, make.assistant(text), finish_reason="stop")
    assert [(f.code, f.certainty) for f in found] == [(code, "inferred") for code in codes]
    part = make.call({"type": "text", "text": text})
    assert [f.code for f in of_turn(make, part, finish_reason="end_turn")] == codes


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "malformed_tool_use"])
def test_a_call_that_the_provider_could_not_read_is_told_before_the_empty_answer(
    make: SimpleNamespace, reason: str
) -> None:
    found = of_turn(make, finish_reason=reason)
    assert [f.code for f in found] == ["tool_arguments_invalid", "output_empty"]
    assert (found[0].certainty, found[0].evidence.names) == ("measured", (reason,))


def test_a_refusal_beside_an_empty_message_is_a_refusal(make: SimpleNamespace) -> None:
    (found,) = of_turn(make, make.assistant(""), finish_reason="stop", refusal="I can't help.")
    assert (found.code, found.evidence.excerpts) == ("output_refused", ("I can't help.",))


@pytest.mark.parametrize(
    ("outputs", "codes"),
    [
        ([], ["output_empty"]),
        ([""], ["output_empty"]),
        (["  \n"], ["output_empty"]),
        (["hi"], []),
    ],
)
def test_an_answer_without_content_is_empty(
    make: SimpleNamespace, outputs: list[str], codes: list[str]
) -> None:
    found = of_turn(make, *[make.assistant(text) for text in outputs], finish_reason="stop")
    assert [f.code for f in found] == codes


@pytest.mark.parametrize("kind", ["text", "output_text"])
def test_a_text_part_without_a_text_is_an_empty_answer(make: SimpleNamespace, kind: str) -> None:
    said = make.call({"type": kind, "text": " ", "annotations": []})
    assert [f.code for f in of_turn(make, said, finish_reason="stop")] == ["output_empty"]
    said = make.call({"type": kind, "text": "yes", "annotations": []})
    assert of_turn(make, said, finish_reason="stop") == []


def test_thinking_alone_is_an_empty_answer_and_a_tool_call_is_none(make: SimpleNamespace) -> None:
    thinking = make.call({"type": "thinking", "thinking": "hm", "signature": "s"})
    call = make.call({"id": "1", "type": "function", "function": {"name": "a", "arguments": ""}})
    assert [f.code for f in of_turn(make, thinking, finish_reason="end_turn")] == ["output_empty"]
    codes = [f.code for f in of_turn(make, thinking, call, finish_reason="tool_calls")]
    assert "output_empty" not in codes


def test_a_file_without_answers_has_no_empty_ones(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("q"), usage={"prompt_tokens": 1, "completion_tokens": 1})
    assert explain(run.done(), 1).findings == ()


def test_a_failed_call_is_told_with_type_status_and_message(make: SimpleNamespace) -> None:
    (found,) = of_turn(
        make, error="RateLimitError", error_message="Slow down " * 100, error_status=429
    )
    assert (found.code, found.severity, found.evidence.names) == (
        "call_failed",
        "high",
        ("RateLimitError",),
    )
    assert found.evidence.counts == (("status", 429),)
    assert len(found.evidence.excerpts[0]) == 300


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input is too long for requested model.",
        "The input token count (1200000) exceeds the maximum number of tokens allowed",
    ],
)
def test_a_request_refused_as_too_long_hit_the_window(make: SimpleNamespace, message: str) -> None:
    found = of_turn(make, error="BadRequestError", error_message=message, error_status=400)
    assert [(f.code, f.cause) for f in found] == [
        ("window_pressure", "context_limit_hit"),
        ("call_failed", None),
    ]


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("too many tokens per minute for this key", 429),
        ("Request too large for m on tokens per min (TPM): limit 30000, requested 41000", None),
        ("prompt is too long for shard 7, try again", 503),
    ],
)
def test_a_limit_on_tokens_in_a_minute_is_no_full_window(
    make: SimpleNamespace, message: str, status: int | None
) -> None:
    found = of_turn(make, error="RateLimitError", error_message=message, error_status=status)
    assert [f.code for f in found] == ["call_failed"]


def test_attempts_of_one_call_and_a_repeated_request_are_retries(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    run.add(make.user("q"), error="APIConnectionError")
    run.add(make.user("q"), outputs=[make.assistant("a")])
    run.add(make.user("q"), outputs=[make.assistant("a")], attempts=3)
    timeline = run.done()
    first, second = (explain(timeline, seq).findings[0] for seq in (2, 3))
    assert (first.code, first.certainty, first.since) == ("call_retried", "inferred", 1)
    assert (second.code, second.certainty, second.evidence.counts) == (
        "call_retried",
        "measured",
        (("attempts", 3),),
    )


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"model": "a"}, {"model": "b"}, [("model_changed", None)]),
        ({"temperature": 0}, {"temperature": 1}, [("params_changed", "sampling_changed")]),
        ({}, {"tool_choice": "none"}, [("params_changed", "tool_choice_changed")]),
        ({}, {"thinking": {"type": "enabled"}}, [("params_changed", "thinking_config_changed")]),
        ({"stream": True}, {"stream": False, "user": "u"}, []),
    ],
)
def test_what_the_call_asks_for_is_compared_to_the_agents_previous_one(
    make: SimpleNamespace, before: Any, now: Any, expected: Any
) -> None:
    run = make.run()
    run.add(make.user("q"), params=before)
    run.add(make.user("q"), params=now)
    assert [(f.code, f.cause) for f in explain(run.done(), 2).findings] == expected


def test_another_model_behind_the_same_name_is_another_model(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("q"), response_model="m-1")
    run.add(make.user("q"), response_model="m-2")
    (found,) = explain(run.done(), 2).findings
    assert (found.code, found.evidence.names) == ("model_changed", ("m-1", "m-2"))
