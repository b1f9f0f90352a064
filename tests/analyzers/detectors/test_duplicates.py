"""What stands twice in one request, and what people and tools say twice by nature."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import SYSTEM, Ask, Call, Got, Said, Say, User

SHELVES = json.dumps({"shelves": [{"id": n, "tools": ["saw", "drill", f"T{n}"]} for n in range(9)]})
TALK = (
    User("Where is the long ladder?"),
    Say("In the shed behind the yard."),
    User("And who has the key to it?"),
    Say("Adaeze has it."),
    User("Ask her for it, please."),
)
FILE = "\n".join(f"{n:03d}: shelf {n * 37 % 101} holds the {n}th box of screws" for n in range(90))


def told(found: Sequence[Finding]) -> list[tuple[str | None, int]]:
    return [
        (one.cause, dict(one.evidence.counts)["copies"])
        for one in found
        if one.code == "duplicate_context"
    ]


def every(surface: str, said: Sequence[Said], folder: Path) -> list[tuple[str | None, int]]:
    """What all turns of a conversation that grows with each answer tell."""
    calls = wire.grown(said)
    return [
        one
        for turn in range(1, len(calls) + 1)
        for one in told(wire.findings(surface, calls, folder, turn))
    ]


NATURAL: dict[str, Sequence[Said]] = {
    "a conversation": TALK,
    "short words": (
        User("Lend the saw?"), Say("Yes."), User("ok"), Say("Done."), User("ok"), Say("Done."), User("ok"),
    ),
    "the same question once more": (*TALK[:2], TALK[0], Say("As I said: in the shed."), User("Thanks.")),
    "the same question and the same answer": (*TALK[:2], *TALK[:2], User("Thanks.")),
    "short results of a tool": (
        User("Paint both doors."),
        Ask("a", "paint", (("door", 1),)), Got("a", "ok: 1 door painted", "paint"),
        Ask("b", "paint", (("door", 2),)), Got("b", "ok: 1 door painted", "paint"),
        Say("Both are painted."), User("Thanks."),
    ),
    "results that have a few lines in common": (
        User("Read both."),
        Ask("a", "read", (("f", "a"),)), Got("a", "Licence line one\nLicence line two\n" + FILE[:2000], "read"),
        Ask("b", "read", (("f", "b"),)), Got("b", "Licence line one\nLicence line two\n" + FILE[2400:], "read"),
    ),
    "a pasted log": (User("What is wrong here?\n" + "10:00 the pump of the yard does not answer\n" * 6),),
    "equal rows": (User("List."), Ask("a"), Got("a", json.dumps([{"tool": "saw", "shelf": 4}] * 8))),
}  # fmt: skip


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("kind", NATURAL)
def test_what_is_said_twice_by_nature_is_no_finding(
    surface: str, kind: str, tmp_path: Path
) -> None:
    assert every(surface, NATURAL[kind], tmp_path) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_message_that_was_sent_twice_in_a_row_is_found(surface: str, tmp_path: Path) -> None:
    calls = [*wire.grown(TALK[:4]), Call((*TALK, TALK[4]))]
    found = wire.findings(surface, calls, tmp_path)
    assert told(found) == [("duplicated_history", 1)]
    assert found[0].evidence.path is not None


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_message_that_holds_itself_twice_is_found(surface: str, tmp_path: Path) -> None:
    double = User(f"{TALK[4].text}\n\n{TALK[4].text}")
    calls = [*wire.grown(TALK[:4]), Call((*TALK[:4], double))]
    assert told(wire.findings(surface, calls, tmp_path)) == [("repeated_text_in_block", 2)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_history_that_was_added_to_itself_is_found_once(surface: str, tmp_path: Path) -> None:
    calls = [*wire.grown(TALK[:3]), Call((*TALK[:4], *TALK))]
    found = wire.findings(surface, calls, tmp_path)
    assert told(found) == [("duplicated_history", 4)]
    assert "context_edited" not in [one.code for one in found]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_history_that_comes_doubled_at_first_is_found(surface: str, tmp_path: Path) -> None:
    call = Call((*TALK[:4], *TALK))
    assert told(wire.findings(surface, [call], tmp_path)) == [("duplicated_history", 4)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_old_message_that_is_put_in_once_more_is_found(surface: str, tmp_path: Path) -> None:
    calls = [*wire.grown(TALK[:4]), Call((*TALK[:2], TALK[0], *TALK[2:]))]
    assert told(wire.findings(surface, calls, tmp_path)) == [("duplicated_history", 1)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_duplicate_is_told_at_the_turn_that_brought_it(surface: str, tmp_path: Path) -> None:
    doubled = (*TALK, TALK[4])
    calls = [*wire.grown(TALK[:4]), Call(doubled), Call((*doubled, Say("I did."), User("Good.")))]
    assert told(wire.findings(surface, calls, tmp_path)) == []


@pytest.mark.parametrize("surface", ["openai.chat", "anthropic.messages", "bedrock.converse"])
def test_system_text_that_comes_once_more_each_turn_is_counted(
    surface: str, tmp_path: Path
) -> None:
    log = wire.lines(surface, wire.grown(TALK))
    for number, line in enumerate(log):
        request = line["request"]
        if surface == "openai.chat":
            request["messages"][:0] = [request["messages"][0]] * number
        else:
            request["system"] = request["system"] * (number + 1)
    timeline = wire.recorded(log, tmp_path)
    found = [told(wire.explain(timeline, turn).findings) for turn in (1, 2, 3)]
    assert found == [[], [("duplicate_system_prompt", 2)], [("duplicate_system_prompt", 3)]]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_section_that_is_appended_once_more_each_run_is_counted(
    surface: str, tmp_path: Path
) -> None:
    section = "\n\nHand over to the yard desk whenever somebody asks for timber."
    calls = [Call((User(f"Task {n}"),), system=SYSTEM + section * n) for n in (1, 2, 3)]
    found = [told(wire.findings(surface, calls, tmp_path, turn)) for turn in (1, 2, 3)]
    assert found == [[], [("repeated_text_in_block", 2)], [("repeated_text_in_block", 3)]]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_the_same_long_result_twice_is_found_with_its_tool(surface: str, tmp_path: Path) -> None:
    said = (
        User("Which shelves?"),
        Ask("a", "shelves"), Got("a", SHELVES, "shelves"), Say("Nine."),
        User("Once more?"), Ask("b", "shelves"), Got("b", SHELVES, "shelves"),
    )  # fmt: skip
    assert every(surface, said, tmp_path) == [("repeated_tool_result", 2)]
    findings = wire.findings(surface, wire.grown(said), tmp_path)
    (found,) = (one for one in findings if one.code == "duplicate_context")
    assert (found.severity, found.evidence.names) == ("low", ("shelves",))


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_reads_of_overlapping_pieces_are_found(surface: str, tmp_path: Path) -> None:
    lines = FILE.split("\n")
    said = (
        User("Read the list."),
        Ask("a", "read", (("from", 1),)), Got("a", "\n".join(lines[:60]), "read"),
        Ask("b", "read", (("from", 20),)), Got("b", "\n".join(lines[20:]), "read"),
    )  # fmt: skip
    assert every(surface, said, tmp_path) == [("overlapping_reads", 2)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_short_answer_to_the_same_call_is_repeated(surface: str, tmp_path: Path) -> None:
    same = "Boat 12 is at pier 3 with 40 percent of fuel."
    said = (
        User("Boat?"),
        Ask("a", "boat", (("n", 12),)),
        Got("a", same, "boat"),
        Ask("b", "boat", (("n", 12),)),
        Got("b", same, "boat"),
    )
    assert every(surface, said, tmp_path) == [("repeated_tool_result", 2)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_piece_of_a_file_that_was_read_whole_overlaps(surface: str, tmp_path: Path) -> None:
    lines = FILE.split("\n")[:12]
    said = (
        User("Read the list."),
        Ask("a", "read", (("path", "x"),)), Got("a", "\n".join(lines), "read"),
        Ask("b", "read", (("path", "x"), ("start", 3), ("end", 7))), Got("b", "\n".join(lines[2:7]), "read"),
    )  # fmt: skip
    assert every(surface, said, tmp_path) == [("overlapping_reads", 2)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_reads_that_meet_and_do_not_overlap_are_none(surface: str, tmp_path: Path) -> None:
    lines = FILE.split("\n")
    said = (
        User("Read the list."),
        Ask("a", "read", (("from", 1),)), Got("a", "\n".join(lines[:46]), "read"),
        Ask("b", "read", (("from", 45),)), Got("b", "\n".join(lines[44:]), "read"),
    )  # fmt: skip
    assert every(surface, said, tmp_path) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_payload_twice_in_one_result_is_found(surface: str, tmp_path: Path) -> None:
    twice = f"{SHELVES}\n<structured>{SHELVES}</structured>"
    said = (User("Which shelves?"), Ask("a", "shelves"), Got("a", twice, "shelves"))
    assert every(surface, said, tmp_path) == [("duplicate_within_result", 2)]


def test_another_agents_messages_are_no_copies(tmp_path: Path) -> None:
    calls = [replace(one, agent=name) for one in wire.grown(TALK) for name in ("a", "b")]
    for turn in range(1, len(calls) + 1):
        assert told(wire.findings("openai.chat", calls, tmp_path, turn)) == []
