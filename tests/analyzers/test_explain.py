from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain, ranked
from ctxdiff_analyzers.findings import Finding
from ctxdiff_analyzers.window import Fill

FACT = "The crucial retrieved fact is that order 42 can be returned until the end of the month."


def told(explanation: Any) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.cause) for finding in explanation.findings]


def test_a_healthy_appended_turn_has_no_findings(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    inputs = [make.system("be brief"), make.schema({"name": "get"}), make.user("hello")]
    call = make.call({"type": "tool_use", "id": "1", "name": "get", "input": {}})
    result = make.part({"type": "tool_result", "tool_use_id": "1", "content": "4 C"})
    run.add(*inputs, outputs=[call], finish_reason="tool_use")
    run.add(*inputs, call, result, outputs=[make.assistant("4 C")], finish_reason="end_turn")
    explanation = explain(run.done(), 2, window=1_000)
    assert explanation.findings == ()
    assert explanation.previous == 1
    assert explanation.tokens.total_tokens == sum(
        entry.tokens for entry in explanation.diff.entries
    )


def test_an_agents_first_turn_is_compared_to_nothing(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("a"), agent="x")
    run.add(make.user("b"), agent="y")
    explanation = explain(run.done(), 2)
    assert (explanation.previous, explanation.diff, explanation.findings) == (None, None, ())


def test_a_lost_tagged_block_is_told_first_and_again_later(make: SimpleNamespace) -> None:
    run = make.run()
    fact, q, a = make.user(FACT, tag="rag", tokens=13), make.user("q"), make.assistant("a")
    run.add(fact, q)
    run.add(q, a, error="APIError")
    run.add(q, a, make.user("r"))
    timeline = run.done()
    assert told(explain(timeline, 2))[:2] == [
        ("call_failed", None),
        ("context_evicted", "evicted_block"),
    ]
    (later,) = [f for f in explain(timeline, 3).findings if f.code == "context_evicted"]
    assert (later.turn, later.severity, later.tokens, later.tokens_method) == (
        2,
        "high",
        13,
        "exact",
    )
    assert later.evidence.names == ("rag",)
    assert later.evidence.excerpts == (FACT,)
    assert later.next is not None
    assert later.next.arguments == (("turn_a", 1), ("turn_b", 2))


def test_what_is_so_at_every_turn_is_told_since_the_first(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    rules = "Weigh each crate twice and note both numbers. It is "
    for number, clock in enumerate(("07:15", "07:15", "07:31", "07:42", "07:58"), 1):
        said = [make.user(f"question {n} about the crates") for n in range(number)]
        run.add(make.system(rules + clock), *said, outputs=[make.assistant("a")])
    timeline = run.done()
    told = [
        [(f.turn, f.since) for f in explain(timeline, seq).findings if f.code == "system_changed"]
        for seq in (2, 3, 4, 5)
    ]
    assert told == [[], [(3, None)], [(4, 3)], [(5, 3)]]


def test_what_the_answer_needed_comes_before_what_costs_money() -> None:
    def finding(code: Any, severity: Any, tokens: int = 0, turn: int = 5) -> Finding:
        return Finding(code, turn, None, severity, "measured", tokens=tokens)

    dead = finding("dead_schemas", "low", 900)
    broken = finding("cache_break", "medium", 5_000)
    small, large = finding("context_edited", "low", 3), finding("context_edited", "low", 30)
    old, new = finding("context_evicted", "high", 9, turn=2), finding("context_evicted", "high", 5)
    assert ranked([dead, broken, small, large, old, new], 5) == (
        new,
        old,
        large,
        small,
        broken,
        dead,
    )


def test_the_window_is_filled_by_what_was_billed(make: SimpleNamespace) -> None:
    run = make.run()
    run.add(make.user("q", tokens=10), usage={"prompt_tokens": 85, "completion_tokens": 1})
    explanation = explain(run.done(), 1, window=100)
    assert explanation.window == Fill(85, 100, 85.0)
    assert told(explanation) == [("window_pressure", None)]


@pytest.mark.parametrize(("seq", "agent"), [(7, None), (1, "nobody")])
def test_a_turn_that_is_not_there_is_refused(
    make: SimpleNamespace, seq: int, agent: str | None
) -> None:
    run = make.run()
    run.add(make.user("q"), agent="x")
    with pytest.raises(ValueError):
        explain(run.done(), seq, agent)


def test_recorded_words_stand_in_the_evidence_alone(make: SimpleNamespace) -> None:
    word = "XYZZY"
    run = make.run(has_outputs=True)
    schema = make.schema({"name": f"{word}_tool", "description": word})
    said = [make.user(f"{word} {n} {FACT}", tag=word if n == 1 else None) for n in range(4)]
    run.add(make.system(f"{word} {FACT}"), schema, *said, params={"model": f"{word}1"})
    run.add(
        make.system(f"{word} {FACT} more {word}"),
        make.user(word),
        *said[2:],
        outputs=[make.call({"type": "tool_use", "id": word, "name": word, "input": {}})],
        error=f"{word}Error",
        error_message=word,
        finish_reason="length",
        params={"model": f"{word}2", "temperature": word},
        attempts=2,
    )
    findings = explain(run.done(), 2, window=10).findings
    assert len(findings) >= 8
    for finding in findings:
        outside = [finding.code, finding.cause, finding.why, finding.severity, finding.certainty]
        asked = [value for _, value in finding.next.arguments] if finding.next else []
        assert word not in repr((outside, asked, finding.next and finding.next.tool))


def test_a_turn_of_a_long_run_is_explained_without_reading_the_run(make: SimpleNamespace) -> None:
    run = make.run(has_outputs=True)
    system = make.system("be brief")
    said = [make.user(f"{number} {FACT}") for number in range(600)]
    for number in range(600):
        answer = make.assistant(f"answer {number}")
        run.add(system, *said[max(0, number - 20) : number + 1], outputs=[answer])
    explain(run.done(), 500)
    assert len(run.fetched) < 100
