"""A question about few turns reads few turns, and answers as if it had read all."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from ctxdiff_capture.store.sqlite_reader import SQLiteReader

from ctxdiff_mcp.answers import diff as diffs
from ctxdiff_mcp.answers.diff import diff
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.answers.tokens import tokens


@pytest.fixture
def runs(new_trace, block, turn):
    """Three turns of `ann`, whose system prompt is tagged, then one of `bob`."""
    rules = block("be brief", role="system", label="rules", tagged=True)
    return new_trace(
        turn([rules, block("one")], agent="ann"),
        turn([rules, block("two")], agent="ann"),
        turn([rules, block("two"), block("three")], agent="ann"),
        turn([block("four")], agent="bob"),
    ).parent


def shown(answer):
    """The answer without the numbers of its blocks, which are known by their hashes."""
    bare = replace(
        answer,
        changes=[replace(one, block=replace(one.block, ordinal=0)) for one in answer.changes],
    )
    return {field.name: getattr(bare, field.name) for field in fields(bare) if field.compare}


@pytest.mark.parametrize("turns", [(1, 2), (2, 3), (3, 1), (2, 2), (3, 4)])
def test_a_difference_is_the_same_whether_the_run_is_open_or_not(runs, turns) -> None:
    fresh, opened = Source(runs), Source(runs)
    tokens(opened, "latest")
    assert shown(diff(fresh, "latest", *turns)) == shown(diff(opened, "latest", *turns))


def test_a_difference_of_two_turns_reads_no_other_turn(runs, monkeypatch) -> None:
    asked = []
    load = SQLiteReader.load
    monkeypatch.setattr(SQLiteReader, "load", lambda *args: asked.append(args[2:]) or load(*args))
    diff(Source(runs), "latest", 2, 3)
    assert asked == [((2, 3),)]


def test_rows_of_tokens_can_be_taken_one_by_one_and_in_pages(runs) -> None:
    rows = tokens(Source(runs), "latest").turns
    assert [row.turn for row in rows] == [1, 2, 3, 4]
    assert [row.turn for row in rows[1:3]] == [2, 3]
    assert rows[-1] == list(rows)[3]


def test_a_window_that_is_none_is_refused(runs) -> None:
    with pytest.raises(ValueError, match="window"):
        tokens(Source(runs), "latest", window=0)


def test_the_edit_of_a_large_block_is_the_same_when_it_is_asked_for_again(
    new_trace, block, turn, monkeypatch
) -> None:
    words = " ".join(f"word{n}" for n in range(4_000))
    old, new = words.replace("word77 ", "old "), words.replace("word77 ", "new ")
    path = new_trace(turn([block(old)]), turn([block(new)]))
    worked: list[int] = []
    real = diffs.hunk
    monkeypatch.setattr(diffs, "hunk", lambda *args: worked.append(1) or real(*args))
    source = Source(path.parent)
    found = [diff(source, "latest", 1, 2) for _ in range(2)]
    edits = [one.edit(change, 320) for one in found for change in one.changes]
    assert edits[0] == edits[1]
    assert (edits[0].deleted_chars, edits[0].inserted_chars) == (3, 3)
    assert len(worked) == 1
    longer = found[0].edit(found[0].changes[0], 1_200)
    assert len(worked) == 2
    assert longer.first_diff_char == edits[0].first_diff_char
