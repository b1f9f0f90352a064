"""Passages that stand in several messages, and what stands in several by nature."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import Ask, Got, Said, Say, User

HOUSE = (
    "What you should know: the mill pond is drained until the end of May, the ferry runs on even "
    "days alone, the north path is closed after rain, and nobody but Ingrid has the keys of the "
    "boat house, which the guests are never to be told."
)
RULE = (
    "Section 9 says: guests who leave before noon pay no more than half of the night's price, and "
    "those who leave later pay it in full, unless the ferry did not run on that day or the house "
    "had to be closed for other reasons."
)
QUESTIONS = ("When does the ferry run?", "Is the path open?", "Who has the keys?")


def told(found: Sequence[Finding]) -> list[tuple[str | None, int]]:
    return [
        (one.cause, dict(one.evidence.counts)["copies"])
        for one in found
        if one.code == "duplicate_context"
    ]


def asked(*questions: str) -> list[Said]:
    said: list[Said] = []
    for number, question in enumerate(questions):
        said += [User(question), Say(f"That is told on page {number} of the guide.")]
    return said


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("between", ["\n\n", "\n", " "])
def test_a_preamble_in_each_message_is_found(surface: str, between: str, tmp_path: Path) -> None:
    calls = wire.grown(asked(*(f"{HOUSE}{between}{one}" for one in QUESTIONS)))
    assert told(wire.findings(surface, calls, tmp_path)) == [("repeated_text_in_block", 3)]
    assert told(wire.findings(surface, calls, tmp_path, 2)) == []


@pytest.mark.parametrize(
    "questions",
    [
        [f"Please answer in one sentence, for a guest of the house: {one}" for one in QUESTIONS],
        [f"{one}\n\n-- \n{HOUSE}" for one in QUESTIONS],
        [f"{HOUSE}\n\n{QUESTIONS[0]}", *QUESTIONS[1:]],
        [HOUSE, HOUSE, HOUSE],
        [f"{'=' * 210}\n{one}" for one in QUESTIONS],
    ],
    ids=["a short template", "a signature", "told once", "asked again", "a rule of signs"],
)
def test_what_messages_share_by_nature_is_no_finding(questions: list[str], tmp_path: Path) -> None:
    calls = wire.grown(asked(*questions))
    found = [told(wire.findings("openai.chat", calls, tmp_path, n + 1)) for n in range(len(calls))]
    assert not any(cause == "repeated_text_in_block" for turn in found for cause, _ in turn)


def results(first: str, second: str) -> list[Said]:
    return [
        User("What does leaving late cost?"),
        Ask("a", "rule", (("section", 9),)),
        Got("a", first, "rule"),
        Ask("b", "advise", (("about", "leaving"),)),
        Got("b", second, "advise"),
    ]


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_result_that_is_quoted_in_another_is_found(surface: str, tmp_path: Path) -> None:
    calls = wire.grown(results(RULE, f"Advice 4: be kind. It rests on this rule: {RULE} So far."))
    assert told(wire.findings(surface, calls, tmp_path)) == [("overlapping_reads", 2)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Half until noon.", "Advice 4: Half until noon. Be kind."),
        (RULE, "Advice 4: guests who leave before noon pay no more than half; be kind."),
        ("4 17 23 " * 40, f"Numbers drawn: {'4 17 23 ' * 40}"),
    ],
    ids=["short", "in other words", "no prose"],
)
def test_results_that_share_little_are_no_finding(first: str, second: str, tmp_path: Path) -> None:
    assert told(wire.findings("openai.chat", wire.grown(results(first, second)), tmp_path)) == []
