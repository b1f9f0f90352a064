"""One message that is gone, altered or stands in other company, and summaries in the model's name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import Call, Image, Said, Say, User

TALK: tuple[Any, ...] = (
    User("Which bees fly first in spring?"),
    Say("Bumblebee queens fly from eight degrees, honey bees from twelve."),
    User("Put hive 14 on the list for Friday, the keeper is Vesna Kolar."),
    Say("Hive 14 is on Friday's list under Vesna Kolar, at half past nine."),
    User("do it"),
    Say("The feeder of hive 9 is closed and the entrance is narrowed to two fingers."),
    User("And what is left for Saturday?"),
)


def told(found: Sequence[Finding]) -> list[tuple[str, str | None]]:
    kinds = ("context_edited", "context_evicted", "context_compacted")
    return [(one.code, one.cause) for one in found if one.code in kinds]


def after(*said: Said) -> list[Call]:
    return [*wire.grown(TALK[:6]), Call(said)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_lone_message_gone_between_two_answers_is_evicted(surface: str, tmp_path: Path) -> None:
    calls = [*wire.grown(TALK), Call((*TALK[:2], *TALK[3:], Say("Noted."), User("Bye.")))]
    found = told(wire.findings(surface, calls, tmp_path))
    assert found[0] == ("context_evicted", "evicted_block")
    assert "context_compacted" not in dict(found)


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_the_only_message_gone_while_its_answer_is_sent_back_is_evicted(
    surface: str, tmp_path: Path
) -> None:
    calls = [*wire.grown(TALK[:2]), Call(TALK[1:3])]
    (found,) = (one for one in wire.findings(surface, calls, tmp_path) if one.code.endswith("ted"))
    assert (found.code, found.turn, found.certainty) == ("context_evicted", 2, "measured")


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_question_of_its_own_after_another_is_no_loss(surface: str, tmp_path: Path) -> None:
    calls = [*wire.grown(TALK[:2]), Call(TALK[2:3])]
    assert told(wire.findings(surface, calls, tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize(
    "text", ["[hidden] it", "do it, but only after the rain, and call the keeper before", "do i t"]
)
def test_a_short_message_in_its_old_place_is_altered(
    surface: str, text: str, tmp_path: Path
) -> None:
    found = told(wire.findings(surface, after(*TALK[:4], User(text), *TALK[5:]), tmp_path))
    assert [code for code, _ in found] == ["context_edited"]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_message_in_the_place_of_quite_another_is_a_loss(surface: str, tmp_path: Path) -> None:
    said = (*TALK[:2], User("Zwei Rahmen fehlen noch."), *TALK[3:])
    found = told(wire.findings(surface, after(*said), tmp_path))
    assert ("context_evicted", "evicted_block") in found
    assert "context_edited" not in dict(found)


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_note_for_an_image_is_told_with_the_image(surface: str, tmp_path: Path) -> None:
    asked = "Is this a queen or a drone?"
    rest = (Say("A drone, by the eyes."), User("Sure?"))
    note = User(f"{asked}\n(picture no. 3 left out)")
    calls = [Call((User(asked), Image()), rest[:1]), Call((note, *rest))]
    found = told(wire.findings(surface, calls, tmp_path))
    assert found == [("context_evicted", "image_removed")]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_another_question_beside_a_lost_image_is_an_edit_too(surface: str, tmp_path: Path) -> None:
    rest = (Say("A drone, by the eyes."), User("Sure?"))
    calls = [
        Call((User("Is this a queen or a drone?"), Image()), rest[:1]),
        Call((User("Is this a queen or a worker?"), *rest)),
    ]
    assert {code for code, _ in told(wire.findings(surface, calls, tmp_path))} == {
        "context_evicted",
        "context_edited",
    }


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_retelling_in_the_models_name_is_a_compaction(surface: str, tmp_path: Path) -> None:
    tale = Say(
        "What we have: bumblebee queens fly from eight degrees; hive 14 is on Friday's list under"
        " Vesna Kolar; the feeder of hive 9 is closed."
    )
    found = told(wire.findings(surface, after(User("(goes on)"), tale, TALK[6]), tmp_path))
    assert found[0][0] == "context_compacted"


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_the_last_answer_behind_a_stub_is_no_compaction(surface: str, tmp_path: Path) -> None:
    found = told(wire.findings(surface, after(User("(goes on)"), *TALK[5:]), tmp_path))
    assert "context_compacted" not in dict(found)


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_reminder_that_each_turn_ends_with_is_no_loss(surface: str, tmp_path: Path) -> None:
    calls = [
        Call((*call.said, User(f"<note>It is 9:{n}4. {n} hives are open. Be brief.</note>")))
        for n, call in enumerate(wire.grown(TALK), 1)
    ]
    for turn in (2, 3):
        assert "context_evicted" not in dict(told(wire.findings(surface, calls, tmp_path, turn)))


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_lost_exchange_is_told_though_the_next_question_is_like_the_lost_one(
    surface: str, tmp_path: Path
) -> None:
    said = (*TALK[:2], User("What does hive 14 weigh on Friday?"))
    calls = [*wire.grown((*said, Say("Thirty kilos.")))]
    calls.append(Call((*TALK[:2], User("What does hive 9 weigh on Friday?"))))
    found = wire.findings(surface, calls, tmp_path)
    assert [(one.code, one.severity) for one in found if one.code.startswith("context")] == [
        ("context_edited", "low")
    ]
