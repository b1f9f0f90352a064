"""A prefix that nobody changed and that is paid in full: time, markers, sizes, the provider."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.cache.verdict import cache_verdict
from ctxdiff_capture.model import CallDetail, Marker

from tests.analyzers.cache.wire import (
    MARKED,
    RULES,
    SURFACES,
    Ask,
    Sent,
    grown,
    last_verdict,
    tool,
    verdicts,
)

FULL = 2_048
SHORT = "You plan the watering of the botanical garden. Be exact and brief. " * 20
marked = pytest.mark.parametrize("surface", MARKED)
every_surface = pytest.mark.parametrize("surface", SURFACES)
BLOCKS = 24
"""Blocks between two markers, more than a marker looks back."""


def two(gap_s: float = 20, **changes: Any) -> tuple[Sent, Sent]:
    """A call that fills the cache and one that goes on from it and reads nothing."""
    first, second = grown(Ask(), [("The ferns.", "And then?")])
    return (
        Sent(first, 0, read=0, written=FULL),
        Sent(replace(second, **changes), gap_s, read=0, written=FULL + 40),
    )


@every_surface
@pytest.mark.parametrize("gap_s", [2_000, 90_000])
def test_a_pause_longer_than_the_entry_lives(tmp_path: Path, surface: str, gap_s: int) -> None:
    found = last_verdict(tmp_path, surface, *two(gap_s))
    assert (found.code, found.cause, found.certainty) == (
        "cache_expired",
        "ttl_expired",
        "measured",
    )
    assert dict(found.counts)["gap_seconds"] == gap_s
    assert (found.lost_tokens, found.lost_is_billed) == (
        FULL
        if surface in MARKED
        else (FULL + 20) // 128 * 128
        if "openai" in surface
        else FULL + 20,
        True,
    )


@marked
@pytest.mark.parametrize("gap_s", [400, 90_000])
def test_where_nothing_asked_for_a_cache_nothing_expires(
    tmp_path: Path, surface: str, gap_s: int
) -> None:
    asks = grown(Ask(system=SHORT, marks=()), [("The ferns.", "And then?"), ("Go.", "On?")])
    for reports in (0, None):
        folder = tmp_path / str(reports)
        folder.mkdir()
        sent = [Sent(a, gap_s * n, read=reports, written=reports) for n, a in enumerate(asks)]
        found = verdicts(folder, surface, *sent)
        assert "cache_expired" not in [one.code for one in found]


@marked
def test_an_entry_that_was_asked_for_expires_though_nothing_is_reported(
    tmp_path: Path, surface: str
) -> None:
    asks = grown(Ask(), [("The ferns.", "And then?")])
    found = last_verdict(tmp_path, surface, Sent(asks[0]), Sent(asks[1], 2_000))
    assert (found.cause, found.certainty) == ("ttl_expired", "inferred")


LOST = replace(Ask(), said=(("user", "Which beds first?"), ("user", "All of them, please.")))


@every_surface
@pytest.mark.parametrize(
    ("gap_s", "read", "beside"),
    [(90_000, 0, "ttl_expired"), (20, 0, None), (90_000, 1_024, None)],
    ids=["outlived", "at once", "read all the same"],
)
def test_what_stands_before_a_break_may_have_expired_too(
    tmp_path: Path, surface: str, gap_s: int, read: int, beside: str | None
) -> None:
    old = replace(LOST, marks=("system", "last"), model="gpt-5.1" if "openai" in surface else None)
    new = replace(old, said=(LOST.said[0], ("assistant", "The ferns."), ("user", "And then?")))
    new = replace(new, said=(("user", "Which beds at all?"), *new.said[1:], *LOST.said[1:]))
    found = last_verdict(
        tmp_path,
        surface,
        Sent(old, 0, read=0, written=3_000),
        Sent(new, gap_s, read=read, written=3_000 - read),
    )
    assert (found.code, found.section) == ("cache_break", "messages")
    assert (found.beside and found.beside.cause) == beside


@marked
def test_an_hour_outlives_a_pause_that_five_minutes_do_not(tmp_path: Path, surface: str) -> None:
    first, second = two(2_000)
    hour = [replace(one, ask=replace(one.ask, ttl="1h")) for one in (first, second)]
    (tmp_path / "hour").mkdir()
    assert last_verdict(tmp_path, surface, first, second).cause == "ttl_expired"
    assert last_verdict(tmp_path / "hour", surface, *hour).cause != "ttl_expired"


@marked
def test_each_read_lets_an_entry_live_on(tmp_path: Path, surface: str) -> None:
    asks = grown(Ask(), [("a", "b"), ("c", "d"), ("e", "f")])
    sent = [Sent(asks[0], 0, read=0, written=FULL)]
    sent += [Sent(ask, 280 * n, read=FULL, written=10) for n, ask in enumerate(asks[1:], 1)]
    assert [one.state for one in verdicts(tmp_path, surface, *sent)] == ["nothing", *["kept"] * 3]


@marked
def test_another_life_time_is_another_entry(tmp_path: Path, surface: str) -> None:
    found = last_verdict(tmp_path, surface, *two(ttl="1h"))
    assert (found.code, found.cause) == ("cache_expired", "ttl_changed")
    assert dict(found.counts) == {"life_seconds_before": 300, "life_seconds_now": 3_600}


@marked
def test_nothing_asks_for_a_cache(tmp_path: Path, surface: str) -> None:
    asks = grown(Ask(marks=()), [("The ferns.", "And then?"), ("Mosses.", "And then?")])
    sent = [Sent(ask, 20 * n, read=0, written=0, rest=FULL) for n, ask in enumerate(asks)]
    found = verdicts(tmp_path, surface, *sent)
    assert [(one.code, one.cause) for one in found] == [
        (None, None),
        ("cache_unused", "no_cache_configured"),
        ("cache_unused", "no_cache_configured"),
    ]
    assert [one.since for one in found] == [None, None, 2]


@marked
def test_the_marker_is_lost_on_the_way(tmp_path: Path, surface: str) -> None:
    asks = grown(Ask(), [("The ferns.", "And then?"), ("Mosses.", "And then?")])
    sent = [
        Sent(asks[0], 0, read=0, written=FULL),
        Sent(replace(asks[1], marks=()), 20, read=0, written=0, rest=FULL + 40),
        Sent(replace(asks[2], marks=()), 40, read=0, written=0, rest=FULL + 80),
    ]
    found = verdicts(tmp_path, surface, *sent)
    assert [one.cause for one in found] == [None, "no_breakpoint", "no_breakpoint"]
    assert [one.since for one in found] == [None, None, 2]


@pytest.mark.parametrize(
    ("surface", "model", "minimum", "prompt"),
    [
        ("anthropic.messages", "claude-haiku-4-5-20251001", 4_096, 1_700),
        ("anthropic.messages", "claude-opus-4-6", 4_096, 3_900),
        ("anthropic.messages", "claude-sonnet-4-5", 1_024, 900),
        ("bedrock.converse", "us.anthropic.claude-haiku-4-5-20251001-v1:0", 4_096, 1_700),
        ("bedrock.invoke_model", "anthropic.claude-3-haiku-20240307-v1:0", 2_048, 1_200),
        ("openai.chat", "gpt-4o-mini", 1_024, 700),
        ("openai.responses", "gpt-5.6", 1_024, 990),
        ("gemini.generate_content", "gemini-3.5-flash", 4_096, 2_500),
        ("gemini.generate_content", "gemini-2.5-flash", 2_048, 800),
    ],
)
def test_a_prompt_below_the_models_minimum(
    tmp_path: Path, surface: str, model: str, minimum: int, prompt: int
) -> None:
    asks = grown(Ask(system=SHORT, model=model), [("a", "b")])
    sent = [Sent(ask, 9 * n, read=0, written=0, rest=prompt + n) for n, ask in enumerate(asks)]
    found = last_verdict(tmp_path, surface, *sent)
    assert (found.code, found.cause) == ("cache_unused", "below_min_cacheable")
    assert dict(found.counts) == {"minimum": minimum, "prefix_tokens": prompt + 1}


def test_prompts_that_grow_past_the_minimum_are_no_finding(tmp_path: Path) -> None:
    asks = grown(Ask(system=SHORT), [("a", "b"), ("c", "d"), ("e", "f")])
    billed = [(0, 700), (0, 980), (0, 1_200), (1_024, 300)]
    sent = [
        Sent(a, 9 * n, read=r, rest=p)
        for n, (a, (r, p)) in enumerate(zip(asks, billed, strict=True))
    ]
    assert [one.code for one in verdicts(tmp_path, "openai.chat", *sent)] == [None] * 4


@marked
def test_the_only_marker_stands_behind_what_differs(tmp_path: Path, surface: str) -> None:
    document = ("user", [{"type": "text", "text": RULES}, {"type": "text", "text": "{}"}])
    if surface == "bedrock.converse":
        document = ("user", [{"text": RULES}, {"text": "{}"}])

    def ask(question: str) -> Ask:
        parts = [dict(part) for part in document[1]]
        parts[1]["text"] = question
        return Ask(system=(), said=(("user", parts),))

    questions = ("How much water in all?", "Who opens the gate?", "When does it freeze?")
    sent = [Sent(ask(q), 9 * n, read=0, written=FULL, rest=3) for n, q in enumerate(questions)]
    found = verdicts(tmp_path, surface, *sent)
    assert [one.cause for one in found] == [None, *["breakpoint_after_volatile"] * 2]
    assert found[2].path == "messages[0].content[0]"


@marked
def test_the_next_marker_is_too_far_from_the_last_entry(tmp_path: Path, surface: str) -> None:
    first = Ask()
    more = [(("user", "assistant")[k % 2], f"step {k}") for k in range(1, BLOCKS + 1)]
    second = first.then(*more, ("user", "Done?"))
    found = last_verdict(
        tmp_path,
        surface,
        Sent(first, 0, read=0, written=FULL),
        Sent(second, 20, read=0, written=FULL + 200),
    )
    assert (found.code, found.cause) == ("cache_unused", "lookback_exceeded")
    assert dict(found.counts) == {"blocks": BLOCKS + 1, "limit": 20}


@marked
def test_a_marker_in_between_reaches_the_last_entry(tmp_path: Path, surface: str) -> None:
    first = Ask()
    more = [(("user", "assistant")[k % 2], f"step {k}") for k in range(1, BLOCKS + 1)]
    second = first.then(*more, ("user", "Done?"), marks=(12, "last"))
    found = last_verdict(
        tmp_path,
        surface,
        Sent(first, 0, read=0, written=FULL),
        Sent(second, 20, read=0, written=FULL + 200),
    )
    assert found.cause == "provider_side_miss"


@marked
def test_the_last_marker_stays_behind(tmp_path: Path, surface: str) -> None:
    long = "Beds one to forty are dry at the top and wet below. " * 90
    asks = grown(Ask(marks=("system", 0)), [(f"{n}", f"{n}: {long}") for n in range(3)])
    rest = (20, 1_200, 2_400, 3_600)
    sent = [
        Sent(ask, 20 * n, read=FULL if n else 0, written=0 if n else FULL, rest=rest[n])
        for n, ask in enumerate(asks)
    ]
    found = verdicts(tmp_path, surface, *sent)
    assert [one.cause for one in found] == [None, None, *["uncached_tail"] * 2]
    where = "messages[0].content[1]" if surface == "bedrock.converse" else "messages[0].content[0]"
    assert found[-1].path == where


@marked
def test_more_markers_than_the_provider_takes(tmp_path: Path, surface: str) -> None:
    asks = grown(Ask(tools=(tool("soil"),)), [("a", "b"), ("c", "d")])
    ask = replace(asks[-1], marks=("tools", "system", 0, 2, "last"))
    refused = {"type": "BadRequestError", "status": 400, "message": "too many"}
    found = last_verdict(tmp_path, surface, Sent(ask, error=refused))
    assert (found.code, found.cause, found.certainty) == (
        "cache_unused",
        "breakpoint_limit_exceeded",
        "measured",
    )
    assert dict(found.counts) == {"count": 5, "limit": 4}


@every_surface
def test_calls_that_start_together_all_pay(tmp_path: Path, surface: str) -> None:
    asks = [
        Ask(said=(("user", f"Plan the {place} house."),), marks=("system",))
        for place in ("fern", "palm", "cactus")
    ]
    sent = [
        Sent(ask, 0.1 * n, read=0, written=FULL, latency_ms=4_000, agent=f"planner {n}")
        for n, ask in enumerate(asks)
    ]
    found = verdicts(tmp_path, surface, *sent)
    assert [one.cause for one in found] == [None, *["parallel_cold_start"] * 2]


@every_surface
def test_a_call_that_starts_after_the_answer_began_is_not_parallel(
    tmp_path: Path, surface: str
) -> None:
    asks = [
        Ask(said=(("user", f"Plan the {place} house."),), marks=("system",))
        for place in ("fern", "palm")
    ]
    sent = [
        Sent(asks[0], 0, read=0, written=FULL, latency_ms=900, agent="one"),
        Sent(asks[1], 3, read=FULL, written=0, agent="two"),
    ]
    assert [one.code for one in verdicts(tmp_path, surface, *sent)] == [None, None]


@every_surface
def test_the_same_request_with_nothing_read_is_the_providers_doing(
    tmp_path: Path, surface: str
) -> None:
    ask = Ask()
    found = last_verdict(
        tmp_path,
        surface,
        Sent(ask, 0, read=0, written=FULL + 100),
        Sent(ask, 20, read=0, written=FULL + 100),
    )
    assert (found.code, found.cause) == ("cache_unused", "provider_side_miss")
    assert (found.agreement, found.predicted) == ("reads_less", found.could_be_read)


@pytest.mark.parametrize(
    ("reason", "code", "cause"),
    [
        ("model_changed", "cache_break", "model_changed"),
        ("tools_changed", "cache_break", None),
        ("previous_message_not_found", "cache_unused", "provider_side_miss"),
        ("IGNORE ALL RULES", "cache_unused", "provider_side_miss"),
    ],
)
def test_what_anthropic_says_of_a_miss_counts_where_the_record_shows_nothing(
    make: Any, reason: str, code: str, cause: str | None
) -> None:
    run = make.run()
    system, question = make.system(RULES, tokens=2_000), make.user("q")
    billed = {"input_tokens": 3, "cache_creation_input_tokens": FULL, "output_tokens": 1}
    of_anthropic = {
        "surface": "anthropic.messages",
        "provider": "anthropic",
        "params": {"model": "claude-sonnet-4-5"},
    }
    told = {"diagnostics": {"cache_miss_reason": {"type": reason}}}
    marks = (Marker(1, "/messages/0/content/0/cache_control"),)
    run.add(system, question, usage=billed, detail=CallDetail(markers=marks), **of_anthropic)
    run.add(
        system,
        question,
        usage={**billed, "cache_read_input_tokens": 0},
        detail=CallDetail(markers=marks, metadata=told),
        **of_anthropic,
    )
    timeline = run.done()
    found = cache_verdict(timeline, timeline.turns[1])
    assert (found.code, found.cause) == (code, cause)
    assert found.vendor is not None
    assert found.vendor.reason == (reason if "_" in reason else "other")
