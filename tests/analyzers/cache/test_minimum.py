"""How often it is said that prompts are too short to be cached."""

from __future__ import annotations

from pathlib import Path

import pytest
from ctxdiff_analyzers.cache.verdict import cache_verdict
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.timeline import Timeline

from ctxdiff_mcp.answers.select import find_run
from tests.analyzers.cache.wire import MARKED, Ask, Sent, grown, recorded, verdicts

SHORT = "You plan the watering of the botanical garden."
marked = pytest.mark.parametrize("surface", MARKED)


def of_the_cache(timeline: Timeline, seq: int) -> list[tuple[str, str | None, str]]:
    found = explain(timeline, seq).findings
    return [(f.code, f.cause, f.severity) for f in found if f.code.startswith("cache")]


@pytest.mark.parametrize("surface", ["openai.chat", "openai.responses", "gemini.generate_content"])
def test_that_prompts_are_too_short_for_an_automatic_cache_is_said_once(
    tmp_path: Path, surface: str
) -> None:
    asks = grown(Ask(system=SHORT), [("a", "b"), ("c", "d"), ("e", "f")])
    sent = [
        Sent(ask, 9 * n, read=0, written=0, rest=300 + n, agent=agent)
        for n, (ask, agent) in enumerate((a, who) for a in asks for who in ("ann", "bob"))
    ]
    run = find_run(recorded(tmp_path, surface, *sent), "latest")
    told = {turn.seq: of_the_cache(run.timeline, turn.seq) for turn in run.timeline.turns}
    short = [("cache_unused", "below_min_cacheable", "low")]
    assert told == {1: [], 2: [], 3: short, 4: short, 5: [], 6: [], 7: [], 8: []}
    causes = [cache_verdict(run.timeline, turn) for turn in run.timeline.turns]
    assert [one.since for one in causes] == [None, None, None, None, 3, 4, 3, 4]


@marked
def test_that_a_marked_prompt_is_too_short_is_said_at_every_turn(
    tmp_path: Path, surface: str
) -> None:
    asks = grown(Ask(system=SHORT), [("a", "b"), ("c", "d")])
    sent = [Sent(ask, 9 * n, read=0, written=0, rest=300) for n, ask in enumerate(asks)]
    found = verdicts(tmp_path, surface, *sent)
    assert [one.cause for one in found] == ["below_min_cacheable"] * 3
