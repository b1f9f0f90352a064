"""Hooks of frameworks: before the model, after a tool, before the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import openai
import pytest
from ctxdiff_capture import Tracer
from ctxdiff_capture.hooks.fate import fate_of
from ctxdiff_capture.model import CallHead, Decision, Stage
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretBytes, SecretStr

Make = Callable[..., openai.OpenAI]
Stored = Callable[[], list[tuple[CallHead, list[Stage], list[Decision]]]]

RAW = "row 1: 12\nrow 2: 15\nrow 3: 99\nrow 4: 17\n"


def ask(client: openai.OpenAI) -> None:
    client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "now"}])


@pytest.mark.parametrize(
    ("entered", "fate"),
    [
        (RAW, "unchanged"),
        ([{"type": "text", "text": RAW}], "unchanged"),
        ({"role": "tool", "tool_call_id": "1", "content": RAW}, "unchanged"),
        (RAW[:20], "cut"),
        (RAW[:20] + "\n[output truncated, 18 more characters]", "cut"),
        (RAW[:9] + "..." + RAW[-9:], "cut"),
        (RAW[-12:], "cut"),
        (RAW.replace("99", "***"), "redacted"),
        (RAW.replace("row 3: 99", "[REDACTED: salary]"), "redacted"),
        ("The highest value is 99.", "rewritten"),
        ("row count: 4, highest 99, lowest 12, and nothing else of note", "rewritten"),
        ("", "dropped"),
        (None, "dropped"),
    ],
)
def test_a_fate_has_a_word_of_its_own(entered: Any, fate: str) -> None:
    assert fate_of(RAW, entered) == fate


def test_a_result_that_is_no_text_is_compared_as_json() -> None:
    assert fate_of({"b": 1, "a": [2]}, {"a": [2], "b": 1}) == "unchanged"
    assert fate_of({"b": 1, "a": [2]}, '{"a": [2], "b": 1}') == "unchanged"
    assert fate_of({"b": 1, "a": [2]}, {"a": [2]}) == "cut"
    assert fate_of({"b": 1, "a": [2]}, {"c": True, "a": [3]}) == "rewritten"


@given(st.text(), st.text())
def test_only_equal_texts_are_unchanged(raw: str, entered: str) -> None:
    assert (fate_of(raw, entered) == "unchanged") == (raw == entered)


@given(st.text(min_size=2, max_size=60), st.data())
def test_a_beginning_or_an_end_is_a_cut(raw: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(raw) - 1))

    for part in (raw[:at], raw[at:]):
        assert fate_of(raw, part) == ("cut" if part.strip() else "dropped")


def test_a_changed_tool_result_is_stored_raw_with_the_next_call(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    tracer.after_tool(RAW, RAW[:20], name="query", tool_call_id="c1")
    tracer.after_tool("4 C", "4 C", name="weather")
    ask(client_of(tracer))

    ((_, (stage,), decisions),) = stored()
    assert (stage.name, len(stage.inputs)) == ("tool_result", 1)
    (raw,) = stage.inputs
    assert (raw.block.text, raw.block.role, raw.tool_call_id) == (RAW, "tool", "c1")
    assert raw.block.token_method == "tiktoken"
    assert [(d.candidate, d.disposition, d.reason) for d in decisions] == [
        ("query", "cut", "20 characters entered the history, the tool gave 40"),
        ("weather", "unchanged", "3 characters entered the history, the tool gave 3"),
    ]


@pytest.mark.parametrize("is_state", [False, True])
def test_before_model_stores_what_the_framework_holds(
    tracer: Tracer, client_of: Make, stored: Stored, is_state: bool
) -> None:
    messages = [{"role": "user", "content": "held"}]
    hook: Callable[[Any], None] = tracer.before_model
    hook({"messages": messages, "next": "model"} if is_state else messages)
    ask(client_of(tracer))

    ((_, (stage,), _),) = stored()
    assert (stage.name, [p.block.text for p in stage.inputs]) == ("before_model", ["held"])


class _Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, tzinfo=timezone.utc), "2026-01-02T03:04:00+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (Decimal("1.50"), "1.50"),
        (PurePosixPath("a/b"), "a/b"),
        (_Colour.RED, "red"),
        (SecretStr("hunter2hunter2"), "**********"),
        (SecretBytes(b"hunter2hunter2"), "b'**********'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_frameworks_hold_are_stored_as_texts_and_secrets_as_stars(
    tracer: Tracer, client_of: Make, stored: Stored, value: Any, text: str
) -> None:
    tracer.after_tool({"at": value}, None, name="look")
    ask(client_of(tracer))

    ((_, (stage,), _),) = stored()
    ((placement,),) = (stage.inputs,)
    assert json.loads(placement.block.text) == {"at": text}


def test_what_joined_no_call_is_forgotten_when_the_turn_ends(
    tracer: Tracer, client_of: Make, stored: Stored
) -> None:
    client = client_of(tracer)
    tracer.decision("a", "included")
    ask(client)
    tracer.decision("b", "included")
    tracer.before_complete()
    ask(client)

    assert [[d.candidate for d in decisions] for _, _, decisions in stored()] == [["a"], []]
