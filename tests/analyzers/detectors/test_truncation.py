"""Tool results that are cut: in history, on arrival, against what the tool gave."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, CallDetail, Placement, Stage

from tests.analyzers import wire
from tests.analyzers.wire import Ask, Call, Got, Say, User

ROOMS = json.dumps([{"room": f"R{n}", "seats": n * 4, "free": n % 2 == 0} for n in range(20)])
LETTER = (
    "Dear council, the bridge at Holm was inspected on 3 May. Two bolts were missing and the "
    "railing was loose over four metres. We closed the left lane at once. The repair takes nine "
    "days and costs 41,000 kroner. Please tell the school, whose bus uses the bridge twice a day."
)
TALK = (
    User("Which rooms are free?"),
    Ask("call_rooms", "rooms"),
    Got("call_rooms", ROOMS, "rooms"),
    Say("Every second one."),
    User("And what does the letter say?"),
    Ask("call_letter", "letter"),
    Got("call_letter", LETTER, "letter"),
)


def codes(found: tuple[Finding, ...]) -> list[tuple[str, int, str]]:
    kinds = ("tool_result_truncated", "context_edited", "context_evicted")
    return [(one.code, one.turn, one.certainty) for one in found if one.code in kinds]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_whole_results_are_no_finding(surface: str, tmp_path: Path) -> None:
    calls = wire.grown(TALK)
    for turn in range(1, len(calls) + 1):
        assert codes(wire.findings(surface, calls, tmp_path, turn)) == []


PAST = {
    "marked": ROOMS[:120] + "\n[output truncated]",
    "marked in words of its own": ROOMS[:120] + " ~~ klippet ~~",
    "silent": ROOMS[:300],
    "almost nothing left": ROOMS[:30] + "...",
    "middle": ROOMS[:200] + "[... 700 characters ...]" + ROOMS[-100:],
    "cleared": "[cleared to save context]",
    "fewer entries": json.dumps(json.loads(ROOMS)[:4]),
}


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("kind", PAST)
def test_a_past_result_that_was_cut_is_measured_and_told_once(
    surface: str, kind: str, tmp_path: Path
) -> None:
    calls = wire.grown(TALK)
    calls[-1] = replace(
        calls[-1], said=(*TALK[:2], Got("call_rooms", PAST[kind], "rooms"), *TALK[3:])
    )
    found = wire.findings(surface, calls, tmp_path)
    assert codes(found) == [("tool_result_truncated", 4, "measured")]
    (cut,) = (one for one in found if one.code == "tool_result_truncated")
    assert cut.evidence.names == ("rooms",)
    assert cut.evidence.path is not None
    assert dict(cut.evidence.counts)["chars_cut"] > 300


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize(
    "text",
    [
        LETTER.replace("nine days", "ninety days"),
        LETTER.replace("41,000 kroner", "[REDACTED]"),
        LETTER.replace(" Two bolts were missing and the railing was loose over four metres.", ""),
    ],
)
def test_an_edited_result_is_edited_and_not_cut(surface: str, text: str, tmp_path: Path) -> None:
    calls = [*wire.grown(TALK), Call((*TALK, Say("Noted."), User("Since when?")))]
    said = [replace(one, text=text) if one is TALK[6] else one for one in calls[-1].said]
    calls[-1] = replace(calls[-1], said=said)
    assert codes(wire.findings(surface, calls, tmp_path)) == [("context_edited", 5, "measured")]


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize(
    "text", [ROOMS[:333], LETTER[:150] + " … (gekürzt)", LETTER[:120] + "\n… [+148]  [tronqué]"]
)
def test_a_new_result_that_is_cut_is_inferred_from_its_end(
    surface: str, text: str, tmp_path: Path
) -> None:
    said = (User("Which rooms?"), Ask("call_1", "rooms"), Got("call_1", text, "rooms"))
    found = wire.findings(surface, wire.grown(said), tmp_path)
    assert codes(found) == [("tool_result_truncated", 2, "inferred")]
    assert found[0].evidence.names == ("rooms",)
    assert found[0].why is not None


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_cut_result_is_told_at_the_turn_that_it_came_with(surface: str, tmp_path: Path) -> None:
    said = (
        User("Which rooms?"),
        Ask("call_1", "rooms"),
        Got("call_1", ROOMS[:333], "rooms"),
        Say("Many."),
        User("How many?"),
    )
    assert codes(wire.findings(surface, wire.grown(said), tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_longer_result_of_the_same_call_shows_what_is_missing(
    surface: str, tmp_path: Path
) -> None:
    said = (
        *TALK,
        Say("Two bolts."),
        User("Read it again."),
        Ask("call_again", "letter"),
        Got("call_again", LETTER[:90], "letter"),
    )
    found = wire.findings(surface, wire.grown(said), tmp_path)
    assert codes(found) == [("tool_result_truncated", 6, "measured")]
    assert found[0].evidence.excerpts[1].startswith(LETTER[90:110])


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("kept", [slice(None, 160), slice(-160, None)], ids=["start", "end"])
def test_a_result_is_the_same_one_whatever_ids_its_content_has(
    surface: str, kept: slice, tmp_path: Path
) -> None:
    rooms = json.dumps([{"id": f"R{n}", "seats": n * 4, "free": n % 2 == 0} for n in range(9)])
    said = (
        User("Which rooms are free?"),
        Ask("call_rooms", "rooms"),
        Got("call_rooms", rooms, "rooms"),
        Say("Every second one."),
        User("Which is the largest?"),
    )
    before, after = wire.grown(said)[:2], wire.grown(said)[2:]
    cut = [replace(one, text=rooms[kept]) if isinstance(one, Got) else one for one in said]
    calls = [*before, *(replace(call, said=cut[: len(call.said)]) for call in after)]
    found = wire.findings(surface, calls, tmp_path)
    assert codes(found) == [("tool_result_truncated", 3, "measured")]


def test_what_the_tool_gave_is_compared_where_the_program_told_it(make: SimpleNamespace) -> None:
    def told(text: str) -> tuple[Stage, ...]:
        block = Block(digest_of("tool", "message", text), "tool", "message", text, 9, "tiktoken")
        placed = Placement(block, "tool_output", tool_call_id="c1")
        return (Stage("tool_result", "", (placed,)),)

    def asked(entered: str, raw: str) -> tuple[Any, ...]:
        run = make.run()
        call = make.call({"id": "c1", "type": "function", "function": {"name": "letter"}})
        detail = CallDetail(tool_call_ids={1: "c1", 2: "c1"})
        inputs = (make.user("Read it."), call, make.tool(entered))
        run.add(*inputs, detail=detail, stages=told(raw))
        return explain(run.done(), 1).findings

    (found,) = asked(LETTER[:110], LETTER)
    assert (found.code, found.certainty) == ("tool_result_truncated", "measured")
    assert dict(found.evidence.counts) == {"chars_kept": 110, "chars_cut": len(LETTER) - 110}
    assert asked(LETTER, LETTER) == ()
    assert (
        asked(
            "The bridge at Holm lacks two bolts; it is closed for nine days. Tell the school.",
            LETTER,
        )
        == ()
    )


def test_many_cut_results_are_told_up_to_a_bound(tmp_path: Path) -> None:
    asks = [Ask(f"c{n}", "rooms", (("page", n),)) for n in range(12)]
    gots = [Got(f"c{n}", f'[{{"page": {n}, "rooms": ["a", "b', "rooms") for n in range(12)]
    call = Call((User("All rooms?"), *asks, *gots))
    assert len(codes(wire.findings("openai.chat", [call], tmp_path))) == 5
