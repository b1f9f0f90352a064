"""The numbers of the peer's analyzers, and where ours differ on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.check import Thresholds, check
from ctxdiff_analyzers.diff import TurnDiff, turn_diff
from ctxdiff_analyzers.evictions import evictions
from ctxdiff_analyzers.growth import growth_pairs
from ctxdiff_analyzers.hunks import text_diff
from ctxdiff_analyzers.prefix import prefix_report
from ctxdiff_analyzers.schemas import registered_tools, schema_use
from ctxdiff_analyzers.timeline import Timeline
from ctxdiff_analyzers.tokens import all_turn_tokens, peak, tokens_by_agent, usage_rollup
from ctxdiff_analyzers.window import window_fill

DATA = Path(__file__).parent / "data" / "golden"
CASES = sorted(path.name.removesuffix(".expected.json") for path in DATA.glob("*.expected.json"))

# Where a mended rule gives another number: place, the peer's, ours, and the reason, one by one.
DIFFERENT = json.loads((DATA.parent / "golden-differences.json").read_text("utf-8"))


def scopes(timeline: Timeline, expected: dict[str, Any]) -> Iterator[tuple[Timeline, Any, str]]:
    for scope in expected["scopes"]:
        agent = scope["agent"]
        yield timeline if agent is None else timeline.of_agent(agent), scope, str(agent)


def entries_of(diff: TurnDiff, timeline: Timeline, other: Timeline) -> set[tuple[Any, ...]]:
    def first_difference(entry: Any) -> int | None:
        if entry.kind != "modified" or entry.block_kind == "image":
            return None
        old, new = timeline.text_of(entry.content_hash_before), other.text_of(entry.content_hash)
        return text_diff(old, new).first_diff_char

    return {
        (
            entry.kind,
            entry.position_old,
            entry.position_new,
            entry.content_hash,
            entry.content_hash_before,
            entry.tokens,
            entry.tokens_before,
            entry.label,
            entry.role,
            entry.block_kind,
            first_difference(entry),
        )
        for entry in diff.entries
    }


def expected_entries(diff: dict[str, Any]) -> set[tuple[Any, ...]]:
    keys = (
        "kind",
        "from_pos",
        "to_pos",
        "content_hash",
        "content_hash_before",
        "tokens",
        "tokens_before",
        "label",
        "role",
        "block_kind",
    )
    return {
        (
            *(entry[key] for key in keys),
            entry["hunk"]["first_diff_char"]
            if entry["hunk"] and entry["block_kind"] != "image"
            else None,
        )
        for entry in diff["entries"]
    }


def sums_of(diff: TurnDiff) -> dict[str, Any]:
    names = ("added", "evicted", "modified", "unchanged", "unchanged_moved")
    return {
        "tokens_added": diff.tokens_added,
        "tokens_evicted": diff.tokens_evicted,
        "net_tokens": diff.net_tokens,
        "unchanged_tokens": diff.unchanged_tokens,
        "counts": {name: getattr(diff.counts, name) for name in names},
    }


def sums_of_entries(entries: set[tuple[Any, ...]]) -> dict[str, Any]:
    """What the sums must be, given the entries."""

    def tokens(*kinds: str, before: bool = False) -> int:
        return sum(e[6] if before else e[5] for e in entries if e[0] in kinds)

    added = tokens("added", "modified")
    evicted = tokens("evicted") + tokens("modified", before=True)
    counts = {
        kind: sum(e[0] == kind for e in entries)
        for kind in ("added", "evicted", "modified", "unchanged")
    }
    moved = sum(e[0] == "unchanged" and e[1] != e[2] for e in entries)
    return {
        "tokens_added": added,
        "tokens_evicted": evicted,
        "net_tokens": added - evicted,
        "unchanged_tokens": tokens("unchanged"),
        "counts": counts | {"unchanged_moved": moved},
    }


def diffs(place: str, expected: dict[str, Any], diff: TurnDiff, *sides: Timeline) -> Iterator[Any]:
    theirs, ours = expected_entries(expected), entries_of(diff, *sides)
    yield place, theirs, ours
    # Entries may differ on purpose; then the sums follow from ours.
    wanted = {key: expected[key] for key in sums_of(diff)}
    yield f"{place} sums", wanted if theirs == ours else sums_of_entries(ours), sums_of(diff)


def tokens_of(mine: Timeline, whole: Timeline, windows: list[str]) -> dict[str, Any]:
    turns = all_turn_tokens(mine)
    top = peak(turns)
    use = schema_use(mine)
    usage = usage_rollup(mine)
    by_agent = tokens_by_agent(mine)
    return {
        "turns": [
            {
                "turn": turn.seq,
                "agent": turn.agent,
                "step": turn.step,
                "total_tokens": turn.total_tokens,
                "approximate": turn.approximate,
                "unmeasured_blocks": turn.unmeasured_blocks,
                "slices": [
                    {"label": s.label, "tokens": s.tokens, "blocks": s.block_count, "pct": s.pct}
                    for s in turn.slices
                ],
                "provider_prompt_tokens": turn.usage.prompt_tokens,
                "provider_output_tokens": turn.usage.output_tokens,
                "reconciliation_delta": turn.reconciliation_delta,
                "window": {
                    n: {"pct": fill.pct, "alarm": fill.alarm}
                    for n in windows
                    for fill in [window_fill(turn.total_tokens, int(n))]
                },
            }
            for turn in turns
        ],
        "peak": top and {"turn": top.seq, "total_tokens": top.total_tokens},
        "schema_bloat": None
        if not use.unused
        else {
            "unused_tools": [tool.name for tool in use.unused],
            "unused_tokens_per_call": use.unused_tokens_per_call,
            "calls_analyzed": use.calls_analyzed,
            "pct_of_avg_context": use.pct_of_avg_context,
        },
        "registered_tools_session_wide": sorted(registered_tools(whole)),
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "calls_with_usage": usage.calls_with_usage,
            "calls_total": usage.calls_total,
            "by_agent": None
            if usage.by_agent is None
            else {
                one.agent or "(unlabeled)": [one.input_tokens, one.output_tokens]
                for one in usage.by_agent
            },
            "streamed_without_usage": usage.streamed_without_usage,
        },
        "block_tokens_by_agent": by_agent
        and {agent or "(unlabeled)": n for agent, n in by_agent.items()},
    }


def cache_of(mine: Timeline) -> dict[str, Any]:
    report = prefix_report(mine)
    return {
        "pairs_analyzed": report.pairs_analyzed,
        "agents_analyzed": report.agents_analyzed,
        "pairs_by_agent": report.pairs_by_agent
        and {agent or "(unlabeled)": n for agent, n in report.pairs_by_agent},
        "stable_prefix_tokens_min": report.stable_prefix_tokens_min,
        "rebilled_tokens_total": report.rebilled_tokens_total,
        "fix_hint_present": report.fix_hint,
        "breaks": [
            {
                "from_turn": b.seq_old,
                "to_turn": b.seq_new,
                "agent": b.agent,
                "stable_blocks": b.stable_blocks,
                "stable_tokens": b.stable_tokens,
                "divergent_position": b.divergent_position,
                "rebilled_tokens": b.rebilled_tokens,
                "culprit_kind": b.culprit_kind,
                "culprit_label": b.culprit_label,
                "first_diff_char": b.first_diff_char,
                "pairs_denominator": b.pairs_denominator,
            }
            for b in report.breaks
        ],
        "groups": [
            {
                "agent": g.agent,
                "culprit_kind": g.culprit_kind,
                "culprit_label": g.culprit_label,
                "divergent_position": g.divergent_position,
                "count": g.count,
                "denominator": g.denominator,
            }
            for g in report.groups
        ],
    }


def evictions_of(mine: Timeline) -> dict[str, Any]:
    report = evictions(mine)
    return {
        "pairs_analyzed": report.pairs_analyzed,
        "agents_analyzed": report.agents_analyzed,
        "tagged_blocks": report.tagged_blocks,
        "evictions": [
            {
                "label": e.label,
                "agent": e.agent,
                "tagged_turn": e.tagged_turn,
                "entered_turn": e.entered_turn,
                "last_seen_turn": e.last_seen_turn,
                "evicted_turn": e.evicted_turn,
                "tokens": e.tokens,
                "role": e.role,
                "content_hash": e.content_hash,
            }
            for e in report.events
        ],
    }


def growth_of(mine: Timeline) -> list[dict[str, Any]]:
    return [
        {
            "from_turn": pair.old.seq,
            "to_turn": pair.new.seq,
            "agent": pair.new.agent,
            "growth": pair.growth,
            "growth_pct": pair.growth_pct,
            "unmeasured_blocks": pair.unmeasured_blocks,
        }
        for pair in growth_pairs(mine)
    ]


def check_of(mine: Timeline, thresholds: dict[str, Any]) -> dict[str, Any]:
    result = check(mine, Thresholds(**thresholds))
    return {
        "thresholds": thresholds,
        "turns_analyzed": result.turns_analyzed,
        "exit_code": 0 if result.passed else 1,
        "assertions": [
            {"name": a.name, "passed": a.passed, "violations": len(a.violations)}
            for a in result.assertions
        ],
    }


def differences(place: str, theirs: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    """Every leaf in which the two differ, by its path."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        for key in theirs:
            yield from differences(f"{place}.{key}", theirs[key], ours[key])
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(f"{place}[{i}]", a, b)
    elif isinstance(theirs, set):
        if theirs != ours:
            yield place, sorted(map(short, theirs - ours)), sorted(map(short, ours - theirs))
    elif theirs != ours:
        yield place, theirs, ours


