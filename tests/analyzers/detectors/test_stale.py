"""Results that a later result of the same call makes out of date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import Ask, Got, Said, Say, User

OLD = "Boat 12 is at pier 3, fuel 40 percent, skipper Ines."
NEW = "Boat 12 is at sea, fuel 90 percent, skipper Ines."


def asked(
    name: str, args: dict[str, object], *answers: str, between: Sequence[Said] = ()
) -> tuple[Said, ...]:
    said: list[Said] = [User("How is boat 12?")]
    for number, answer in enumerate(answers):
        if number:
            said += between
        said += [Ask(f"c{number}", name, tuple(args.items())), Got(f"c{number}", answer, name)]
    return tuple(said)


def stale(found: Sequence[Finding]) -> list[tuple[int, str, tuple[str, ...]]]:
    return [
        (one.turn, one.severity, one.evidence.names) for one in found if one.code == "stale_context"
    ]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_older_answer_to_the_same_call_is_stale(surface: str, tmp_path: Path) -> None:
    said = asked("boat_state", {"boat": 12}, OLD, NEW)
    found = wire.findings(surface, wire.grown(said), tmp_path)
    assert stale(found) == [(3, "low", ("boat_state",))]
    (one,) = (one for one in found if one.code == "stale_context")
    assert one.cause == "stale_tool_result"
    assert one.evidence.excerpts == (OLD, NEW)
    assert dict(one.evidence.counts)["stale"] == 1


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_file_that_was_read_edited_and_read_again_is_stale_and_no_more_than_that(
    surface: str, tmp_path: Path
) -> None:
    edit = (Ask("e", "edit_file", (("path", "log.txt"),)), Got("e", "ok", "edit_file"))
    said = asked("read_file", {"path": "log.txt"}, OLD, NEW, between=edit)
    found = wire.findings(surface, wire.grown(said), tmp_path)
    assert stale(found) == [(4, "low", ("read_file",))]


NATURAL = {
    "the same answer": asked("boat_state", {"boat": 12}, OLD, OLD),
    "another question": (*asked("boat_state", {"boat": 12}, OLD), *asked("boat_state", {"boat": 9}, NEW)[1:]),
    "a try after a failure": asked("boat_state", {"boat": 12}, "Error: connection refused", NEW),
    "tests that run again": asked("run_tests", {"target": "all"}, OLD, NEW),
    "dice that are thrown again": asked("roll", {"dice": "2d6"}, "[4, 5] = 9", "[1, 2] = 3"),
    "a name drawn again": asked("drawName", {"of": "crew"}, "Noor", "Iris"),
    "the time": asked("get_time_now", {"zone": "Europe/Oslo"}, "09:14", "09:31"),
    "a command": asked("Bash", {"command": "git status"}, OLD, NEW),
    "a list that is read on": asked("read_mail", {}, "Dear crew, the pier is closed.", "Invoice 7 was paid."),
    "one answer": asked("boat_state", {"boat": 12}, OLD),
}  # fmt: skip


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("kind", NATURAL)
def test_what_does_not_supersede_makes_nothing_stale(
    surface: str, kind: str, tmp_path: Path
) -> None:
    calls = wire.grown(NATURAL[kind])
    for turn in range(1, len(calls) + 1):
        assert stale(wire.findings(surface, calls, tmp_path, turn)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_state_that_is_asked_for_without_arguments_is_superseded_by_its_next(
    surface: str, tmp_path: Path
) -> None:
    said = asked("boat_state", {}, OLD, NEW)
    assert stale(wire.findings(surface, wire.grown(said), tmp_path)) != []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_older_answer_is_told_once(surface: str, tmp_path: Path) -> None:
    said = (*asked("boat_state", {"boat": 12}, OLD, NEW), Say("At sea."), User("Thanks."))
    assert stale(wire.findings(surface, wire.grown(said), tmp_path)) == []
