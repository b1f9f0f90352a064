"""The cache tool over recorded calls whose cache is lost, expires and is not used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.importers.base import import_log

from ctxdiff_mcp.answers.cache import cache
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.cli.cache import as_json
from ctxdiff_mcp.cli.output import plain
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.text.cache import cache_lines

RULES = "You answer for the harbour office. Berths are given by length. " * 100
MARK = {"cache_control": {"type": "ephemeral"}}
SECRET = "sk-ant-api03-" + "Zq7" * 20


def call(
    at: str, system: str, said: list[str], read: int, written: int, **more: Any
) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[k % 2], "content": text} for k, text in enumerate(said)
    ]
    messages[-1]["content"] = [{"type": "text", "text": said[-1], **MARK}]
    return {
        "provider": "anthropic.messages",
        "request": {
            "model": "claude-sonnet-4-5",
            "max_tokens": 50,
            "system": [{"type": "text", "text": system, **MARK}],
            "messages": messages,
        },
        "response": {
            "usage": {
                "input_tokens": 4,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": written,
                "output_tokens": 9,
            },
            **more,
        },
        "started_at": f"2026-06-01T{at}+00:00",
        "agent": "clerk",
    }


REASON = {"cache_miss_reason": {"type": "system_changed", "cache_missed_input_tokens": 1_640}}
CALLS = [
    call("08:00:00", f"Now 08:00. {RULES}", ["A"], 0, 1_600),
    call("08:00:20", f"Now 08:00. {RULES}", ["A", "b", "C"], 1_600, 40),
    call(
        "08:01:20", f"Now 08:01. {RULES}", ["A", "b", "C", "d", "E"], 0, 1_680, diagnostics=REASON
    ),
    call("08:02:20", f"Now 08:02. {RULES}", ["A", "b", "C", "d", "E", "f", "G"], 0, 1_720),
    call("08:32:20", f"Now 08:02. {RULES}", list("AbCdEfGhI"), 0, 1_760),
]


@pytest.fixture
def harbour(tmp_path: Path) -> Path:
    return recorded(tmp_path, CALLS)


def recorded(folder: Path, calls: list[dict[str, Any]]) -> Path:
    log, runs = folder / "log.jsonl", folder / "runs"
    runs.mkdir(exist_ok=True)
    log.write_text("".join(f"{json.dumps(line)}\n" for line in calls), encoding="utf-8")
    report = import_log(log, runs / "harbour.ctrace")
    assert report.errors == ()
    return runs / "harbour.ctrace"


@pytest.mark.parametrize("turn", [None, 2, 3, 5])
def test_the_answer_reads_as_promised(
    harbour: Path,
    ask: Callable[..., Any],
    matches_golden: Callable[[str, str], None],
    turn: int | None,
) -> None:
    answer = ask("ctxdiff_cache", {"run": "harbour", **({"turn": turn} if turn else {})})
    nonce = re.search(r"⟦captured (\w{10}) ", answer.text)
    name = "cache-run" if turn is None else f"cache-turn-{turn}"
    matches_golden(f"mcp/{name}.txt", answer.text.replace(nonce[1] if nonce else "\0", "NONCE"))


@pytest.mark.parametrize("turn", [None, 3])
def test_the_terminal_shows_the_same(
    harbour: Path, matches_golden: Callable[[str, str], None], turn: int | None
) -> None:
    lines = cache_lines(cache(Source(harbour), "harbour", turn))
    text = "".join(f"{line.style:8} {line.text}".rstrip() + "\n" for line in lines)
    matches_golden(f"text/cache-{'run' if turn is None else f'turn-{turn}'}.txt", text)


def test_the_json_tells_every_turn_and_cause(harbour: Path) -> None:
    answer = plain(as_json(cache(Source(harbour), "harbour")))
    assert [(row["turn"], row["state"], row["cause"]) for row in answer["turns"]] == [
        (1, "nothing", None),
        (2, "kept", None),
        (3, "lost", "volatile_value"),
        (4, "lost", "volatile_value"),
        (5, "lost", "ttl_expired"),
    ]
    first = answer["causes"][0]
    assert (first["turns"], first["lost_tokens"], first["lost_is_billed"]) == ([3, 4], 3_320, True)
    assert (first["first"]["path"], first["first"]["first_diff_char"]) == ("system[0].text", 8)
    assert first["first"]["vendor_reason"] == "system_changed"


def test_redacted_answers_name_no_cause_and_no_place(
    harbour: Path, ask: Callable[..., Any]
) -> None:
    for turn in (None, 3):
        arguments = {"run": "r1", **({"turn": turn} if turn else {})}
        text = ask("ctxdiff_cache", arguments, policy=Policy(redact="all")).text
        assert "changed at position 0" in text
        for word in ("volatile", "system[0]", "character", "08:0", "anthropic", "clerk"):
            assert word not in text


def test_no_piece_of_a_credential_is_shown_where_a_prompt_differs(
    tmp_path: Path, ask: Callable[..., Any]
) -> None:
    texts = [f"Key {SECRET[:30]}{tail}{SECRET[30:]} {RULES}" for tail in ("AAAA", "BBBB")]
    recorded(
        tmp_path,
        [
            call("08:00:00", texts[0], ["A"], 0, 1_600),
            call("08:00:30", texts[1], ["A", "b", "C"], 0, 1_600),
        ],
    )
    for turn in ({}, {"turn": 2}):
        text = ask("ctxdiff_cache", {"run": "harbour", **turn}).text
        assert "system[0].text" in text
        assert not any(SECRET[k : k + 6] in text for k in range(13, len(SECRET) - 6))


def test_a_run_of_many_causes_is_paged(tmp_path: Path, ask: Callable[..., Any]) -> None:
    agents = [f"agent{n}" for n in range(30)]
    calls = [
        {
            **call(
                f"08:{n:02}:{k:02}", f"{n} Now {k}. {RULES}", list("AbC"[: 2 * k + 1]), 0, 1_600
            ),
            "agent": who,
        }
        for n, who in enumerate(agents)
        for k in (0, 1)
    ]
    recorded(tmp_path, calls)
    seen: set[str] = set()
    cursor: int | None = 0
    while cursor is not None:
        text = ask("ctxdiff_cache", {"run": "harbour", "limit": 8, "cursor": cursor}).text
        seen.update(re.findall(r"agent (agent\d+)", text))
        more = re.search(r"cursor=(\d+)\)", text)
        cursor = int(more[1]) if more else None
    assert seen == set(agents)
