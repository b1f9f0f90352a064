"""How grave it is what became of a cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from ctxdiff_analyzers.explain import explain

from ctxdiff_mcp.answers.select import find_run
from tests.analyzers.cache.wire import FULL, MARKED, RULES, Ask, Sent, grown, recorded

marked = pytest.mark.parametrize("surface", MARKED)
AUTOMATIC = ("openai.chat", "openai.responses", "gemini.generate_content")


def told(folder: Path, surface: str, *sent: Sent) -> list[tuple[str | None, str]]:
    """Cause and severity of each finding about the cache at the last turn."""
    run = find_run(recorded(folder, surface, *sent), "latest")
    found = explain(run.timeline, run.timeline.turns[-1].seq).findings
    return [(f.cause, f.severity) for f in found if f.code.startswith("cache")]


@marked
@pytest.mark.parametrize("reports", [0, None])
def test_a_program_that_asks_for_no_cache_loses_nothing_from_turn_to_turn(
    tmp_path: Path, surface: str, reports: int | None
) -> None:
    asks = grown(Ask(system=RULES * 2, marks=()), [("The ferns.", "And then?"), ("Go.", "On?")])
    sent = [
        Sent(ask, 20 * n, read=reports, written=reports, rest=2 * FULL)
        for n, ask in enumerate(asks)
    ]
    assert told(tmp_path, surface, *sent) == [("no_cache_configured", "low")]


@marked
def test_a_marker_that_was_there_and_is_gone_loses_much(tmp_path: Path, surface: str) -> None:
    asks = grown(Ask(), [("The ferns.", "And then?")])
    first = Sent(asks[0], read=0, written=FULL)
    second = Sent(replace(asks[1], marks=()), 20, read=0, written=0, rest=FULL + 40)
    assert told(tmp_path, surface, first, second) == [("no_breakpoint", "medium")]


@pytest.mark.parametrize("surface", AUTOMATIC)
@pytest.mark.parametrize("where", ["front", "end"])
def test_a_last_message_that_is_sent_once_explains_no_miss_of_an_unsure_provider(
    tmp_path: Path, surface: str, where: str
) -> None:
    """The same at OpenAI, whose cache is read up to the difference, is a loss."""
    notes = [("user", f"Note: {n} beds are dry by now, the gate is open.") for n in (4, 7)]
    asked = ("user", "Which beds first?")
    pairs = {"front": [(one, asked) for one in notes], "end": [(asked, one) for one in notes]}
    old, new = pairs[where]
    answered = (("assistant", "The ferns."), ("user", "And then?"))
    later = (*new, *answered) if where == "front" else (new[0], *answered, new[1])
    system = RULES if where == "end" else "Be brief."
    sent = (
        Sent(Ask(system=system, said=(*old, ("user", RULES)) if where == "front" else old), 0),
        Sent(Ask(system=system, said=(*later, ("user", RULES)) if where == "front" else later), 20),
    )
    billed = [replace(one, read=0, written=0, rest=2 * FULL + 40 * n) for n, one in enumerate(sent)]
    (found,) = told(tmp_path, surface, *billed)
    unsure = surface == "gemini.generate_content" and where == "end"
    assert found[1] == ("low" if unsure else "medium")
