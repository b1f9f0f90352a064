"""Whatever stands in any place that a trace can fill, every tool frames it, escaped."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ctxdiff_mcp.answers.redacted import RedactedSource
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context
from tests.trust.everywhere.places import STYLES, Canaries, Column, columns, fill_column
from tests.trust.everywhere.questions import FEW, RUNS, Question, questions
from tests.trust.everywhere.reading import faults
from tests.trust.everywhere.story import folder, turns, write
from tests.trust.goals import GOALS, IS_FULL, attempts

NO_NAME = "is checked, and kept when it is of the known form; nothing else is shown"
NOT_READ = "is not read for any answer"
COUNTED = "is counted, or a number is taken from it"
MATCHED = "only decides which blocks belong together"
UNREACHED: dict[str, frozenset[str]] = {
    NO_NAME: frozenset(
        {
            "Call.inputs[].block.content_hash",
            "Call.outputs[].block.content_hash",
            "Call.stages[].inputs[].block.content_hash",
            "Call.inputs[].block.token_method",
            "Call.outputs[].block.token_method",
            "Call.stages[].inputs[].block.token_method",
            "Call.stages[].inputs[].block.role",
            "Call.stages[].inputs[].block.kind",
            "Call.inputs[].path",
            "Call.surface",
            "Call.started_at",
            "Call.markers[].path",
            "Call.markers[].ttl",
        }
    ),
    NOT_READ: frozenset(
        {
            "Call.endpoint",
            "Call.request_id",
            "Call.response_id",
            "Call.request_digest",
            "Call.metadata.key",
            "Call.metadata.value",
            "Call.metadata.deep",
            "key of metadata",
            "metadata",
            "Call.tags[].label",
            "Call.tags[].text",
            "Call.outputs[].label",
            "Call.outputs[].path",
            "Call.stages[].taken_at",
            "Call.stages[].inputs[].path",
            "Call.stages[].inputs[].tool_call_id",
            "stage time",
        }
    ),
    COUNTED: frozenset(
        {
            "Call.attempts[].started_at",
            "Call.attempts[].error.type",
            "Call.attempts[].error.message",
            "Call.usage.key",
            "Call.usage.value",
            "Call.usage.deep",
            "usage",
            "Call.request_pieces[]",
        }
    ),
    MATCHED: frozenset({"Call.inputs[].tool_call_id", "Call.outputs[].tool_call_id"}),
}
"""Places whose text stands in no answer, by the reason. Any other must be reached below."""


def contexts(root: Path) -> Iterator[tuple[Context, bool]]:
    """The folder as a server sees it in each mode, and whether the mode hides every word."""
    for policy, source in (
        (Policy(), Source(root)),
        (Policy("text"), Source(root)),
        (Policy("all"), RedactedSource(root)),
    ):
        yield Context(source, policy), policy.hides_text
        source.close()


def judged(
    context: Context, asked: Iterable[Question], names: list[str], *, hides: bool
) -> Iterator[tuple[str, str, list[str]]]:
    """Tool, answer and faults of each question."""
    for tool, arguments in asked:
        text, _ = run_tool(BY_NAME[tool], context, arguments)
        found = faults(text, names)
        if hides and ("CNRY" in text.replace(names[0], "") or "\u27e6" in text):
            found.append("a captured word in redact mode")
        yield tool, text, [f"{tool} {arguments}: {fault}" for fault in found]


@pytest.mark.parametrize("style", STYLES if IS_FULL else ["hostile", "sentence"])
def test_every_place_of_the_model_is_framed_by_every_tool_and_question(
    tmp_path: Path, style: str
) -> None:
    canaries = Canaries(style)
    root = folder(tmp_path / "runs", canaries)
    # The start of a session's id is a short plain name, and part of a handle.
    names = [f"odd#{canaries('Session.id')[:8]}"]
    reached: dict[str, set[str]] = {}
    tried, wrong = 0, []
    for context, hides in contexts(root):
        for run in RUNS[: attempts(2, 5)] if hides else RUNS:
            thin = attempts(29 if hides or style != "hostile" else 7, 1)
            for tool, text, found in judged(context, questions(run, thin), names, hides=hides):
                tried += 1
                wrong += found
                if not hides:
                    for place in canaries.met(text):
                        reached.setdefault(place, set()).add(tool)
    assert wrong == []
    GOALS.contain.add(tried, part=f"questions, {style}")
    if style == "hostile":
        table = [f"{place}: {' '.join(sorted(tools))}" for place, tools in reached.items()]
        print(*sorted(table), sep="\n")
        explained = frozenset().union(*UNREACHED.values())
        assert canaries.places - reached.keys() - explained == set()
        assert explained <= canaries.places, "a place that is gone is explained"
        assert explained & reached.keys() == set(), "a place that is shown is explained"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two sessions of ordinary words, in which each column will be filled in turn."""
    path = tmp_path_factory.mktemp("plain") / "demo.ctrace"
    write(path, turns(str), str, "5e55" + "0" * 28)
    write(path, turns(str)[2:], str, "07" * 16, day=29)
    return path


COLUMNS = columns()


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.place)
def test_every_column_of_every_table_is_framed_whether_it_can_be_read_or_not(
    plain: Path, tmp_path: Path, column: Column
) -> None:
    tried, wrong = 0, []
    for style in STYLES if IS_FULL else ("hostile",):
        for within in (True, False):
            canaries = Canaries(style)
            root = tmp_path / f"{style}{within}"
            root.mkdir()
            path = root / "demo.ctrace"
            shutil.copy(plain, path)
            with closing(sqlite3.connect(path)) as connection:
                if not fill_column(connection, column, canaries, within=within):
                    continue
            start = canaries(column.place)[:8]
            for context, hides in contexts(root):
                for _, _, found in judged(context, FEW, [f"demo#{start}"], hides=hides):
                    tried += 1
                    wrong += [f"{style} {within} {one}" for one in found]
    assert wrong == []
    GOALS.contain.add(tried)


def test_no_column_of_text_is_forgotten() -> None:
    found = {column.place for column in COLUMNS}
    assert {"block.text", "call_block.label", "ctx_decision.reason", "ctx_call.tags"} <= found
    assert {"ctx_request.pieces", "ctx_placement.packed"} <= found
    assert ("call_block", "block_id") in next(
        column.referring for column in COLUMNS if column.place == "block.content_hash"
    )
