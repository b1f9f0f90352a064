from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.gate import secrets
from ctxdiff_mcp.gate.secrets import SecretTags, secret_spans

KEY = "AKIA" + "IOSFODNN7EXAMPLE"
OPENAI = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"key={KEY};", "key=[secret:aws-key#1];"),
        (f"use {OPENAI} now", "use [secret:openai-key#1] now"),
        ("x-api-key: sk-ant-" + "api03-" + "Z" * 30, "x-api-key: [secret:anthropic-key#1]"),
        (
            "Authorization: Bearer " + "tok_" + "9" * 24,
            "Authorization: Bearer [secret:bearer-token#1]",
        ),
        ("postgresql://me:hunter2@db/app", "postgresql://me:[secret:password#1]@db/app"),
        (f"密钥{KEY}，", "密钥[secret:aws-key#1]，"),
        (
            "库postgres://u:p4ss@h 5redis://:p4ss@h",
            "库postgres://u:[secret:password#1]@h 5redis://:[secret:password#1]@h",
        ),
        ("ghp_" + "A" * 36, "[secret:github-token#1]"),
        ("AIza" + "b" * 35, "[secret:google-key#1]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc=\n-----END RSA PRIVATE KEY-----\nafter",
            "[secret:private-key#1]\nafter",
        ),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "[secret:jwt#1]"),
    ],
)
def test_a_credential_is_shown_as_its_kind(text: str, shown: str) -> None:
    assert SecretTags().masked(text) == shown


@pytest.mark.parametrize(
    "text",
    ["a risk-free task-force", "https://example.org/a:b@c", "sk-learn and sk-1", "Bearer of news"],
)
def test_ordinary_words_are_no_credentials(text: str) -> None:
    assert secret_spans(text) == []


def test_the_same_value_keeps_its_tag_and_another_gets_the_next() -> None:
    tags = SecretTags()
    other = KEY[:-1] + "F"
    assert tags.masked(f"{KEY} {other} {KEY}") == (
        "[secret:aws-key#1] [secret:aws-key#2] [secret:aws-key#1]"
    )


def test_a_tag_that_a_recorder_stored_is_given_to_no_other_value() -> None:
    tags = SecretTags()
    assert tags.masked(f"[secret:aws-key#1] and [secret:aws-key#4], now {KEY}") == (
        "[secret:aws-key#1] and [secret:aws-key#4], now [secret:aws-key#5]"
    )
    assert tags.masked(f"[secret:aws-key#999999999999] {OPENAI} {KEY}") == (
        "[secret:aws-key#999999999999] [secret:openai-key#1] [secret:aws-key#5]"
    )


@given(
    st.lists(st.sampled_from([KEY, OPENAI, "Bearer " + "x" * 20, "://a:b@", "eyJ", " ", "word"]))
)
def test_spans_are_ascending_and_do_not_overlap(parts: list[str]) -> None:
    spans = secret_spans(" ".join(parts))
    assert all(a.end <= b.start for a, b in pairwise(spans))


def test_a_large_text_is_looked_through_once_and_masked_the_same_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    look = secrets.detect.secret_spans
    monkeypatch.setattr(
        secrets.detect, "secret_spans", lambda text: looked.append(len(text)) or look(text)
    )
    key = "ghp_" + "aB3dE5gH" * 4 + "aB3d"
    text = "filler " * 4_000 + key + " tail" * 10
    first, second = SecretTags(), SecretTags()
    second.masked("ghp_" + "zY9xW7vU" * 4 + "zY9x")
    looked.clear()
    assert first.masked(text) == text.replace(key, "[secret:github-token#1]")
    assert second.masked(text) == text.replace(key, "[secret:github-token#2]")
    assert looked == [len(text)]
    assert first.masked(text + "!") == text.replace(key, "[secret:github-token#1]") + "!"
    assert looked == [len(text), len(text) + 1]
