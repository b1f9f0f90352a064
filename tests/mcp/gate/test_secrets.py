from __future__ import annotations

import random
from itertools import pairwise

import pytest
from ctxdiff_capture.secrets import detect
from hypothesis import example, given
from hypothesis import strategies as st

from ctxdiff_mcp.gate import secrets
from ctxdiff_mcp.gate.secrets import SecretTags, Span, secret_spans

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


PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEowIBAAKCAQEA3x4cHqW1bTzR8nV0kQyL5sD7fG9hJ2mP4rT6vX8zB1dF3gH5\n" * 280
    + "-----END RSA PRIVATE KEY-----"
)
CREDENTIALS = (
    KEY,
    OPENAI,
    PEM,
    PEM.replace("\n", "%0A").replace(" ", "%20"),
    "Bearer " + "tok_" + "9" * 24,
    "postgresql://me:hunter2@db/app",
    "postgresql%3A%2F%2Fme%3Ahunter2%40db",
    '"apiKey": "dc79f95b1c2d4e5fa6b7c8d9e0f1a2b3"',
    "Server=db;" + " " * 90 + "Password=abc;",
    "https://h/?sig=a1B2c3D4e5F6g7H8i9J0%2Fk1L2",
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK",
)
STRETCHES = st.lists(
    st.one_of(
        st.sampled_from(CREDENTIALS),
        st.tuples(
            st.sampled_from(["word ", "x", "A1b2", "key: ", "://", "%3D", "\n", "é密"]),
            st.sampled_from([1, 7, 100, 9_000]),
        ).map(lambda unit: unit[0] * unit[1]),
    ),
    max_size=12,
)


@given(STRETCHES, st.sampled_from([" ", "\n", ";", ""]), st.randoms(use_true_random=False))
@example([PEM, PEM, PEM, PEM, PEM, PEM], "\n", random.Random(0))
def test_a_stretch_of_a_text_shows_what_the_whole_text_would(
    parts: list[str], between: str, chance: random.Random
) -> None:
    text = between.join(parts)
    whole = detect.secret_spans(text)
    edges = [edge for span in whole for edge in (span.start, span.end)] or [0]
    for _ in range(4):
        start = min(len(text), max(0, chance.choice(edges) + chance.randint(-30, 30)))
        end = min(len(text), start + chance.choice([0, 1, 20, 8_000]))
        assert secret_spans(text, start, end) == [
            span for span in whole if span.end > start and span.start < end
        ]


@pytest.mark.parametrize("credential", CREDENTIALS)
@pytest.mark.parametrize("margin", [0, 1, 5_000])
def test_a_page_of_a_huge_text_shows_the_credentials_that_reach_into_it(
    credential: str, margin: int
) -> None:
    text = "word " * 400_000 + credential + " word" * 400_000
    (span,) = (
        Span(2_000_000 + s.start, 2_000_000 + s.end, s.kind)
        for s in detect.secret_spans(credential)
    )
    assert secret_spans(text, span.start - margin, span.start + 1) == [span]
    assert secret_spans(text, span.end - 1, span.end + margin) == [span]
    assert secret_spans(text, span.end, span.end + margin) == []


def test_a_stretch_costs_the_same_in_a_text_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(secrets.detect, "secret_spans", lambda text: looked.append(len(text)) or [])
    text = "a stretch " * 300_000
    assert secret_spans(text, 1_000_000, 1_008_000) == []
    assert SecretTags().masked_by(f"…{text[77:200]}…", [text]) == f"…{text[77:200]}…"
    assert max(looked) <= 8_000 + 2 * secrets.OVERLAP


@pytest.mark.parametrize(
    ("cut", "shown"),
    [
        (slice(-20, 14), "[secret:openai-key#1]"),
        (slice(12, 60), "[secret:openai-key#1]"),
        (slice(-20, 60), "[secret:openai-key#1]"),
    ],
)
def test_a_cut_credential_of_a_huge_text_is_shown_as_its_tag(cut: slice, shown: str) -> None:
    text = "word " * 400_000 + OPENAI + " tail" * 400_000
    excerpt = text[2_000_000 + cut.start : 2_000_000 + cut.stop]
    tags = SecretTags()
    for spelled in (excerpt, f"…{excerpt}…", f"kept · {excerpt} · also", f"{excerpt}…other words"):
        masked = tags.masked_by(spelled, ["kept", text, "other words"])
        assert shown in masked
        assert not any(OPENAI[at : at + 5] in masked for at in range(len(OPENAI) - 4))
