"""Context that the provider holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding

from tests.analyzers.wire import Ask, Call, Got, Say, User, grown, lines, recorded


def told(surface: str, calls: list[Call], folder: Path, turn: int) -> list[Finding]:
    return list(explain(recorded(lines(surface, calls), folder), turn).findings)


TALK = [User("A"), Say("a"), User("B"), Say("b"), User("C"), Say("c")]


@pytest.mark.parametrize(
    ("surface", "params", "name"),
    [
        ("openai.responses", {"previous_response_id": "resp_0"}, "previous_response_id"),
        ("openai.responses", {"conversation": {"id": "conv_0"}}, "conversation"),
        ("openai.responses", {"prompt": {"id": "pmpt_0", "version": "2"}}, "prompt"),
        ("gemini.generate_content", {"cachedContent": "cachedContents/x"}, "cached_content"),
        ("anthropic.messages", {"container": "container_0"}, "container"),
        (
            "bedrock.converse",
            {"modelId": "arn:aws:bedrock:eu-west-1:1:prompt/ABC:1"},
            "prompt",
        ),
    ],
)
def test_context_from_the_providers_store_is_named(
    surface: str, params: dict[str, Any], name: str, tmp_path: Path
) -> None:
    calls = grown(TALK)
    changed = [*calls[:2], Call(calls[2].said, calls[2].answer, params=params)]
    found = [f for f in told(surface, changed, tmp_path, 3) if f.code == "context_hidden"]
    assert [(f.severity, f.certainty, f.since) for f in found] == [("medium", "measured", None)]
    assert found[0].evidence.names == (name,)


@pytest.mark.parametrize(
    ("surface", "params"),
    [
        ("openai.chat", {"store": True, "metadata": {"conversation": "c"}}),
        ("openai.responses", {"store": True, "include": ["reasoning.encrypted_content"]}),
        ("openai.responses", {"previous_response_id": None}),
        ("anthropic.messages", {"metadata": {"user_id": "u"}}),
        ("bedrock.converse", {"modelId": "arn:aws:bedrock:eu-west-1:1:inference-profile/x"}),
    ],
)
def test_a_request_that_brings_all_of_its_context_hides_none(
    surface: str, params: dict[str, Any], tmp_path: Path
) -> None:
    calls = grown(TALK, params=params, tools=())
    assert told(surface, calls, tmp_path, 3) == []


def chained(tmp_path: Path, turn: int) -> list[Finding]:
    """A run that brings its history twice and then goes on from the provider's."""
    talk = [
        User("A"),
        Ask("c1"),
        Got("c1", "1"),
        Say("one"),
        User("B"),
        Ask("c2"),
        Got("c2", "2"),
        Say("two"),
        User("C"),
        Say("three"),
    ]
    calls = grown(talk)
    chain = {"params": {"previous_response_id": "resp_1"}, "system": None}
    later = [
        Call([User("B")], calls[2].answer, **chain),
        Call([Got("c2", "2")], calls[3].answer, **chain),
        Call([User("C")], calls[4].answer, tools=(), **chain),
    ]
    return told("openai.responses", [*calls[:2], *later], tmp_path, turn)


@pytest.mark.parametrize("turn", [3, 4, 5])
def test_nothing_is_missed_that_the_provider_holds(turn: int, tmp_path: Path) -> None:
    found = chained(tmp_path, turn)
    assert [f.code for f in found] == ["context_hidden"]
    assert found[0].since == (None if turn == 3 else 3)


def test_a_failed_tool_is_told_although_its_call_is_hidden(tmp_path: Path) -> None:
    chain = {"previous_response_id": "resp_1"}
    calls = [
        Call([User("A")], [Ask("c1")], params=chain),
        Call([Got("c1", "Error: the ledger is closed")], params=chain),
    ]
    found = told("openai.responses", calls, tmp_path, 2)
    assert [f.code for f in found] == ["tool_error", "context_hidden"]


def test_what_changes_behind_the_same_cached_content_is_told(tmp_path: Path) -> None:
    cached = {"params": {"cachedContent": "cachedContents/x"}, "tools": (), "system": None}
    calls = grown(TALK, **cached)
    kept = [said for said in calls[2].said if said != User("A")]
    found = told("gemini.generate_content", [*calls[:2], Call(kept, **cached)], tmp_path, 3)
    assert [f.code for f in found if f.code == "context_evicted"] == ["context_evicted"]
