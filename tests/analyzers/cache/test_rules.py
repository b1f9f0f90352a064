"""The data file of providers' facts, and the kinds of edits it is read with."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ctxdiff_analyzers.cache.rules import cited, minimum_of, rules_of
from ctxdiff_analyzers.edits import edit_cause
from ctxdiff_capture.model import CallHead
from hypothesis import given
from hypothesis import strategies as st

from tests.analyzers.cache.wire import MODELS, SURFACES


def call(surface: str | None, provider: str | None = None, model: str = "m") -> CallHead:
    return CallHead("0" * 32, 1, provider, None, None, {"model": model}, None, None, None, surface)


@pytest.mark.parametrize("surface", SURFACES)
def test_every_rule_has_a_source_a_date_and_a_confidence(surface: str) -> None:
    rules = rules_of(call(surface, model=MODELS[surface]))
    assert {"order", "explicit", "lives_s", "step_tokens", *rules.keys} <= rules.facts.keys()
    for fact in rules.facts.values():
        assert re.fullmatch(r"https://[^ ]+, .{10,60}, read \d{4}-\d\d", cited(fact))


@pytest.mark.parametrize(
    ("surface", "provider", "model", "name"),
    [
        ("anthropic.messages", None, "claude-x", "anthropic"),
        ("bedrock.invoke_model", None, "anthropic.claude-x", "bedrock"),
        ("openai.chat", "openai-compatible", "anthropic/claude-sonnet-4.5", "anthropic"),
        ("openai.chat", "openai-compatible", "llama", "openai"),
        (None, "anthropic", "claude-x", "anthropic"),
        (None, "azure", "gpt-5", "openai"),
        (None, "google-genai", "gemini-3-pro", "gemini"),
        (None, None, "m", "other"),
        (None, "withheld", "withheld", "other"),
    ],
)
def test_a_call_is_judged_by_its_providers_rules(
    surface: str | None, provider: str | None, model: str, name: str
) -> None:
    assert rules_of(call(surface, provider, model)).name == name


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-4-8", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-opus-4-6", 4_096),
        ("claude-opus-4-5-20251101", 4_096),
        ("claude-opus-4-1-20250805", 1_024),
        ("claude-opus-4-20250514", 1_024),
        ("claude-sonnet-5", 1_024),
        ("claude-3-7-sonnet-20250219", 1_024),
        ("claude-3-5-haiku-20241022", 2_048),
        ("claude-haiku-4-5", 4_096),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 4_096),
        ("amazon.nova-lite-v1:0", 1_000),
        ("gpt-4o-mini", 1_024),
        ("openai/gpt-5.6", 1_024),
        ("o3-mini", 1_024),
        ("models/gemini-2.5-flash", 2_048),
        ("gemini-3-pro-preview", 4_096),
        ("gemini-3.1-pro-preview", 4_096),
        ("llama-3.3-70b", None),
    ],
)
def test_the_minimum_of_each_family(model: str, tokens: int | None) -> None:
    found = minimum_of(model)
    assert (found and found.tokens) == tokens
    assert found is None or found.low <= found.tokens <= found.high


LIVES = [
    ("anthropic.messages", "m", None, 300),
    ("anthropic.messages", "m", "1h", 3_600),
    ("openai.chat", "gpt-5.1", None, 300),
    ("openai.chat", "gpt-5.1", "24h", 86_400),
    ("openai.chat", "gpt-5.6", None, 1_800),
    ("openai.chat", "gpt-5.12", None, 1_800),
]


@pytest.mark.parametrize(("surface", "model", "ttl", "life"), LIVES)
def test_how_long_an_entry_lives(surface: str, model: str, ttl: str | None, life: int) -> None:
    assert rules_of(call(surface, model=model)).life_s(ttl) == life


RULES = "Answer in two sentences and name the page. "
EDITS: list[tuple[str, str, Any]] = [
    ("Il est 09 h 15. ", "Il est 09 h 16. ", "volatile_value"),
    ("Nå er det fredag 1. mai. ", "Nå er det lørdag 2. mai. ", "volatile_value"),
    ("現在時刻 10:15 です。", "現在時刻 10:16 です。", "volatile_value"),
    ("Budget left: $14.20. ", "Budget left: $13.95. ", "volatile_value"),
    ("build 3f9ac1d2 ", "build 77ab00ef ", "volatile_value"),
    (
        "conversation_id=01HV3K9ZQ8M4X7C2 ",
        "conversation_id=01HW9P2T5R6N8B3D ",
        "session_id_in_prefix",
    ),
    ("Speak with Anna. ", "Speak with Bernt. ", None),
    ("Never name a price. ", "Always name a price. ", None),
]


@pytest.mark.parametrize(("was", "is_now", "cause"), EDITS)
def test_a_value_is_told_from_words_by_its_characters(was: str, is_now: str, cause: Any) -> None:
    assert edit_cause(was + RULES, is_now + RULES) == cause
    assert edit_cause(RULES + was, RULES + is_now) == cause


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_edit_has_one_known_cause_or_none(old: str, new: str) -> None:
    assert edit_cause(old, new) in (
        None,
        "whitespace_only_change",
        "unicode_form_changed",
        "json_key_order_changed",
        "session_id_in_prefix",
        "volatile_value",
        "section_appended",
    )
    assert edit_cause(old, old) is None