def short(entry: tuple[Any, ...]) -> str:
    return f"{entry[0]} {entry[1]}->{entry[2]} {entry[7]}"


def compared(case: str, golden: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    expected = json.loads((DATA / f"{case}.expected.json").read_text("utf-8"))
    timelines = dict(golden(DATA / f"{case}.ctrace"))
    assert list(timelines) == [session["session_id"] for session in expected["sessions"]]
    for session in expected["sessions"]:
        whole, name = timelines[session["session_id"]], f"{case}/{session['session_id'][:4]}"
        for diff in session["diffs"]:
            old, new = whole.turn(diff["from_turn"]), whole.turn(diff["to_turn"])
            ours = turn_diff(old, new, whole)
            yield from diffs(f"{name} {old.seq}->{new.seq}", diff, ours, whole, whole)
        for mine, scope, agent in scopes(whole, session):
            windows = list(scope["tokens"]["turns"][0]["window"]) if mine.turns else []
            place = f"{name} agent {agent}"
            yield f"{place} tokens", scope["tokens"], tokens_of(mine, whole, windows)
            yield f"{place} growth", scope["growth_pairs"], growth_of(mine)
            yield f"{place} cache", scope["cache"], cache_of(mine)
            yield f"{place} evictions", scope["evictions"], evictions_of(mine)
            ours = [check_of(mine, one["thresholds"]) for one in scope["checks"]]
            yield f"{place} checks", scope["checks"], ours
    for cross in expected["cross_diffs"]:
        left, right = cross["left"], cross["right"]
        there, here = timelines[left["session"]], timelines[right["session"]]
        diff = turn_diff(there.turn(left["turn"]), here.turn(right["turn"]), there, here)
        place = (
            f"{case} {left['session'][:4]}:{left['turn']}->{right['session'][:4]}:{right['turn']}"
        )
        yield from diffs(place, cross["diff"], diff, there, here)


@pytest.mark.parametrize("case", CASES)
def test_every_number_is_the_peers_or_a_listed_improvement(case: str, golden: Any) -> None:
    found = [
        [place, theirs, ours]
        for name, expected, result in compared(case, golden)
        for place, theirs, ours in differences(name, expected, result)
    ]
    listed = [row["at"] for row in DIFFERENT["rows"] if row["at"][0].startswith(case)]
    assert found == listed


def test_every_listed_improvement_has_its_reason() -> None:
    assert {row["why"] for row in DIFFERENT["rows"]} == set(DIFFERENT["reasons"])
