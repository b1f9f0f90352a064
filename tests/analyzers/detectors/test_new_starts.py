"""Conversations that begin anew under one agent's name are no edits of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding

from tests.analyzers import wire
from tests.analyzers.wire import Call, Image, Say, User

CODES = ("context_edited", "context_evicted", "context_compacted")
EXAMPLES = (
    User("Sort this bird: heron"),
    Say("wader"),
    User("Sort this bird: swift"),
    Say("swift-like"),
)
MARK = {"cache_control": {"type": "ephemeral"}}


def told(found: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in found if one.code in CODES]


@pytest.mark.parametrize("surface", wire.SURFACES)
@pytest.mark.parametrize("agent", [None, "sorter"])
def test_a_question_like_the_last_one_is_another_question(
    surface: str, agent: str | None, tmp_path: Path
) -> None:
    calls = [
        Call((User(f"Sort this bird: {name}"),), (Say("wader"),), agent=agent)
        for name in ("curlew", "black-tailed godwit", "ruff")
    ]
    for turn in (2, 3):
        assert told(wire.findings(surface, calls, tmp_path, turn)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_second_conversation_that_begins_like_the_first_is_no_edit_of_it(
    surface: str, tmp_path: Path
) -> None:
    first = (User("Name the bird 'Spatz'."), Say("House sparrow."), User("And 'Star'?"))
    calls = [
        *wire.grown((*first, Say("Starling.")), agent="namer"),
        *wire.grown((User("Name the bird 'Eisvogel'."), Say("Kingfisher.")), agent="namer"),
    ]
    found = told(wire.findings(surface, calls, tmp_path, 3))
    assert {severity for _, severity in found} <= {"low"}
    assert "context_edited" not in dict(found)


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_another_question_behind_the_same_examples_is_no_edit(surface: str, tmp_path: Path) -> None:
    calls = [Call((*EXAMPLES, User(f"Sort this bird: {name}"))) for name in ("teal", "grebe")]
    assert told(wire.findings(surface, calls, tmp_path)) == []


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_an_altered_example_is_an_edit(surface: str, tmp_path: Path) -> None:
    calls = [Call((*EXAMPLES, User(f"Sort this bird: {name}"))) for name in ("teal", "grebe")]
    said = (replace(EXAMPLES[0], text="Sort this bird: goose"), *calls[1].said[1:])
    calls[1] = replace(calls[1], said=said)
    assert ("context_edited", "medium") in told(wire.findings(surface, calls, tmp_path))


@pytest.mark.parametrize("surface", wire.SURFACES)
def test_a_first_message_that_was_altered_with_its_answer_behind_it_is_an_edit(
    surface: str, tmp_path: Path
) -> None:
    asked = User("Count the nests on pier four of the old bridge.")
    other = User("Count the nests on pier nine of the old bridge.")
    calls = [Call((asked,), (Say("Seven."),)), Call((other, Say("Seven."), User("Sure?")))]
    assert told(wire.findings(surface, calls, tmp_path)) == [("context_edited", "medium")]


def photo(data: str, **more: Any) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source} | more


@pytest.mark.parametrize("surface", ["anthropic.messages", "bedrock.invoke_model"])
@pytest.mark.parametrize("is_same", [True, False])
def test_a_marker_that_leaves_an_image_is_no_edit_of_it(
    surface: str, is_same: bool, tmp_path: Path
) -> None:
    said = (User("Which bird is this?"), Image())
    calls = [Call(said, (Say("A dunlin."),)), Call((*said, Say("A dunlin."), User("Sure?")))]
    log = wire.lines(surface, calls)
    data = Image().data
    other = data[:-8] + "AAAA" + data[-4:]
    for line, image in zip(log, (photo(data, **MARK), photo(data if is_same else other)), strict=True):  # fmt: skip
        line["request"]["messages"][0]["content"][1] = image
    log[1]["request"]["messages"][-1]["content"] = [{"type": "text", "text": "Sure?"} | MARK]
    found = explain(wire.recorded(log, tmp_path), 2).findings
    assert told(found) == ([] if is_same else [("context_edited", "medium")])
