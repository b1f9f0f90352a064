"""Hashes of a snapshot, and what differs between two."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from ctxdiff_capture.hooks.snapshots import (
    ContextSnapshot,
    Drift,
    drift,
    snapshot_of,
    verify_payload,
)
from ctxdiff_capture.model import Exchange
from ctxdiff_capture.tokens.counter import TokenCounter
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage

SAME = Drift((), (), (), (), (), (), tools_reordered=False, system_changed=False)
texts = st.lists(st.sampled_from("abcde"), max_size=8)


def shot(body: Any, surface: str = "openai.chat") -> ContextSnapshot:
    request = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = Exchange(surface, request, "2026-11-30T12:00:00.000000+00:00")
    return snapshot_of(sent, seq=1, call_id="c", count=TokenCounter())


def chat(text: str, tools: list[Any] | None = None) -> ContextSnapshot:
    messages = [{"role": "user", "content": word} for word in text]
    return shot({"messages": messages, "tools": tools or []})


def tool(name: str, about: str = "") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": about}}


def test_hashes_are_sha256_of_canonical_json_short_and_whole() -> None:
    snapshot = shot({"tools": [{"b": 1, "a": "é"}], "messages": [{"role": "user"}]})

    assert snapshot.message_digest == sha256(b'[{"role": "user"}]').hexdigest()
    assert snapshot.tools_digest == sha256('[{"a": "é", "b": 1}]'.encode()).hexdigest()
    assert snapshot.message_hash == snapshot.message_digest[:16]
    assert snapshot.tools_hash == snapshot.tools_digest[:16]


@pytest.mark.parametrize(
    ("surface", "body", "messages", "tools", "system"),
    [
        ("openai.responses", {"input": "hi", "instructions": "s"}, "hi", None, "s"),
        ("anthropic.messages", {"messages": [1], "system": [2], "tools": [3]}, [1], [3], [2]),
        (
            "gemini.generate_content",
            {"contents": [1], "systemInstruction": 2, "tools": [3]},
            [1],
            [3],
            2,
        ),
        ("bedrock.converse", {"messages": [1], "toolConfig": {"tools": [3]}}, [1], [3], None),
        ("openai.chat", b"no JSON", None, None, None),
    ],
)
def test_messages_tools_and_system_are_found_on_every_surface(
    surface: str, body: Any, messages: Any, tools: Any, system: Any
) -> None:
    snapshot = shot(body, surface)

    assert (snapshot.messages, snapshot.tools, snapshot.system) == (messages, tools, system)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda s: st.lists(s, max_size=3)))
def test_a_payload_is_verified_by_either_hash_and_only_by_its_own(messages: Any) -> None:
    snapshot = shot({"messages": messages})

    assert verify_payload(messages, snapshot.message_hash)
    assert verify_payload(messages, snapshot.message_digest.upper())
    assert not verify_payload([messages, "more"], snapshot.message_digest)


def test_an_object_of_the_sdk_is_verified_as_what_is_sent() -> None:
    answer = ChatCompletionMessage(role="assistant", content="ok")
    snapshot = shot({"messages": [{"role": "assistant", "content": "ok"}]})

    assert verify_payload([answer], snapshot.message_hash)


@pytest.mark.parametrize("no_hash", ["", "abc", "z" * 16, "0" * 63])
def test_what_is_no_hash_verifies_nothing(no_hash: str) -> None:
    with pytest.raises(ValueError, match="hex digits"):
        verify_payload([], no_hash)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("ab", "ab", SAME),
        ("ab", "abc", Drift((2,), (), (), (), (), (), False, False)),
        ("abc", "ac", Drift((), (1,), (), (), (), (), False, False)),
        ("abc", "axc", Drift((), (), ((1, 1),), (), (), (), False, False)),
        ("abc", "axyc", Drift((2,), (), ((1, 1),), (), (), (), False, False)),
    ],
)
def test_messages_are_told_apart_by_index(before: str, after: str, expected: Drift) -> None:
    assert drift(chat(before), chat(after)) == expected


def test_tools_are_told_apart_by_name() -> None:
    before = chat("a", [tool("x"), tool("y"), tool("z")])
    after = chat("a", [tool("z"), tool("w"), tool("x", "now with words")])
    found = drift(before, after)

    assert found.tools_added == ("w",)
    assert found.tools_removed == ("y",)
    assert found.tools_changed == ("x",)
    assert found.tools_reordered


@given(texts, texts)
def test_a_drift_accounts_for_every_message(before: list[str], after: list[str]) -> None:
    found = drift(chat("".join(before)), chat("".join(after)))
    kept_old = len(before) - len(found.removed) - len(found.changed)
    kept_new = len(after) - len(found.added) - len(found.changed)

    assert kept_old == kept_new
    assert bool(found) == (before != after)
    assert all(before[i] != after[j] for i, j in found.changed)
