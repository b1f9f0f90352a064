"""The order in which findings are told."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from ctxdiff_analyzers.findings import Code, Evidence, Finding
from ctxdiff_analyzers.ranking import TIERS, ranked

SEQ = 5
GRAVE: dict[str, str] = {
    **dict.fromkeys(
        (
            *("call_failed", "output_truncated", "output_refused", "output_empty", "tool_missing"),
            *("tool_unknown", "tool_arguments_invalid", "tool_error", "tool_loop"),
        ),
        "high",
    ),
    **dict.fromkeys(("cache_break", "cache_expired", "cache_unused", "model_changed"), "medium"),
}


def found(code: Any, severity: Any = None, **fields: Any) -> Finding:
    known = {"turn": SEQ, "agent": None, "certainty": "measured"}
    return Finding(code, severity=severity or GRAVE.get(code, "low"), **(known | fields))


def order(*findings: Finding) -> list[str]:
    """The codes as they are told, whatever order they were found in."""
    told = [finding.code for finding in ranked(findings, SEQ)]
    assert told == [finding.code for finding in ranked(reversed(findings), SEQ)]
    return told


NEEDED = [
    found("tool_error"),
    found("tool_missing"),
    found("tool_result_truncated", "medium"),
    found("context_compacted", "medium"),
    found("context_evicted"),
    found("context_edited", "medium"),
    found("output_truncated"),
    found("orphan_tool_result", "high"),
]
BESIDE = [
    found("system_changed", cause="volatile_value"),
    found("system_changed", "medium", cause="section_appended"),
    found("tools_changed", cause="tool_set_changed"),
    found("tools_reordered", cause="tool_order_changed"),
    found("model_changed"),
    found("params_changed", cause="sampling_changed"),
    found("context_edited", cause="whitespace_only_change"),
    found("growth_spike", tokens=9_000),
    found("cache_break", tokens=90_000),
    found("cache_expired"),
    found("cache_unused"),
    found("call_retried"),
    found("usage_missing"),
    found("dead_schemas", tokens=9_000),
]


@pytest.mark.parametrize("first", NEEDED, ids=lambda f: f.code)
@pytest.mark.parametrize("second", BESIDE, ids=lambda f: f"{f.code}-{f.cause}")
def test_what_the_answer_needed_comes_before_terms_form_and_money(
    first: Finding, second: Finding
) -> None:
    assert order(first, second) == [first.code, second.code]


@pytest.mark.parametrize(
    ("cause", "effect"),
    [
        (found("tool_missing", "medium"), found("tools_changed", "medium")),
        (found("tool_missing", "medium"), found("tool_unknown")),
        (found("context_compacted", "medium"), found("context_evicted", "high")),
        (found("context_compacted", "medium"), found("context_edited", "medium")),
        (found("tool_result_truncated", "low"), found("context_edited", "medium")),
        (found("orphan_tool_result", "medium"), found("call_failed")),
        (found("orphan_tool_call", "medium"), found("context_evicted", "high")),
        (found("window_pressure", "high", cause="context_limit_hit"), found("call_failed")),
        (found("tool_loop", "low"), found("duplicate_context", "medium")),
        (found("output_refused"), found("output_empty")),
        (found("tool_unknown"), found("tool_error")),
    ],
    ids=lambda f: f.code,
)
def test_a_cause_comes_before_what_follows_from_it_however_grave(
    cause: Finding, effect: Finding
) -> None:
    between = found("tool_result_truncated", "low", turn=SEQ - 1)
    assert order(cause, effect) == [cause.code, effect.code]
    told = ranked([between, effect, cause], SEQ)
    at = [finding.code for finding in told].index(cause.code)
    assert told[at + 1].code == effect.code
    assert told[at + 1].why == f"it likely follows from {cause.code}"


def test_chains_of_causes_stand_together() -> None:
    lost = found("context_evicted", "medium", evidence=Evidence(counts=(("blocks", 9),)))
    orphan, failed = found("orphan_tool_result", "high"), found("call_failed")
    assert order(failed, orphan, lost, found("tool_error")) == [
        "context_evicted",
        "orphan_tool_result",
        "call_failed",
        "tool_error",
    ]


@pytest.mark.parametrize(
    ("evidence", "first"),
    [
        (Evidence(counts=(("status", 400),)), "orphan_tool_result"),
        (Evidence(names=("BadRequestError",)), "orphan_tool_result"),
        (Evidence(counts=(("status", 429),)), "call_failed"),
        (Evidence(counts=(("status", 503),)), "call_failed"),
        (Evidence(names=("APITimeoutError",)), "call_failed"),
    ],
)
def test_a_limit_or_an_outage_is_no_refusal_of_the_request(evidence: Evidence, first: str) -> None:
    failed = found("call_failed", evidence=evidence)
    assert order(found("orphan_tool_result", "high"), failed)[0] == first


@pytest.mark.parametrize(("grown", "first"), [(6_000, "growth_spike"), (900, "window_pressure")])
def test_a_window_is_filled_by_a_spike_only_if_that_is_most_of_the_turn(
    grown: int, first: str
) -> None:
    full = found("window_pressure", "medium", tokens=8_000)
    assert order(found("growth_spike", tokens=grown), full)[0] == first


def test_an_effect_at_an_earlier_turn_or_of_another_agent_has_its_own_cause() -> None:
    refused = found("call_failed", agent="b", evidence=Evidence(counts=(("status", 400),)))
    told = ranked([found("orphan_tool_result", "high", agent="a"), refused], SEQ)
    assert [finding.code for finding in told] == ["call_failed", "orphan_tool_result"]
    assert told[0].why is None


def test_context_hidden_all_along_is_a_habit_and_new_it_is_a_change() -> None:
    changed = found("params_changed", cause="sampling_changed")
    assert order(found("context_hidden", "medium"), changed)[0] == "context_hidden"
    assert order(found("context_hidden", "low"), changed)[0] == "params_changed"


def test_every_code_has_a_tier() -> None:
    assert set(TIERS) == set(get_args(Code))
