"""Each tool's whole answer, as a model reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLS = {
    "runs": ("ctxdiff_runs", {}),
    "explain": ("ctxdiff_explain", {"run": "latest"}),
    "explain-turn": ("ctxdiff_explain", {"run": "demo", "turn": 5, "context_window": 100}),
    "explain-detailed": (
        "ctxdiff_explain",
        {"run": "demo", "turn": 3, "response_format": "detailed"},
    ),
    "explain-first": ("ctxdiff_explain", {"run": "demo", "turn": 1}),
    "diff": ("ctxdiff_diff", {"run": "demo", "turn_a": 1, "turn_b": 3}),
    "diff-edit": ("ctxdiff_diff", {"run": "demo", "turn_a": 2, "turn_b": 4}),
    "diff-across-agents": ("ctxdiff_diff", {"run": "demo", "turn_a": 2, "turn_b": 3}),
    "tokens": ("ctxdiff_tokens", {"run": "demo"}),
    "tokens-turn": ("ctxdiff_tokens", {"run": "demo", "turn": 3, "context_window": 50}),
    "cache": ("ctxdiff_cache", {"run": "demo"}),
    "block-turn": ("ctxdiff_block", {"run": "demo", "turn": 1}),
    "block": ("ctxdiff_block", {"run": "demo", "turn": 1, "position": 2}),
    "block-marked": ("ctxdiff_block", {"run": "demo", "turn": 1, "position": 2, "mark": "lines"}),
    "search": ("ctxdiff_search", {"run": "demo", "query": "museum closes"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_answer_reads_as_promised(
    name: str,
    story: Path,
    ask: Callable[..., Any],
    matches_golden: Callable[[str, str], None],
) -> None:
    tool, arguments = CALLS[name]
    answer = ask(tool, arguments)
    assert not answer.is_error
    assert answer.text.endswith("\n")
    nonce = re.search(r"⟦captured (\w{10}) ", answer.text)
    matches_golden(f"mcp/{name}.txt", answer.text.replace(nonce[1] if nonce else "\0", "NONCE"))


@pytest.mark.parametrize(
    "name", ["explain", "explain-turn", "diff-across-agents", "tokens", "cache", "search"]
)
def test_every_call_that_an_answer_prints_can_be_sent(
    name: str, story: Path, ask: Callable[..., Any]
) -> None:
    tool, arguments = CALLS[name]
    printed = re.findall(r"(ctxdiff_[a-z]+)\(([^)]*)\)", ask(tool, arguments).text)
    assert printed
    for called, spelled in printed:
        pairs = re.findall(r'(\w+)=(?:"([^"]*)"|(\d+))', spelled)
        given = {key: text or int(number) for key, text, number in pairs}
        assert not ask(called, given).is_error, (called, given)


def test_a_healthy_run_says_so(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any]
) -> None:
    first, second = block("Be brief.", "system", "system"), block("Hello.")
    answer = block("Hi.", "assistant", "history")
    new_trace(
        turn([first, second], [answer], usage={"prompt_tokens": 4, "completion_tokens": 1}),
        turn(
            [first, second, answer, block("Bye.")],
            [block("Bye!", "assistant", "history")],
            usage={"prompt_tokens": 6, "completion_tokens": 1},
        ),
    )
    text = ask("ctxdiff_explain", run="latest").text
    assert "chosen because it is the last turn" in text
    assert "no fault found at this turn" in text


def test_a_good_run_and_a_bad_one_are_compared(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any]
) -> None:
    same, fact = block("Question?"), block("A fact.", "user", "rag")
    new_trace(turn([same, fact]), name="good")
    new_trace(turn([same]), name="bad", session_id="ba" * 16)
    text = ask("ctxdiff_diff", run="good", turn_a=1, turn_b=1, run_b="bad").text
    assert text.startswith("run good: turn 1 (no agent) -> turn 1 of run bad (no agent)\n")
    assert "0 added, 1 evicted, 0 modified, 1 unchanged" in text


def test_a_block_is_read_in_pages_that_join_to_the_original(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any]
) -> None:
    original = "".join(f"line {n}: äöü \x1b[3{n % 8}m ⟦{n}⟧ 😀\n" for n in range(600))
    new_trace(turn([block(original)]))
    from ctxdiff_mcp.gate.clean import restore

    arguments: dict[str, Any] | None = {"run": "latest", "turn": 1, "position": 0}
    pieces = []
    while arguments is not None:
        text = ask("ctxdiff_block", arguments).text
        assert len(text.encode()) <= 8_000
        (content,) = re.findall(
            r"^⟦captured [^⟧]*⟧\n(.*)\n⟦end \w+ 1⟧\n\Z", text, re.MULTILINE | re.DOTALL
        )
        pieces.append(restore(content))
        more = re.search(
            r'next: ctxdiff_block\(run="demo", content_hash="(\w+)", offset=(\d+)\)', text
        )
        arguments = (
            {"run": "demo", "content_hash": more[1], "offset": int(more[2])} if more else None
        )
    assert len(pieces) > 3
    assert "".join(pieces) == original


def test_marked_pages_go_on_marked(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any]
) -> None:
    new_trace(turn([block("one line\n" * 2_000)]))
    text = ask("ctxdiff_block", run="latest", turn=1, position=0, mark="lines").text
    assert 'offset=4000, mark="lines")' in text
    assert text.count("| one line\n") == 4_000 // 9


def test_every_list_is_paged_to_its_end(
    new_trace: Callable[..., Path], block: Any, turn: Any, ask: Callable[..., Any]
) -> None:
    blocks = [block(f"message number {n}") for n in range(130)]
    new_trace(turn(blocks[:1]), turn(blocks))
    for tool, arguments in (
        ("ctxdiff_block", {"turn": 2}),
        ("ctxdiff_diff", {"turn_a": 1, "turn_b": 2}),
    ):
        seen: list[str] = []
        cursor: int | None = 0
        while cursor is not None:
            text = ask(tool, {"run": "demo", "cursor": cursor, **arguments}).text
            seen += re.findall(r"^- (?:input|added at) (\d+)", text, re.MULTILINE)
            more = re.search(r"; next: ctxdiff_\w+\(.*cursor=(\d+)\)", text)
            cursor = int(more[1]) if more else None
        assert seen == [str(n) for n in range(130)][-len(seen) :]
        assert len(seen) >= 129
