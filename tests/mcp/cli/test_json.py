"""The JSON of each command: the analyzers' field names, whole and in one object."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session

Cli = Callable[..., Any]
Trace = Callable[..., Path]

RUN = {"run", "session_id"}


@pytest.fixture
def ask(ctxdiff: Cli, demo: Path) -> Callable[..., dict[str, Any]]:
    """The object that a command prints about the demo's trace."""

    def run(*argv: str) -> dict[str, Any]:
        done = ctxdiff(*argv, "--project", demo, "--json")
        assert (done.status, done.err) == (0, "")
        answer: dict[str, Any] = json.loads(done.out)
        return answer

    return run


def test_a_finding_has_the_fields_of_the_vocabulary(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("explain", "--turn", "8")
    first = answer["findings"][0]
    (digest,) = first["evidence"]["content_hashes"]
    assert len(digest) == 64
    (excerpt,) = first["evidence"].pop("excerpts")
    assert excerpt.startswith("Service bulletin SB-2041")
    assert first == {
        "code": "context_evicted",
        "cause": "evicted_block",
        "turn": 8,
        "since": None,
        "agent": "researcher",
        "severity": "high",
        "certainty": "measured",
        "evidence": {
            "content_hashes": [digest],
            "positions": [7],
            "first_difference": None,
            "names": ["rag"],
            "counts": {"blocks": 1},
            "path": None,
            "reusable": [],
        },
        "tokens": 69,
        "tokens_method": "exact",
        "why": None,
        "next": {
            "tool": "ctxdiff_diff",
            "arguments": {"run": "demo", "turn_a": 7, "turn_b": 8},
        },
    }


def test_explain_gives_every_finding_in_one_object(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("explain", "--turn", "8", "--context-window", "1000")
    codes = [finding["code"] for finding in answer["findings"]]
    assert codes == ["context_evicted", "context_evicted", "dead_schemas"]
    assert (answer["turn"], answer["agent"], answer["chosen_by"]) == (8, "researcher", "asked")
    assert answer["window"]["window"] == 1000
    assert answer["diff"]["counts"]["evicted"] == 4
    assert answer["outcome"]["finish_reason"] == "stop"


def test_a_healthy_turn_has_an_empty_list_of_findings(ctxdiff: Cli, trace: Trace) -> None:
    response = {
        "id": "c",
        "object": "chat.completion",
        "model": "gpt-5",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}
        ],
        "usage": {"prompt_tokens": 8, "completion_tokens": 1, "total_tokens": 9},
    }
    path = trace({"messages": [("user", "hello")], "response": response})
    done = ctxdiff("explain", "--turn", "1", "--project", path, "--json")
    assert json.loads(done.out)["findings"] == []
    assert "no findings" in ctxdiff("explain", "--turn", "1", "--project", path).out


def test_tokens_speak_the_analyzers_names(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("tokens", "--turn", "8", "--context-window", "400")
    assert set(answer) == RUN | {
        *("agent", "turns", "peak", "usage", "block_tokens_by_agent", "schema_bloat", "evictions"),
        *("ledger", "recorded_twice", "reconciliation", "cost"),
    }
    (turn,) = answer["turns"]
    assert set(turn) == {
        *("seq", "agent", "step", "total_tokens", "approximate", "unmeasured_blocks", "slices"),
        *("provider_usage", "reconciliation_delta", "window"),
    }
    assert turn["total_tokens"] == sum(part["tokens"] for part in turn["slices"])
    assert set(turn["slices"][0]) == {"label", "tokens", "block_count", "pct"}
    assert turn["window"]["alarm"] == (turn["window"]["pct"] >= 80)
    assert answer["schema_bloat"]["unused_tools"] == ["convert_currency"]
    (lost,) = answer["evictions"]
    assert (lost["label"], lost["tagged_turn"], lost["evicted_turn"]) == ("rag", 2, 8)
    assert set(answer["usage"]["by_agent"]) == {"researcher", "writer"}


def test_cache_speaks_the_analyzers_names(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("cache")
    (broken,) = answer["breaks"]
    assert (broken["seq_old"], broken["seq_new"], broken["culprit_kind"]) == (7, 8, "evicted")
    assert answer["rebilled_tokens_total"] == broken["rebilled"]
    assert answer["stable_prefix_tokens_min"] <= broken["stable_tokens"]
    assert (answer["pairs_analyzed"], answer["agents_analyzed"]) == (7, 2)
    (group,) = answer["groups"]
    assert (group["count"], group["denominator"], group["turns"]) == (1, 5, [8])


def test_a_block_is_given_whole_by_hash_and_by_place(ask: Callable[..., dict[str, Any]]) -> None:
    by_place = ask("block", "--turn", "2", "--position", "7")
    by_hash = ask("block", by_place["content_hash"][:10])
    assert by_place == by_hash
    assert by_hash["text"].startswith("Service bulletin SB-2041")
    assert (by_hash["role"], by_hash["label"], by_hash["input_turns"]) == (
        "user",
        "rag",
        [2, 4, 5, 7],
    )


def test_a_turn_lists_what_was_sent_and_what_came_back(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("block", "--turn", "2")
    assert [placed["position"] for placed in answer["inputs"]] == list(range(8))
    assert answer["inputs"][7]["label_source"] == "tagged"
    (reply,) = answer["outputs"]
    assert reply["block"]["role"] == "assistant"
    assert answer["has_outputs"]


def test_search_tells_when_a_text_entered_and_left(ask: Callable[..., dict[str, Any]]) -> None:
    (match,) = ask("search", "must not exceed 55")["matches"]
    assert match["events"] == [
        {"seq": 2, "kind": "entered"},
        {"seq": 8, "kind": "left", "way": "trimmed", "into": None},
    ]
    assert "must not exceed 55" in match["excerpt"]["text"]
    assert ask("search", "never said")["matches"] == []


def test_a_run_is_listed_with_what_its_session_says(ask: Callable[..., dict[str, Any]]) -> None:
    (row,) = ask("runs")["runs"]
    assert set(row) == RUN | {
        *("project", "started_at", "provider", "models", "agents", "turn_count"),
    }
    assert (row["run"], row["turn_count"], row["agents"]) == ("demo", 9, ["researcher", "writer"])


@pytest.mark.parametrize("command", ["tokens", "cache", "explain"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_session_without_calls_is_an_answer(
    ctxdiff: Cli, tmp_path: Path, command: str, form: list[str]
) -> None:
    path = tmp_path / "empty.ctrace"
    create_session(
        Destination(path=path),
        project="empty",
        provider="openai",
        started_at="2026-11-30T10:00:00.000000+00:00",
    ).close()
    done = ctxdiff(command, *form, "--project", path)
    assert (done.status, done.err) == (0, "")
    assert "no turns" in done.out
