"""Where the values of a tool call came from, and whether their source was still there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.provenance import Origin, origins
from ctxdiff_analyzers.timeline import Timeline, Turn


def call(make: SimpleNamespace, given: Any, name: str = "order") -> Any:
    return make.call({"type": "tool_use", "id": "t1", "name": name, "input": given})


def told(found: tuple[Origin, ...]) -> list[tuple[str, str, str]]:
    return [(one.argument.path, one.argument.value, one.where) for one in found]


def last(make: SimpleNamespace, turns: list[list[Any]], given: Any) -> tuple[Origin, ...]:
    """Origins of a call that answers the last of the turns."""
    run = make.run(has_outputs=True)
    added: list[Turn] = []
    for at, blocks in enumerate(turns, 1):
        is_last = at == len(turns)
        added.append(run.add(*blocks, outputs=[call(make, given)] if is_last else []))
    return origins(run.done(), added[-1])


def test_a_value_in_context_names_the_latest_block_that_gave_it(make: SimpleNamespace) -> None:
    old, new = make.user("Take SKU AB-117."), make.tool("found AB-117 and AB-118")
    (found,) = last(make, [[old], [old, make.assistant("AB-117, then."), new]], {"sku": "AB-117"})
    assert (found.where, found.content_hash, found.role) == ("in_context", new.content_hash, "tool")
    assert (found.position, found.first_seen, found.last_seen, found.left_at) == (2, 2, 2, None)


def test_a_value_whose_source_left_says_when(make: SimpleNamespace) -> None:
    source, rest = make.tool("customer Bergström, id 90121"), make.user("Order it.")
    (found,) = last(
        make, [[source], [source, rest], [rest], [rest, make.user("Now.")]], {"c": 90121}
    )
    assert (found.where, found.content_hash) == ("left", source.content_hash)
    assert (found.first_seen, found.last_seen, found.left_at, found.position) == (1, 2, 3, None)


def test_a_value_that_nobody_gave_is_nowhere(make: SimpleNamespace) -> None:
    found = last(make, [[make.user("Order two of AB-117.")]], {"sku": "AB-119", "note": "AB-117"})
    assert told(found) == [("note", "AB-117", "in_context"), ("sku", "AB-119", "nowhere")]


def test_what_the_model_said_itself_is_a_source_only_where_nothing_else_is(
    make: SimpleNamespace,
) -> None:
    said = make.assistant("I take warehouse Nord-7.")
    (found,) = last(make, [[make.user("Choose."), said]], {"site": "Nord-7"})
    assert (found.where, found.role) == ("in_context", "assistant")


@pytest.mark.parametrize(
    ("text", "value", "where"),
    [
        ("20120 pieces", 12, "nowhere"),
        ("12 pieces", 12, "in_context"),
        ("1,250 pieces", 1250, "in_context"),
        ("costs 12.50", 12.5, "nowhere"),
        ("AB-1170", "AB-117", "nowhere"),
        ("AB-117, AB-118", "AB-117", "in_context"),
        ('{"quote": "say \\"hi\\" now"}', 'say "hi" now', "in_context"),
        ("Zürich", "Zürich", "in_context"),
        ("path /srv/data.csv here", "/srv/data.csv", "in_context"),
    ],
)
def test_a_value_is_found_as_it_may_be_spelled(
    make: SimpleNamespace, text: str, value: Any, where: str
) -> None:
    (found,) = last(make, [[make.user(text)]], {"value": value})
    assert found.where == where


def test_short_values_flags_and_long_texts_are_not_looked_for(make: SimpleNamespace) -> None:
    given = {
        "a": "no",
        "b": 7,
        "c": True,
        "d": None,
        "e": "x" * 201,
        "f": {"inner": [{"name": "Anna B."}]},
    }
    found = last(make, [[make.user("no 7 Anna B.")]], given)
    assert told(found) == [("f.inner[0].name", "Anna B.", "in_context")]


def test_a_tools_schema_is_no_source(make: SimpleNamespace) -> None:
    schema = make.schema({"name": "order", "description": "for example AB-117"})
    (found,) = last(make, [[schema, make.user("Order.")]], {"sku": "AB-117"})
    assert found.where == "nowhere"


def test_another_agents_context_is_no_source(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    run.add(make.user("SKU AB-117"), agent="planner")
    turn = run.add(make.user("Order."), agent="buyer", outputs=[call(make, {"sku": "AB-117"})])
    assert told(origins(run.done(), turn)) == [("sku", "AB-117", "nowhere")]


def test_without_recorded_answers_the_calls_are_read_from_the_next_turn(
    make: SimpleNamespace,
) -> None:
    run = make.run()
    ask = make.user("Order AB-117.")
    turn = run.add(ask)
    run.add(ask, call(make, {"sku": "AB-117"}), make.tool("ok"))
    assert told(origins(run.done(), turn)) == [("sku", "AB-117", "in_context")]


def test_a_turn_that_calls_no_tool_has_no_values(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    turn = run.add(make.user("Hi."), outputs=[make.assistant("Hello AB-117.")])
    assert origins(run.done(), turn) == ()


def test_a_finder_gives_the_same_and_is_asked_only_for_what_is_not_in_context(
    make: SimpleNamespace,
) -> None:
    run = make.run(has_outputs=True)
    source, rest = make.tool("id 90121 of Bergström"), make.user("Order for Anna.")
    run.add(source)
    turn = run.add(rest, outputs=[call(make, {"c": 90121, "n": "Anna", "m": "Olsson"})])
    timeline: Timeline = run.done()
    asked: list[str] = []

    def find(text: str) -> list[str]:
        asked.append(text)
        return [h for h, body in run.texts.items() if text in body]

    assert origins(timeline, turn, find) == origins(timeline, turn)
    assert "Anna" not in asked
    assert {"90121", "Olsson"} <= set(asked)
