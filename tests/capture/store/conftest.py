"""Builders of calls, and a folder whose every byte is watched."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import (
    Attempt,
    Block,
    Call,
    CallError,
    Marker,
    Placement,
    Tag,
)
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session

STARTED_AT = "2026-11-30T11:39:03.079952+00:00"
REQUEST = (b'{"model": "gpt-4o", "messages": [', b'{"role": "user", "content": "hi"}', b"]}")


def placed(text: str, role: str = "user", kind: str = "message", **more: Any) -> Placement:
    block = Block(digest_of(role, kind, text), role, kind, text, len(text), "estimate")
    return Placement(block, **{"label": role, **more})


def plain_call(seq: int, *texts: str, **changes: Any) -> Call:
    call = Call(
        id=f"{seq:032x}",
        seq=seq,
        provider="openai",
        surface="openai.chat",
        inputs=tuple(placed(text) for text in texts),
        params={"model": "gpt-4o"},
    )
    return dataclasses.replace(call, **changes)


def full_call(seq: int = 1) -> Call:
    """A call with a value in each field."""
    return Call(
        id=f"{seq:032x}",
        seq=seq,
        provider="openai-compatible",
        surface="openai.chat",
        inputs=(
            placed("You are terse.", "system", path="/messages/0"),
            placed("note", label="rag", label_source="tagged", path="/messages/1/content/0"),
            placed("42", "tool", tool_call_id="call_1"),
        ),
        params={"model": "gpt-4o", "temperature": 0.5, "stop": ["ä", None]},
        outputs=(
            placed("Hello.", "assistant", path="/choices/0/message"),
            placed('{"a": 1}', "assistant", "content_part", tool_call_id="call_2"),
        ),
        markers=(Marker(1, "/messages/1/content/0", "1h"), Marker(None, "/cache_control")),
        usage={"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"x": [1]}},
        finish_reason="stop",
        response_id="chatcmpl-1",
        response_model="gpt-4o-2024",
        request_id="req_1",
        error=CallError("RateLimitError", "slow down: é", 429),
        attempts=(
            Attempt(1, STARTED_AT, 12, None, CallError("ConnectError", "refused")),
            Attempt(2, STARTED_AT, 34, 429, CallError("RateLimitError", "slow down", 429)),
        ),
        agent="writer",
        step="draft",
        tags=(Tag("rag", "note"),),
        started_at=STARTED_AT,
        first_byte_ms=20,
        latency_ms=50,
        endpoint="https://models.example.test/v1/chat/completions",
        request_pieces=REQUEST,
        request_digest=sha256(b"".join(REQUEST)).hexdigest(),
        metadata={"line": 3},
    )


@pytest.fixture
def make_placement() -> Callable[..., Placement]:
    """`make_placement(text, role="user", kind="message", ...)`."""
    return placed


@pytest.fixture
def make_call() -> Callable[..., Call]:
    """`make_call(seq, *texts, **fields)`: a call with one user message per text."""
    return plain_call


@pytest.fixture
def make_full_call() -> Callable[[int], Call]:
    """`make_full_call(seq)`: a call with a value in each field."""
    return full_call


@pytest.fixture
def begin() -> Callable[..., SessionWriter]:
    """`begin(path, project="demo", ...)`: a session being written to a file."""

    def start(path: Path, project: str = "demo", **more: Any) -> SessionWriter:
        details = {"provider": "openai", "started_at": STARTED_AT, **more}
        return create_session(Destination(path=path), project=project, **details)

    return start


@pytest.fixture
def bytes_of() -> Callable[[Path], dict[str, str]]:
    """`bytes_of(folder)`: each file in it with the digest of its content."""

    def digests(folder: Path) -> dict[str, str]:
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}

    return digests
