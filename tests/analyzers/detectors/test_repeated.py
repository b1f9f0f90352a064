"""Messages of equal words, of which one goes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import Call, Say, User

TALK: tuple[Any, ...] = (
    User("Dictate the list of plants, please."),
    Say("First bed: leek and kale."),
    User("Next."),
    Say("Second bed: broad beans."),
    User("Next."),
    Say("Third bed: rhubarb, two crowns."),
    User("Next."),
    Say("Fourth bed: lies fallow."),
    User("Next."),
)


def told(found: Sequence[Finding]) -> list[tuple[str, str | None]]:
    kinds = ("context_edited", "context_evicted", "context_compacted", "duplicate_context")
    return [(one.code, one.cause) for one in found if one.code in kinds]


LISTS = {
    "openai.chat": "messages",
    "openai.responses": "input",
    "anthropic.messages": "messages",
    "gemini.generate_content": "contents",
    "bedrock.converse": "messages",
}


@pytest.mark.parametrize("surface", LISTS)
@pytest.mark.parametrize("left_out", [2, 4, 6])
def test_one_of_several_equal_messages_that_goes_is_gone(
    surface: str, left_out: int, tmp_path: Path
) -> None:
    log = wire.lines(surface, [*wire.grown(TALK[:8]), Call(TALK)])
    messages = log[-1]["request"][LISTS[surface]]
    del messages[left_out - len(TALK)]
    found = wire.explain(wire.recorded(log, tmp_path), len(log)).findings
    assert told(found) == [("context_evicted", "evicted_block")]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_equal_messages_that_all_stay_are_no_finding(surface: str, tmp_path: Path) -> None:
    calls = wire.grown(TALK)
    for turn in range(1, len(calls) + 1):
        assert told(wire.findings(surface, calls, tmp_path, turn)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_copy_of_the_history_that_is_cleaned_up_is_no_loss(surface: str, tmp_path: Path) -> None:
    double = Call((*TALK[:5], *TALK[1:5]), (TALK[5],))
    calls = [*wire.grown(TALK[:4]), double, Call(TALK[:7])]
    assert told(wire.findings(surface, calls, tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_message_that_was_sent_twice_may_go_once(surface: str, tmp_path: Path) -> None:
    calls = [*wire.grown(TALK[:4]), Call((*TALK[:5], TALK[4]), (TALK[5],)), Call(TALK[:7])]
    assert told(wire.findings(surface, calls, tmp_path)) == []


def test_a_reminder_that_moves_to_the_end_each_turn_is_no_loss(tmp_path: Path) -> None:
    reminder = User("Mind the frost.")
    calls = [
        Call((TALK[0], reminder), (TALK[1],)),
        Call((*TALK[:3], reminder), (TALK[3],)),
        Call((*TALK[:5], reminder), (TALK[5],)),
    ]
    for turn in (2, 3):
        found = wire.findings("openai.chat", calls, tmp_path, turn)
        assert "context_evicted" not in [one.code for one in found]


def test_an_equal_message_that_takes_over_the_cache_marker_is_no_insertion(tmp_path: Path) -> None:
    log = wire.lines("anthropic.messages", wire.grown(TALK))
    for line in log:
        line["request"]["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    timeline = wire.recorded(log, tmp_path)
    for turn in timeline.turns:
        assert told(wire.explain(timeline, turn.seq).findings) == []
