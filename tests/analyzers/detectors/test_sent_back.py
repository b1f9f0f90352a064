"""Answers that come back by other words, or not at all, on every surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import Ask, Call, Got, Said, Say, User

ANSWER = "The heron nests in the third alder; two eggs were counted on Monday."
TALK: tuple[Any, ...] = (
    User("Where does the heron nest this year?"),
    Ask("c1", "lookup", (("q", "heron 2031"),)),
    Got("c1", "third alder, 2 eggs, Monday"),
    Say(ANSWER),
    User("And the kingfisher?"),
)
REPLAYED = ("context_edited", "replay_differs_from_sent")
LEFT_OUT = ("context_evicted", "evicted_block")
COVERS = [
    "ok",
    "[answer removed]",
    "Le héron niche dans le troisième aulne.",
    ANSWER.upper(),
    "All birds were seen by the wardens and nothing else is to be told today.",
    f"Mind this: {ANSWER}",
    f"{ANSWER} Old hens.",
]


def told(found: Sequence[Finding]) -> list[tuple[str, str | None]]:
    kinds = ("context_edited", "context_evicted", "context_compacted", "stale_context")
    return [(one.code, one.cause) for one in found if one.code in kinds]


def going_on(*said: Said) -> list[Call]:
    return [*wire.grown(TALK[:4]), Call(said)]


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("text", COVERS)
def test_what_stands_at_the_answers_place_is_measured_however_unlike_it(
    surface: str, text: str, tmp_path: Path
) -> None:
    found = wire.findings(surface, going_on(*TALK[:3], Say(text), TALK[4]), tmp_path)
    assert told(found) == [REPLAYED]


@pytest.mark.parametrize("surface", ["openai.chat", "bedrock.converse"])
def test_an_answer_blanked_at_once_is_measured(surface: str, tmp_path: Path) -> None:
    found = wire.findings(surface, going_on(*TALK[:3], Say(""), TALK[4]), tmp_path)
    assert told(found) == [REPLAYED]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_answer_that_is_never_sent_back_is_gone(surface: str, tmp_path: Path) -> None:
    found = wire.findings(surface, going_on(*TALK[:3], TALK[4]), tmp_path)
    assert told(found) == [LEFT_OUT]


@pytest.mark.parametrize(
    "text",
    [f"Assistant: {ANSWER}", f"<answer>{ANSWER}</answer>", f"** {ANSWER} **", f"(12:04) {ANSWER}"],
)
def test_who_speaks_and_signs_around_an_answer_are_no_other_words(
    text: str, tmp_path: Path
) -> None:
    found = wire.findings("openai.chat", going_on(*TALK[:3], Say(text), TALK[4]), tmp_path)
    assert told(found) == []


def test_the_agents_own_name_in_front_of_its_answer_is_no_other_word(tmp_path: Path) -> None:
    calls = going_on(*TALK[:3], Say(f"warden: {ANSWER}"), TALK[4])
    named = [replace(call, agent="warden") for call in calls]
    assert told(wire.findings("openai.chat", named, tmp_path)) == []


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ('{"reply": "In the third alder.", "sure": true}', "In the third alder."),
        ('{"tree": "third alder", "eggs": 2}', "It nests in the third alder and has 2 eggs."),
        ("Thought: I have it all. Final Answer: In the third alder.", "In the third alder."),
        ("<think>Let me see the list.</think> In the third alder.", "In the third alder."),
    ],
)
def test_what_a_program_takes_out_of_an_answer_is_no_other_answer(
    answer: str, kept: str, tmp_path: Path
) -> None:
    calls = wire.grown((*TALK[:3], Say(answer)))
    calls.append(Call((*TALK[:3], Say(kept), TALK[4])))
    assert told(wire.findings("openai.chat", calls, tmp_path)) == []


def test_one_of_several_tries_may_be_gone_on_from(tmp_path: Path) -> None:
    calls = wire.grown(TALK[:4])
    other = "Up in an alder tree, as every spring, with a clutch of two."
    calls += [Call(TALK[:3], (Say(other),)), Call(TALK)]
    assert told(wire.findings("openai.chat", calls, tmp_path)) == []


def test_a_check_on_the_side_is_not_sent_back(tmp_path: Path) -> None:
    calls = wire.grown(TALK[:4])
    check = Call(TALK[:4], (Say("harmless"),), system="Say whether the talk is harmless.")
    calls += [check, Call(TALK)]
    assert told(wire.findings("openai.chat", calls, tmp_path)) == []


def test_a_question_rewritten_on_the_side_is_not_sent_back(tmp_path: Path) -> None:
    history = (*TALK, User("Notes: kingfisher, mill weir."))
    aside = Call(TALK, (Say("Where does the kingfisher nest?"),), system="Put it in one question.")
    calls = [*wire.grown(TALK[:4]), aside, Call(history)]
    assert told(wire.findings("openai.chat", calls, tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_value_that_the_program_reads_and_drops_is_no_loss(surface: str, tmp_path: Path) -> None:
    calls = wire.grown((*TALK[:3], Say('{"tree": "third alder"}')))
    calls.append(Call((*TALK[:3], TALK[4])))
    assert told(wire.findings(surface, calls, tmp_path)) == []


def test_a_program_that_sends_no_answer_back_loses_none(tmp_path: Path) -> None:
    asked = [User(text) for text in ("How high is the weir?", "Who mends it?", "Since when?")]
    said = ["It is two metres high.", "The guild of the mill mends it.", "Since the flood."]
    calls = [Call(asked[: i + 1], (Say(said[i]),)) for i in range(3)]
    for turn in (2, 3):
        assert told(wire.findings("openai.chat", calls, tmp_path, turn)) == []
