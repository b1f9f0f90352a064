from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding

RULES = "You answer customers in chat. Be friendly and factual, and never promise a date. "


def second_turn(make: SimpleNamespace, old: list[Any], new: list[Any], **run: Any) -> list[Finding]:
    builder = make.run(**run)
    q = make.user("q")
    builder.add(*old, q)
    builder.add(*new, q, outputs=run and [make.assistant("ok")])
    return list(explain(builder.done(), 2).findings)


def brief(findings: list[Finding]) -> list[tuple[str, str | None, str]]:
    return [(finding.code, finding.cause, finding.severity) for finding in findings]


@pytest.mark.parametrize(
    ("old", "new", "cause", "severity"),
    [
        (f"Now 10:00:01. {RULES}", f"Now 10:00:02. {RULES}", "volatile_value", "low"),
        (
            f"{RULES} Session 1f0c9a7e-3b2d-4c11-9a77-aa01bc02dd03",
            f"{RULES} Session 9be7c215-88aa-4f0e-8a4b-0c1d2e3f4a5b",
            "session_id_in_prefix",
            "low",
        ),
        (RULES, f"{RULES} Always answer in Norwegian.", "section_appended", "medium"),
        (RULES, RULES.replace(". ", ".\n"), "whitespace_only_change", "low"),
        (RULES, RULES.replace("never promise", "always promise"), None, "medium"),
        (RULES, "Translate what you are given into Norwegian.", "system_replaced", "medium"),
    ],
)
def test_a_changed_system_text_is_told_with_its_cause(
    make: SimpleNamespace, old: str, new: str, cause: str | None, severity: str
) -> None:
    found = second_turn(make, [make.system(old)], [make.system(new)])
    assert [f.code for f in found] == ["system_changed", "cache_break"]
    assert (found[0].cause, found[0].severity) == (cause, severity)


def test_a_system_text_that_is_gone_is_a_grave_loss(make: SimpleNamespace) -> None:
    found = second_turn(make, [make.system(RULES)], [])
    assert brief(found)[0] == ("context_evicted", "system_prompt_missing", "high")


def test_tools_added_removed_and_edited_are_named(make: SimpleNamespace) -> None:
    def tool(name: str, description: str) -> Any:
        return make.schema({"name": name, "description": description, "input_schema": {}})

    (found, broken) = second_turn(
        make,
        [tool("keep", "same"), tool("edit", "before"), tool("drop", "x")],
        [tool("keep", "same"), tool("edit", "after"), tool("new", "y")],
    )
    assert brief([found]) == [("tools_changed", "tool_set_changed", "medium")]
    assert found.evidence.names == ("drop", "new", "edit")
    assert found.evidence.counts == (("removed", 1), ("added", 1), ("edited", 1))
    assert broken.cause == "tool_description_changed"


def test_the_same_tools_in_another_order_are_reordered(make: SimpleNamespace) -> None:
    a, b = make.schema({"name": "a"}), make.schema({"name": "b"})
    found = second_turn(make, [a, b], [b, a])
    assert [(f.code, f.cause) for f in found] == [
        ("tools_reordered", "tool_order_changed"),
        ("cache_break", "tool_order_changed"),
    ]


def test_a_marker_on_a_tool_changes_no_tool(make: SimpleNamespace) -> None:
    plain = make.schema({"name": "a"})
    marked = make.schema({"name": "a", "cache_control": {"type": "ephemeral"}})
    assert second_turn(make, [plain], [marked]) == []


MARK = {"cache_control": {"type": "ephemeral"}}


def test_a_marker_that_stays_on_the_last_tool_edits_none_of_them(make: SimpleNamespace) -> None:
    def tool(name: str, **more: Any) -> Any:
        return make.schema({"name": name, "description": f"Does {name}.", **more})

    old = [tool("pack"), tool("weigh"), tool("ship", **MARK)]
    new = [tool("ship"), tool("weigh"), tool("pack", **MARK)]
    found = second_turn(make, old, new)
    assert [(f.code, f.cause) for f in found] == [
        ("tools_reordered", "tool_order_changed"),
        ("cache_break", "tool_order_changed"),
    ]
    assert found[0].evidence.counts == (("tools", 3), ("moved", 2))
    assert brief(second_turn(make, old, [tool("pack"), tool("weigh"), tool("ship")])) == []


def declaring(make: SimpleNamespace, *names: str, key: str = "functionDeclarations") -> Any:
    listed = [{"name": n.lower(), "description": f"Does {n}."} for n in names]
    return make.schema({key: listed})


@pytest.mark.parametrize("key", ["functionDeclarations", "function_declarations"])
@pytest.mark.parametrize(
    ("now", "code", "cause", "names"),
    [
        (("ship", "pack", "weigh"), "tools_reordered", "tool_order_changed", ("ship",)),
        (("pack", "weigh", "ship", "bill"), "tools_changed", "tool_set_changed", ("bill",)),
        (("pack", "ship"), "tools_changed", "tool_set_changed", ("weigh",)),
        (("pack", "WEIGH", "ship"), "tools_changed", "tool_description_changed", ("weigh",)),
    ],
)
def test_functions_that_one_tool_declares_are_told_apart(
    make: SimpleNamespace, key: str, now: tuple[str, ...], code: str, cause: str, names: Any
) -> None:
    old = [declaring(make, "pack", "weigh", "ship", key=key)]
    found = second_turn(make, old, [declaring(make, *now, key=key)])
    assert (found[0].code, found[0].cause) == (code, cause)
    assert found[0].evidence.names == names
    assert [f.code for f in found[1:]] == ["cache_break"]


@pytest.mark.parametrize("text", ["no JSON at all", "{}", '{"functionDeclarations": []}', "[1]"])
def test_a_tool_without_a_name_goes_by_what_it_is(make: SimpleNamespace, text: str) -> None:
    nameless, pack = make.schema(text), declaring(make, "pack")
    assert second_turn(make, [nameless, pack], [nameless, pack]) == []
    found = second_turn(make, [nameless, pack], [pack])
    assert brief(found)[0] == ("tools_changed", "tool_set_changed", "medium")


def test_the_same_functions_in_two_tools_instead_of_one_are_no_other_tools(
    make: SimpleNamespace,
) -> None:
    old = [declaring(make, "pack", "weigh")]
    new = [declaring(make, "pack"), declaring(make, "weigh")]
    codes = {f.code for f in second_turn(make, old, new)}
    assert not codes & {"tools_changed", "tools_reordered"}


def test_a_tool_that_is_called_and_not_offered_any_more_is_missing(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    call = make.call({"type": "tool_use", "id": "1", "name": "a", "input": {}})
    offered, q = make.schema({"name": "a"}), make.user("q")
    other = make.schema({"name": "b"})
    run.add(offered, other, q, outputs=[call], finish_reason="tool_use")
    run.add(other, q, call, outputs=[make.assistant("x")], finish_reason="end_turn")
    run.add(other, q, call, outputs=[call], finish_reason="tool_use")
    timeline = run.done()
    missing = [
        [f.severity for f in explain(timeline, seq).findings if f.code == "tool_missing"]
        for seq in (1, 2, 3)
    ]
    assert missing == [[], ["medium"], ["high"]]


def test_a_tool_that_was_never_offered_is_unknown(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    call = make.call({"type": "tool_use", "id": "1", "name": "invented", "input": {}})
    run.add(make.schema({"name": "a"}), make.user("q"), outputs=[call], finish_reason="tool_use")
    (found,) = explain(run.done(), 1).findings
    assert (found.code, found.evidence.names, found.severity) == (
        "tool_unknown",
        ("invented",),
        "high",
    )
