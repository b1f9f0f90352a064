from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.answers.asking import Ask, Unanswerable
from ctxdiff_mcp.answers.block import block as block_text
from ctxdiff_mcp.answers.diff import diff
from ctxdiff_mcp.answers.explain import explain
from ctxdiff_mcp.answers.search import search
from ctxdiff_mcp.answers.select import find_agent, find_block, find_run
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.raw import raw

FIRST, SECOND = "aaaa1111" + "0" * 24, "bbbb2222" + "0" * 24


@pytest.fixture
def source(
    new_trace: Callable[..., Path], block: Any, turn: Any, tmp_path: Path
) -> Iterator[Source]:
    """Newest first: `shop/two` with two sessions, `shop/one`, `other`."""
    one_turn = turn([block("x")])
    new_trace(one_turn, name="other", session_id="cccc" * 8, started_at="2026-01-01T00:00:00Z")
    new_trace(one_turn, name="shop/one", session_id="dddd" * 8, started_at="2026-01-02T00:00:00Z")
    new_trace(one_turn, name="shop/two", session_id=FIRST, started_at="2026-01-03T00:00:00Z")
    new_trace(one_turn, name="shop/two", session_id=SECOND, started_at="2026-01-04T00:00:00Z")
    found = Source(tmp_path / "runs")
    yield found
    found.close()


def handle(source: Source, run: str, ask: Ask | None = None) -> str:
    return raw(find_run(source, run, ask or Ask()).ref.name.text)


@pytest.mark.parametrize(
    ("spelled", "handle_found"),
    [
        ("latest", "shop/two#bbbb2222"),
        ("shop/two#bbbb2222", "shop/two#bbbb2222"),
        ("shop/two#aaaa1", "shop/two#aaaa1111"),
        ("aaaa1111", "shop/two#aaaa1111"),
        (FIRST, "shop/two#aaaa1111"),
        (" shop/one ", "shop/one"),
        ("shop/one.ctrace", "shop/one"),
        ("one", "shop/one"),
        ("oth", "other"),
        ("shop/one#dddd", "shop/one"),
        ("r3", "shop/one"),
    ],
)
def test_a_run_is_found_by_handle_by_any_unambiguous_prefix_and_as_latest(
    source: Source, spelled: str, handle_found: str
) -> None:
    assert handle(source, spelled) == handle_found


@pytest.mark.parametrize(
    ("spelled", "code", "choices"),
    [
        ("shop/two", "ambiguous_run", ["shop/two#bbbb2222", "shop/two#aaaa1111"]),
        ("shop", "ambiguous_run", ["shop/two#bbbb2222", "shop/two#aaaa1111", "shop/one"]),
        (
            "shop/on3",
            "unknown_run",
            ["shop/one", "shop/two#bbbb2222", "shop/two#aaaa1111", "other"],
        ),
        ("../other", "unknown_run", None),
        ("", "unknown_run", None),
        ("ccc", "unknown_run", None),
    ],
)
def test_what_does_not_fit_one_run_names_those_that_would(
    source: Source, spelled: str, code: str, choices: list[str] | None
) -> None:
    with pytest.raises(Unanswerable) as caught:
        find_run(source, spelled)
    assert caught.value.code == code
    found = [raw(name.text) for name in caught.value.choices.names]
    assert found == choices if choices is not None else len(found) == 4


def test_in_redact_mode_only_ordinals_are_runs(source: Source) -> None:
    ask = Ask(by_name=False, by_text=False)
    assert handle(source, "r4", ask) == "other"
    for guess in ("other", "cccc", "shop/one"):
        with pytest.raises(Unanswerable, match="no run has this handle"):
            find_run(source, guess, ask)


def test_a_handle_lives_on_when_other_files_come(
    source: Source, new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    source.listing()
    new_trace(turn([block("y")]), name="newer", session_id=FIRST[:10] + "9" * 22)
    assert handle(source, "shop/two#aaaa1111") == "shop/two#aaaa1111"
    assert handle(source, "r3") == "shop/one"


@pytest.fixture
def run_source(
    new_trace: Callable[..., Path], block: Any, turn: Any, tmp_path: Path
) -> Iterator[Source]:
    note = block("The code is 4711.", "user", "rag", tagged=True)
    ask, answer = block("What is the code?"), block("4711", "assistant", "history")
    new_trace(
        turn([note, ask], [answer], "re"),
        turn([ask, answer], [block("noted", "assistant", "history")], "re searcher"),
        turn([ask, answer, block("Again?")], [block("noted", "assistant", "history")], "re"),
    )
    found = Source(tmp_path / "runs")
    yield found
    found.close()


def test_an_agent_is_found_by_name_handle_and_prefix(run_source: Source) -> None:
    run = find_run(run_source, "latest")
    assert [find_agent(run, spelled) for spelled in ("re", "a2", "re sea")] == [
        "re",
        "re searcher",
        "re searcher",
    ]
    with pytest.raises(Unanswerable) as caught:
        find_agent(run, "r")
    assert caught.value.code == "ambiguous_agent"


def test_a_block_is_found_by_the_start_of_its_hash_and_by_its_ordinal(run_source: Source) -> None:
    run = find_run(run_source, "latest")
    first = run.with_ordinal(1)
    assert first is not None
    assert find_block(run, first.content_hash[:6].upper()) == first
    assert find_block(run, "b1") == first
    for spelled, code in (("abc", "hash_too_short"), ("b99", "hash_too_short")):
        with pytest.raises(Unanswerable) as caught:
            find_block(run, spelled)
        assert caught.value.code == code
    with pytest.raises(Unanswerable, match="no such block"):
        find_block(run, "f" * 64)


def test_without_a_turn_the_first_that_lost_a_tagged_block_is_explained(
    run_source: Source,
) -> None:
    found = explain(run_source, "latest")
    assert (found.turn, found.chosen_by) == (3, "tagged_block_lost")
    assert found.findings[0].code == "context_evicted"
    asked = explain(run_source, "latest", 1)
    assert (asked.turn, asked.chosen_by, asked.diff) == (1, "asked", None)


def test_a_difference_across_agents_offers_the_same_agents_turn_before(run_source: Source) -> None:
    across = diff(run_source, "latest", 2, 3)
    assert (across.crosses_agents, across.same_agent_before) == (True, 1)
    own = diff(run_source, "latest", 1, 3)
    assert (own.crosses_agents, own.same_agent_before) == (False, None)


def test_a_text_is_found_where_it_entered_left_and_was_answered(run_source: Source) -> None:
    found = search(run_source, "latest", "4711", agent="re")
    spelled = [
        (one.block.ordinal, [(e.seq, e.kind) for e in one.events], one.output_turns)
        for one in found.matches
    ]
    assert spelled == [
        (1, [(1, "entered"), (3, "left")], ()),
        (3, [(3, "entered")], (1,)),
    ]


def test_a_block_knows_its_turns_on_both_sides(run_source: Source) -> None:
    found = block_text(run_source, "latest", turn=2, position=1)
    assert raw(found.text) == "4711"
    assert (found.input_turns, found.output_turns) == ((2, 3), (1,))
    with pytest.raises(Unanswerable) as caught:
        block_text(run_source, "latest", turn=2, position=2)
    assert caught.value.choices.numbers == (0, 1)
