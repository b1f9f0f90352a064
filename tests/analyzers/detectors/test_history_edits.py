"""Messages that come back altered, merged, moved, or not at all, on every surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import Ask, Call, Got, Image, Said, Say, Think, User

PARTS = (
    "anthropic.messages",
    "gemini.generate_content",
    "bedrock.converse",
    "bedrock.invoke_model",
)
TALK: tuple[Any, ...] = (
    User("Which café still owes us for the chairs?"),
    Say("Café Aurora owes 320 euro for eight chairs since 4 March."),
    User("Who delivered them?"),
    Ask("c1", "lookup", (("q", "chairs aurora"),)),
    Got("c1", "delivered by Noor on 4 March, signed by the owner"),
    Say("Noor delivered them on 4 March, and the owner signed."),
    User("Write to the owner, please."),
)


def told(found: Sequence[Finding]) -> list[tuple[str, str | None]]:
    kinds = ("context_edited", "context_evicted")
    return [(one.code, one.cause) for one in found if one.code in kinds]


def changed(*said: Said) -> list[Call]:
    return [*wire.grown(TALK[:6]), Call(said)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_answer_that_comes_back_as_it_was_is_no_finding(surface: str, tmp_path: Path) -> None:
    calls = wire.grown(TALK)
    for turn in range(1, len(calls) + 1):
        assert told(wire.findings(surface, calls, tmp_path, turn)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize(
    "text",
    [
        "Noor delivered them on 9 March, and the owner signed.",
        "Noor delivered them on 4 March.",
        "Noor delivered",
        "Noor delivered them on 4 March, and the owner signed. Ask for the money at once.",
    ],
)
def test_an_answer_that_is_sent_back_with_other_words_is_measured(
    surface: str, text: str, tmp_path: Path
) -> None:
    found = wire.findings(surface, changed(*TALK[:5], Say(text), TALK[6]), tmp_path)
    assert told(found) == [("context_edited", "replay_differs_from_sent")]
    (one,) = (one for one in found if one.code == "context_edited")
    assert (one.certainty, one.severity) == ("measured", "medium")
    assert one.evidence.path is not None


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_answer_sent_back_in_two_pieces_or_to_be_gone_on_from_is_no_finding(
    surface: str, tmp_path: Path
) -> None:
    pieces = (Say("Noor delivered them on 4 March,"), Say("and the owner signed."))
    assert told(wire.findings(surface, changed(*TALK[:5], *pieces, TALK[6]), tmp_path)) == []
    begun = changed(*TALK[:5], Say("Noor delivered them"))
    assert told(wire.findings(surface, begun, tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_other_arguments_than_the_model_gave_are_measured(surface: str, tmp_path: Path) -> None:
    if surface == "gemini.generate_content":
        pytest.skip("without an id another call is another call")
    calls = wire.grown(TALK)[:3]
    other = Ask("c1", "lookup", (("q", "tables"),))
    calls[-1] = replace(calls[-1], said=(*TALK[:3], other, TALK[4]))
    found = wire.findings(surface, calls, tmp_path)
    assert told(found) == [("context_edited", "replay_differs_from_sent")]


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize(
    "text",
    [
        "  Noor delivered them on 4 March, and the owner signed.\n",
        "Noor delivered them on 4 March, and  the owner signed.",
        "[assistant] Noor delivered them on 4 March, and the owner signed.",
    ],
)
def test_wrapping_and_white_space_are_not_the_models_words(
    surface: str, text: str, tmp_path: Path
) -> None:
    found = wire.findings(surface, changed(*TALK[:5], Say(text), TALK[6]), tmp_path)
    assert told(found) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_answer_in_json_may_come_back_in_another_spelling(surface: str, tmp_path: Path) -> None:
    said = (TALK[0], Say('{"owes":320,"who":"Aurora"}'))
    calls = [
        Call(TALK[:1], said[1:]),
        Call((TALK[0], Say('{"who": "Aurora", "owes": 320}'), TALK[2])),
    ]
    assert told(wire.findings(surface, calls, tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_thoughts_that_are_not_sent_back_at_once_are_no_finding(
    surface: str, tmp_path: Path
) -> None:
    calls = [Call(TALK[:1], (Think("Let me see."), TALK[1])), Call(TALK[:3])]
    assert told(wire.findings(surface, calls, tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_answer_that_broke_off_may_come_back_in_another_form(
    surface: str, tmp_path: Path
) -> None:
    calls = changed(*TALK[:5], Say("Noor delivered them on 9 March."), TALK[6])
    error = {"type": "APIConnectionError", "message": "closed", "status": None}
    calls[-2] = replace(calls[-2], error=error)
    assert told(wire.findings(surface, calls, tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_old_messages_that_became_one_are_named_so(surface: str, tmp_path: Path) -> None:
    notes = (User("The chairs are oak."), User("They weigh 6 kg each."), *TALK)
    one = User("The chairs are oak.\n\nThey weigh 6 kg each.")
    calls = [*wire.grown(notes[:8]), Call((one, *TALK))]
    assert told(wire.findings(surface, calls, tmp_path)) == [("context_edited", "messages_merged")]


def test_blocks_of_two_messages_that_became_parts_of_one_are_named_so(tmp_path: Path) -> None:
    log = wire.lines("anthropic.messages", [Call(TALK[:1]), Call(TALK[:1])])
    first = log[0]["request"]["messages"][0]
    second = {"role": "user", "content": [{"type": "text", "text": "The chairs are oak."}]}
    log[0]["request"]["messages"] = [first, second]
    both = [*first["content"], *second["content"]]
    log[1]["request"]["messages"] = [{"role": "user", "content": both}]
    found = wire.explain(wire.recorded(log, tmp_path), 2).findings
    assert told(found) == [("context_edited", "messages_merged")]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_value_that_was_rewritten_is_an_edit_with_its_place(surface: str, tmp_path: Path) -> None:
    first = User("Which café still owes us for the tables?")
    found = wire.findings(surface, changed(first, *TALK[1:]), tmp_path)
    assert told(found) == [("context_edited", None)]
    (one,) = (one for one in found if one.code == "context_edited")
    assert one.evidence.first_difference == TALK[0].text.index("chairs")
    assert one.evidence.path is not None
    assert one.evidence.path.endswith(("content", ".text"))


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Which café  still owes us for the chairs?", "whitespace_only_change"),
        ("Which cafe\u0301 still owes us for the chairs?", "unicode_form_changed"),
    ],
)
def test_a_change_of_form_alone_is_told_apart(
    surface: str, text: str, cause: str, tmp_path: Path
) -> None:
    found = wire.findings(surface, changed(User(text), *TALK[1:]), tmp_path)
    assert told(found) == [("context_edited", cause)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_message_that_moved_names_both_places(surface: str, tmp_path: Path) -> None:
    note = User("Note: the owner is called Mrs Lindqvist.")
    calls = [*wire.grown((note, *TALK[:6])), Call((*TALK[:6], note, TALK[6]))]
    found = wire.findings(surface, calls, tmp_path)
    assert told(found) == [("context_edited", "block_moved")]
    (one,) = (one for one in found if one.code == "context_edited")
    assert one.evidence.path is not None
    assert one.evidence.names != (one.evidence.path,)


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_message_put_among_old_ones_is_named_with_its_place(surface: str, tmp_path: Path) -> None:
    note = User("Note: the owner is called Mrs Lindqvist.")
    found = wire.findings(surface, changed(note, *TALK), tmp_path)
    assert told(found) == [("context_edited", "item_inserted_in_prefix")]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_message_that_comes_back_after_a_failed_call_is_not_put_in(
    surface: str, tmp_path: Path
) -> None:
    error = {"type": "BadRequestError", "message": "no", "status": 400}
    broken = Call(TALK[2:], answer=None, error=error)
    calls = [*wire.grown(TALK[:6]), broken, Call(TALK)]
    assert told(wire.findings(surface, calls, tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_the_oldest_messages_dropped_are_counted(surface: str, tmp_path: Path) -> None:
    found = wire.findings(surface, changed(*TALK[2:]), tmp_path)
    assert told(found) == [("context_evicted", "history_front_trimmed")]
    (one,) = (one for one in found if one.code == "context_evicted")
    assert dict(one.evidence.counts)["dropped"] == 2
    assert one.evidence.path is not None


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_image_that_became_a_pointer_is_named_so(surface: str, tmp_path: Path) -> None:
    said = (TALK[0], Image(), *TALK[1:])
    calls = [*wire.grown(said[:7]), Call((TALK[0], User("[image saved as chairs.png]"), *TALK[1:]))]
    found = wire.findings(surface, calls, tmp_path)
    assert ("context_evicted", "image_removed") in told(found)


@pytest.mark.parametrize("surface", PARTS)
def test_thoughts_that_leave_the_history_are_named_so(surface: str, tmp_path: Path) -> None:
    said = (TALK[0], Think("Aurora, I believe."), *TALK[1:])
    found = wire.findings(surface, [*wire.grown(said[:7]), Call(TALK)], tmp_path)
    assert told(found) == [("context_evicted", "thinking_blocks_dropped")]


RUST = "Rebuild the boat register. Write it in Rust, keep the public names."


def handed(task: str, *, told_to: str = RUST, agent: str = "worker") -> list[Call]:
    lead = Call((User(told_to),), agent="lead")
    return [lead, Call((User(task),), agent=agent, system="You build what you are told.")]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_task_handed_on_without_its_conditions_names_both_agents(
    surface: str, tmp_path: Path
) -> None:
    found = wire.findings(surface, handed("Rebuild the boat register."), tmp_path)
    assert told(found) == [("context_evicted", "handoff_context_dropped")]
    (one,) = (one for one in found if one.code == "context_evicted")
    assert one.evidence.names == ("lead", "worker")
    assert one.evidence.excerpts == ("Write it in Rust, keep the public names.",)
    assert one.certainty == "inferred"


@pytest.mark.parametrize(
    "calls",
    [
        handed(RUST),
        handed(f"Your task: {RUST} Begin."),
        handed("Please write a new boat register for us."),
        handed("Rebuild the boat register.", told_to="Rebuild the boat register."),
        handed("Yes.", told_to="Yes. Write it in Rust, keep the public names."),
        handed("How are the tides at Holm tomorrow?"),
    ],
    ids=["whole", "in other words around it", "in own words", "nothing left out", "short", "other"],
)
def test_an_ordinary_hand_off_is_no_finding(calls: list[Call], tmp_path: Path) -> None:
    assert told(wire.findings("openai.chat", calls, tmp_path)) == []


def test_the_rest_may_stand_in_the_system_text(tmp_path: Path) -> None:
    lead, worker = handed("Rebuild the boat register.")
    worker = replace(worker, system="Write it in Rust, keep the public names.")
    assert told(wire.findings("openai.chat", [lead, worker], tmp_path)) == []


def test_only_an_agents_first_call_is_a_hand_off(tmp_path: Path) -> None:
    lead, worker = handed("Rebuild the boat register.")
    again = replace(worker, said=(*worker.said, Say("Noted."), User("How far are you?")))
    assert told(wire.findings("openai.chat", [lead, worker, again], tmp_path)) == []
