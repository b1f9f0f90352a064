from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding

FACT = "The depot in Drammen takes returns until six in the evening, on Saturdays until two."
OTHER = "Members of the club return free of charge, everyone else pays for the label."


def second_turn(make: SimpleNamespace, old: list[Any], new: list[Any]) -> list[Finding]:
    run = make.run()
    run.add(*old)
    run.add(*new)
    return [f for f in explain(run.done(), 2).findings if f.code.startswith("context")]


def brief(findings: list[Finding]) -> list[tuple[str, str | None, str]]:
    return [(finding.code, finding.cause, finding.severity) for finding in findings]


def test_an_untagged_block_from_the_middle_is_a_loss(make: SimpleNamespace) -> None:
    s, q, a = make.system("s"), make.user("q"), make.assistant("a")
    (found,) = second_turn(make, [s, q, make.tool(FACT), a], [s, q, a, make.user("r")])
    assert brief([found]) == [("context_evicted", "evicted_block", "medium")]
    assert found.evidence.content_hashes == (make.tool(FACT).content_hash,)
    assert found.evidence.positions == (2,)
    assert found.next is not None
    assert found.next.tool == "ctxdiff_block"


def test_a_block_that_comes_back_later_is_no_loss(make: SimpleNamespace) -> None:
    q, a, fact = make.user("q"), make.assistant("a"), make.tool(FACT)
    run = make.run()
    run.add(q, fact, a)
    run.add(q, a)
    run.add(q, a, fact)
    assert "context_evicted" not in [f.code for f in explain(run.done(), 2).findings]


def test_a_history_without_its_front_was_trimmed(make: SimpleNamespace) -> None:
    s = make.system("s")
    said = [make.user(f"{n} {FACT}") for n in range(6)]
    found = second_turn(make, [s, *said], [s, *said[2:], make.assistant("a")])
    assert brief(found) == [("context_evicted", "history_front_trimmed", "medium")]


def test_lost_images_are_named(make: SimpleNamespace) -> None:
    q, a = make.user("q"), make.assistant("a")
    image = make.block("user", "[image 64x48]", "image", tokens=255, method="estimate")
    (found,) = second_turn(make, [q, image, a], [q, a])
    assert (found.cause, found.tokens, found.tokens_method) == ("image_removed", 255, "estimate")


def test_dropped_thinking_is_a_small_matter(make: SimpleNamespace) -> None:
    thinking = make.call({"type": "thinking", "thinking": FACT, "signature": "s"})
    q, a = make.user("q"), make.assistant("a")
    found = second_turn(make, [q, thinking, a], [q, a, make.user("r")])
    assert brief(found) == [("context_evicted", "thinking_blocks_dropped", "low")]


def test_an_agent_without_history_loses_nothing(make: SimpleNamespace) -> None:
    s = make.system("s")
    assert second_turn(make, [s, make.user(FACT)], [s, make.user("Berlin weather today?")]) == []


def test_an_edited_message_is_told_with_old_and_new(make: SimpleNamespace) -> None:
    q, a = make.user("q"), make.assistant("a")
    old, new = make.tool(FACT), make.tool(FACT.replace("six", "seven"))
    (found,) = second_turn(make, [q, old, a], [q, new, a])
    assert brief([found]) == [("context_edited", None, "medium")]
    assert found.evidence.content_hashes == (old.content_hash, new.content_hash)
    assert (found.evidence.first_difference, found.evidence.positions) == (
        FACT.index("six") + 1,
        (1,),
    )


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda text: text.replace(" ", "  "), "whitespace_only_change"),
        (lambda text: text.replace("D", "\uff24"), "unicode_form_changed"),
    ],
)
def test_a_change_of_form_is_a_small_edit(make: SimpleNamespace, change: Any, cause: str) -> None:
    q = make.user("q")
    found = second_turn(make, [make.tool(FACT), q], [make.tool(change(FACT)), q])
    assert brief(found) == [("context_edited", cause, "low")]


def test_moved_and_inserted_messages_are_told_apart(make: SimpleNamespace) -> None:
    q, a, f = make.user("q"), make.assistant("a"), make.tool(FACT)
    moved = second_turn(make, [f, q, a], [q, a, f])
    assert brief(moved) == [("context_edited", "block_moved", "low")]
    inserted = second_turn(make, [q, a], [q, make.user(OTHER), a])
    assert brief(inserted) == [("context_edited", "item_inserted_in_prefix", "low")]


def test_a_cache_marker_that_moves_on_is_no_finding(make: SimpleNamespace) -> None:
    def part(text: str, **marker: Any) -> Any:
        return make.part({"type": "text", "text": text} | marker)

    mark = {"cache_control": {"type": "ephemeral"}}
    run = make.run()
    run.add(part(FACT, **mark))
    run.add(part(FACT), make.assistant("a"), part(OTHER, **mark))
    assert explain(run.done(), 2).findings == ()


def test_a_hand_off_to_another_agent_is_no_finding(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user(FACT), make.assistant("a"), make.user("q"), agent="a")
    run.add(make.user(OTHER), agent="b")
    assert explain(run.done(), 2).findings == ()
