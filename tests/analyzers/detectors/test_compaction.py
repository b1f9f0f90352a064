"""Histories that were compacted, and those that were only trimmed, edited or begun anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import SYSTEM, Ask, Call, Got, Said, Say, User

TALK = (
    User("Mrs Okafor wants to borrow the tile cutter on Thursday, she lives at Quay 7."),
    Ask("c1", "lookup", (("q", "tile cutter"),)),
    Got("c1", "tile cutter TC-31: lent to Brandt until 14 June, deposit 40 euro"),
    Say("The tile cutter TC-31 is with Brandt until 14 June; Mrs Okafor can have it after that."),
    User("Then reserve it for the 15th and remind Brandt of his late fee of 6.50."),
    Ask("c2", "lookup", (("q", "brandt"),)),
    Got("c2", "Brandt: member 2217, owes 6.50, phone 555-0142"),
    Say("Reserved for 15 June; Brandt (member 2217) owes 6.50 and will be reminded."),
    User("Is the workshop free on Saturday?"),
    Ask("c3", "lookup", (("q", "workshop saturday"),)),
    Got("c3", "workshop: free on Saturday from noon"),
    Say("The workshop is free on Saturday from noon."),
    User("Book it for me."),
)
PLAIN = "Mrs Okafor gets tile cutter TC-31 on 15 June. Brandt, member 2217, owes 6.50."
SUMMARIES = {
    "named": User(f"Summary of the conversation so far: {PLAIN}"),
    "in a tag": User(f"<summary>\n{PLAIN}\n</summary>"),
    "without a word for it": User(PLAIN),
    "by the model": Say(f"[Earlier conversation] {PLAIN}"),
    "in German": User("Bisheriger Verlauf: Okafor bekommt TC-31 am 15. Juni, Brandt (2217) schuldet 6.50."),
    "in Japanese": User("要約: Okaforさんは6月15日にTC-31を借りる。Brandt(2217)は6.50の未払い。"),
    "as notes": User("## Notes\n- TC-31 -> Okafor, 15 June\n- Brandt 2217 owes 6.50, 555-0142"),
    "without a word of theirs": User("Earlier work is done."),
    "in a few words": User("(recap: tile cutter reserved, Brandt owes 6.50)"),
}  # fmt: skip


def told(found: Sequence[Finding]) -> list[tuple[str, str | None]]:
    return [(one.code, one.cause) for one in found if one.code == "context_compacted"]


def ending_with(*said: Said, system: str = SYSTEM) -> list[Call]:
    return [*wire.grown(TALK[:12]), Call(said, system=system)]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_growing_conversation_is_no_finding(surface: str, tmp_path: Path) -> None:
    calls = wire.grown(TALK)
    for turn in range(1, len(calls) + 1):
        assert told(wire.findings(surface, calls, tmp_path, turn)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("kind", SUMMARIES)
def test_a_summary_in_place_of_the_older_messages_is_found(
    surface: str, kind: str, tmp_path: Path
) -> None:
    found = wire.findings(surface, ending_with(SUMMARIES[kind], *TALK[8:]), tmp_path)
    assert told(found) == [("context_compacted", "history_compacted")]
    assert found[0].code == "context_compacted"
    evidence = found[0].evidence
    counts = dict(evidence.counts)
    assert (counts["replaced"], counts["came_back"]) == (8, 0)
    assert counts["summarised"] + counts["lost"] == 8
    assert evidence.excerpts[0][:20] in SUMMARIES[kind].text or "{" in evidence.excerpts[0]
    assert "context_edited" not in [one.code for one in found]


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("kind", ["named", "without a word for it", "in Japanese"])
def test_a_summary_in_the_middle_is_found(surface: str, kind: str, tmp_path: Path) -> None:
    calls = ending_with(TALK[0], SUMMARIES[kind], *TALK[8:])
    found = wire.findings(surface, calls, tmp_path)
    assert told(found) == [("context_compacted", "history_compacted")]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_summary_in_the_system_text_is_found(surface: str, tmp_path: Path) -> None:
    system = f"{SYSTEM}\n\nWhat was said before: {PLAIN}"
    found = wire.findings(surface, ending_with(*TALK[8:], system=system), tmp_path)
    assert told(found) == [("context_compacted", "history_compacted")]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_summary_added_to_the_first_message_is_found(surface: str, tmp_path: Path) -> None:
    first = User(f"{TALK[0].text}\n\nSummary of what followed: {PLAIN}")
    found = wire.findings(surface, ending_with(first, *TALK[8:]), tmp_path)
    assert told(found) == [("context_compacted", "history_compacted")]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_summary_of_everything_but_the_new_question_is_found(
    surface: str, tmp_path: Path
) -> None:
    found = wire.findings(surface, ending_with(SUMMARIES["named"], User("Go on.")), tmp_path)
    assert told(found) == [("context_compacted", "history_compacted")]


KILN = (
    User("窯の予約をしたいのですが。会員番号T-408の森です。釉薬の鉛は使えません。"),
    Say("森様、6月12日の午後に二号窯が空いております。使用料は3,600円です。"),
    User("では二号窯でお願いします。"),
    Say("承りました。予約番号はK-77です。作品は何点ございますか。"),
    User("皿が九枚と花瓶が一つです。"),
    Say("承知しました。棚板を三枚ご用意いたします。"),
    User("焼成の温度は?"),
)
BOAT = (
    User("5월 9일에 카약 두 대를 빌리고 싶어요. 저는 수영을 못해요."),
    Say("네, 빨간 카약과 초록 카약이 있습니다. 어느 쪽으로 하시겠어요?"),
    User("초록 카약으로 할게요."),
    Say("한 대에 15,000원입니다. 구명조끼도 준비할까요?"),
    User("네, 구명조끼 두 벌이요."),
    Say("예약되었습니다. 번호는 BT-61입니다."),
    User("주차장이 있나요?"),
)
WHOLE: dict[str, tuple[tuple[Said, ...], str]] = {
    "in Japanese": (KILN, "会員番号T-408の森様、6月12日午後に二号窯を予約(K-77)。皿九枚と花瓶一つ、棚板三枚。鉛は不可。"),
    "in Japanese, with a heading": (KILN, "【要約】森様。二号窯、6月12日。皿と花瓶。"),
    "in Korean, with a heading": (BOAT, "요약: 손님은 5월 9일 초록 카약 예약함(BT-61), 구명조끼 두 벌."),
    "in English": (TALK[:12], f"{PLAIN} The workshop is free on Saturday from noon."),
}  # fmt: skip
OTHERS: dict[str, tuple[tuple[Said, ...], str]] = {
    "asks alike": (KILN, "窯の予約をしたいのですが。会員番号T-512の林です。釉薬の鉛は使えません。"),
    "asks for something else": (KILN, "来月の陶芸教室の日程と料金を教えてください。"),
    "asks for a summary": (BOAT, "어제 대화를 요약해 주세요. 강의 수위는 어때요?"),
}


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("kind", WHOLE)
def test_a_summary_that_is_all_there_is_is_found(surface: str, kind: str, tmp_path: Path) -> None:
    said, text = WHOLE[kind]
    found = wire.findings(surface, [*wire.grown(said), Call((User(text),))], tmp_path)
    assert told(found) == [("context_compacted", "history_compacted")]


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("kind", OTHERS)
def test_another_conversation_of_the_kind_is_no_summary(
    surface: str, kind: str, tmp_path: Path
) -> None:
    said, text = OTHERS[kind]
    found = wire.findings(surface, [*wire.grown(said), Call((User(text),))], tmp_path)
    assert told(found) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("lead", ["(continued)", "What happened before?", "..."])
def test_a_summary_that_the_model_seems_to_have_said_is_found(
    surface: str, lead: str, tmp_path: Path
) -> None:
    summary = Say(f"Here is what has happened: {PLAIN} The workshop is free on Saturday from noon.")
    found = wire.findings(surface, ending_with(User(lead), summary, TALK[-1]), tmp_path)
    assert told(found) == [("context_compacted", "history_compacted")]
    assert found[0].code == "context_compacted"


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_new_conversation_with_a_call_of_its_own_is_no_compaction(
    surface: str, tmp_path: Path
) -> None:
    said = (
        User("Is the ladder in?"),
        Ask("c9", "lookup", (("q", "ladder"),)),
        Got("c9", "ladder LA-2: in, deposit 40 euro, asked for by Brandt"),
    )
    assert told(wire.findings(surface, ending_with(*said), tmp_path)) == []


def test_what_no_summary_carries_is_named_after_the_compaction(tmp_path: Path) -> None:
    rule = User("House rule: minors never operate the bandsaw.")
    calls = [*wire.grown((rule, Say("Understood."), *TALK[:12]))]
    calls.append(Call((SUMMARIES["named"], *TALK[8:])))
    found = wire.findings("openai.chat", calls, tmp_path)
    kinds = [(one.code, one.cause) for one in found if one.code.startswith("context")]
    assert kinds == [
        ("context_compacted", "history_compacted"),
        ("context_evicted", "evicted_block"),
    ]
    (lost,) = (one for one in found if one.code == "context_evicted")
    assert any("bandsaw" in text for text in lost.evidence.excerpts)


LOOK_ALIKES: dict[str, list[Call]] = {
    "front trimmed": ending_with(*TALK[8:]),
    "front trimmed, and the clock in the system text": ending_with(
        *TALK[8:], system=f"{SYSTEM} It is 10:41 on 15 June 2026."
    ),
    "all begun anew": ending_with(User("What are the opening hours of the library on Sunday?")),
    "all begun anew with a wish for a summary": ending_with(
        User("Please summarise the rules for borrowing the tile cutter.")
    ),
    "rolled back to an earlier question": ending_with(
        *TALK[:4], User("No, forget that. Reserve the mitre saw for Brandt instead.")
    ),
    "an answer that sums up": [*wire.grown(TALK), Call((*TALK, Say("Summary: booked."), User("Ok.")))],
    "two messages became one": ending_with(*TALK[:3], Say("TC-31 is with Brandt."), *TALK[5:]),
    "other examples for another question": [
        Call((User("Chunk 1: tile cutters, TC-31"), User("Chunk 2: deposits"), User("Chunk 3: late fees, 6.50"), User("Who pays?"))),
        Call((User("Chunk 4: bandsaws and minors"), User("Chunk 5: opening hours"), User("Who may cut?"))),
    ],
    "a side question that comes back": [
        *wire.grown(TALK[:12]),
        Call((User(f"Give this conversation a title. Summary: {PLAIN}"),)),
        Call(TALK),
    ],
}  # fmt: skip


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("kind", LOOK_ALIKES)
def test_what_only_looks_compacted_is_not(surface: str, kind: str, tmp_path: Path) -> None:
    calls = LOOK_ALIKES[kind]
    for turn in range(2, len(calls) + 1):
        assert told(wire.findings(surface, calls, tmp_path, turn)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_context_that_is_full_again_at_once_is_a_loop(surface: str, tmp_path: Path) -> None:
    again = (
        SUMMARIES["named"],
        *TALK[8:],
        Say("Booked the workshop for Saturday noon, key at desk 3, for member 2217."),
        User("And the bandsaw for Sunday, with the dust collector DC-8 and two push sticks?"),
        Ask("c4", "lookup", (("q", "bandsaw sunday"),)),
        Got("c4", "bandsaw BS-2: free on Sunday; DC-8: in repair until 20 June; push sticks: 4"),
        Say("BS-2 is free on Sunday, DC-8 is in repair until 20 June."),
    )
    second = User(
        "Summary: workshop booked for Saturday noon, desk 3. DC-8 in repair until 20 June."
    )
    calls = [
        *wire.grown(TALK[:12]),
        Call(again[:6]),
        Call(again[:8]),
        Call(again),
        Call((second, User("Then only the saw."))),
    ]
    found = wire.findings(surface, calls, tmp_path)
    assert told(found) == [("context_compacted", "compaction_loop")]
    assert told(wire.findings(surface, calls, tmp_path, 7)) == [
        ("context_compacted", "history_compacted")
    ]


def test_edits_that_the_provider_made_are_measured(tmp_path: Path) -> None:
    edit = {
        "type": "clear_tool_uses_20250919",
        "cleared_tool_uses": 4,
        "cleared_input_tokens": 3100,
    }
    calls = wire.grown(TALK)
    calls[-1] = replace(calls[-1], response={"context_management": {"applied_edits": [edit]}})
    for surface in ("anthropic.messages", "bedrock.invoke_model"):
        found = wire.findings(surface, calls, tmp_path)
        (one,) = (one for one in found if one.code == "context_compacted")
        assert (one.cause, one.certainty) == ("provider_context_edit", "measured")
        assert (one.tokens, one.tokens_method) == (3100, "exact")
        assert one.evidence.names == ("clear_tool_uses_20250919",)
        assert dict(one.evidence.counts)["cleared_tool_uses"] == 4


def test_a_provider_that_may_edit_and_did_not_is_no_finding(tmp_path: Path) -> None:
    calls = wire.grown(TALK)
    calls[-1] = replace(calls[-1], response={"context_management": {"applied_edits": []}})
    assert told(wire.findings("anthropic.messages", calls, tmp_path)) == []


def test_a_compaction_item_of_the_provider_is_measured(tmp_path: Path) -> None:
    log = wire.lines("openai.responses", wire.grown(TALK))
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAB"}
    log[-1]["response"]["output"].insert(0, item)
    timeline = wire.recorded(log, tmp_path)
    found = wire.explain(timeline, len(log)).findings
    (one,) = (one for one in found if one.code == "context_compacted")
    assert (one.cause, one.certainty) == ("provider_context_edit", "measured")
