"""The cases of area C, reports of recorders that lose or change calls, run by the real SDKs.

The cases are no part of this repository; see `tests/analyzers/cases.py`. The scenarios below them
are ours, of the same kinds, and always run.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyzers.cases import ABSENT, cases
from tests.capture.gaps.expectations import problems
from tests.capture.gaps.scenarios import run

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp")
CASES = cases("C")


@pytest.mark.skipif(not CASES, reason=ABSENT)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_from_a_report_is_recorded_as_it_should_be(
    case: dict[str, Any], provider: Any, recording: Any
) -> None:
    scenario = case["scenario"]
    done = run(scenario["steps"], scenario["sdk"], provider, recording)
    assert [line for expected in case["expect"] for line in problems(done, expected)] == []


OURS: dict[str, tuple[str, list[str], list[dict[str, Any]]]] = {
    "messages of the SDK appended": (
        "openai",
        ["messages.append(answer.choices[0].message)"],
        [
            {"recorded_calls": 3},
            {"blocks_at_turn": {"1": 1, "2": 3, "3": 5}},
            {"host_request_unchanged": True},
        ],
    ),
    "output of the SDK added": (
        "openai",
        ["input += response.output"],
        [{"recorded_calls": 3}, {"blocks_at_turn": {"3": 5}}],
    ),
    "content of the SDK sent back": (
        "anthropic",
        ["messages.append({'role': 'assistant', 'content': answer.content})"],
        [{"recorded_calls": 2}, {"blocks_at_turn": {"2": 3}}],
    ),
    "a copy with options": (
        "openai",
        ["client.with_options(timeout=20).chat.completions.create()"],
        [{"recorded_calls": 1}, {"return_type_unchanged": True}],
    ),
    "a parsed answer": (
        "openai",
        ["chat.completions.parse(response_format=City)"],
        [{"recorded_calls": 1}, {"usage_present": [1]}, {"host_request_unchanged": True}],
    ),
    "a stream and a stream that is left": (
        "openai",
        ["for part in create(stream=True): ...", "for part in create(stream=True): break"],
        [{"recorded_calls": 2}, {"return_type_unchanged": True}],
    ),
    "both raw ways": (
        "openai",
        ["chat.completions.with_raw_response.create()", "with_streaming_response.create()"],
        [{"usage_present": [1, 2]}, {"call_has_fields": ["response", "response_id"]}],
    ),
    "credentials beside the body": (
        "openai",
        ["create(extra_headers={'X-Api-Key': 'word-of-9f31'}, extra_query={'sig': 'hush-77ab'})"],
        [{"bytes_not_in_file": ["word-of-9f31", "hush-77ab"]}, {"recorded_calls": 1}],
    ),
    "a large request": (
        "openai",
        ["120 messages x 20 kB + 200 tools", "3 images of 4 MB"],
        [{"max_loop_block_ms": {"text": 5, "images": 50}}, {"host_request_unchanged": True}],
    ),
    "a refused call": (
        "anthropic",
        ["a call that fails with 413 'the request holds 51 pages and 40 are allowed'"],
        [{"error_contains": "51 pages"}, {"call_has_fields": ["response", "request_id"]}],
    ),
    "labels in a pool and a thread": (
        "openai",
        ["mark, tag, then a ThreadPoolExecutor"],
        [
            {"step_at_turn": {"1": "outer", "2": "outer", "3": "outer"}},
            {"tag_on_call": {"1": "rag"}},
        ],
    ),
}


@pytest.mark.parametrize("name", OURS)
def test_a_way_of_calling_is_recorded_as_it_should_be(
    name: str, provider: Any, recording: Any
) -> None:
    sdk, steps, expect = OURS[name]
    done = run(steps, sdk, provider, recording)
    assert [line for expected in expect for line in problems(done, expected)] == []


@pytest.mark.parametrize(
    "expected",
    [
        {"recorded_calls": 2},
        {"blocks_at_turn": {"1": {"min": 2}}},
        {"block_text_at_turn": {"1": "another"}},
        {"usage_has": ["prompt_tokens_details.cached_tokens"]},
        {"bytes_not_in_file": ["Which city?"]},
        {"error_contains": "x"},
        {"call_has_fields": ["error"]},
        {"step_at_turn": {"1": "outer"}},
        {"tag_on_call": {"1": "rag"}},
        {"must_flag": "usage_not_requested", "at_turn": 1},
    ],
    ids=lambda expected: next(iter(expected)),
)
def test_a_check_tells_what_does_not_hold(
    expected: dict[str, Any], provider: Any, recording: Any
) -> None:
    assert problems(run(["create()"], "openai", provider, recording), expected)


def test_an_expectation_of_no_known_kind_is_told(provider: Any, recording: Any) -> None:
    with pytest.raises(LookupError):
        problems(run(["create()"], "openai", provider, recording), {"colour": "red"})
