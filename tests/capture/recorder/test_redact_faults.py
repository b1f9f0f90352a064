"""`redact="secrets"` when something is wrong: no text in clear, and no call lost."""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture import guard, read, trace
from ctxdiff_capture.model import Exchange
from ctxdiff_capture.secrets import detect

KEY = "AKIAIOSFODNN7EXAMPLE"


def exchange(text: str) -> Exchange:
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}
    started_at = "2026-11-30T10:00:00.000000+00:00"
    return Exchange("openai.chat", json.dumps(request).encode(), started_at)


def record(path: Path, seen: Exchange, redact: Any = "secrets") -> None:
    with trace.init("test", path=path, redact=redact) as tracer:
        tracer.submit(seen)


def texts(path: Path) -> list[list[str]]:
    """Texts of the input blocks of every call."""
    reader = read(path)
    try:
        (session,) = reader.sessions()
        calls = reader.load(session.id).calls
        return [[place.block.text for place in reader.inputs(call.id)] for call in calls]
    finally:
        reader.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.ctrace"


@pytest.mark.parametrize("redact", ["secret", "", ["secrets", "pii"], 3, [None], {"a": 1}])
def test_a_redaction_that_is_none_records_nothing_rather_than_in_clear(
    path: Path, redact: Any, caplog: pytest.LogCaptureFixture
) -> None:
    record(path, exchange(KEY), redact=redact)

    assert not path.exists()
    assert "ctxdiff records nothing" in caplog.text


def test_a_misspelt_word_in_the_environment_records_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CTXDIFF_REDACT", "on")

    record(path, exchange(KEY), redact=None)

    assert not path.exists()
    assert "'on'" in caplog.text


def test_a_call_waits_while_the_trace_cannot_number_its_credential(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with trace.init("test", path=path, redact="secrets") as tracer:
        tracer.submit(exchange("first"))
        tracer.flush()
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("begin immediate")
        release = threading.Timer(1.0, other.rollback)
        release.start()
        tracer.submit(exchange(f"second {KEY}"))
        release.join()
        other.close()

    assert texts(path) == [["first"], ["second [secret:aws-key#1]"]]
    assert "calls are kept in memory until it can" in caplog.text


def test_a_fault_of_ours_withholds_the_text_and_keeps_the_call(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise RuntimeError("a fault of the detector")

    monkeypatch.setattr(guard, "strict", False)
    monkeypatch.setattr(detect, "masked", broken)
    record(path, exchange(f"use {KEY}"))

    assert texts(path) == [["[redaction-error]"]]
    assert KEY.encode() not in path.read_bytes()


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_damaged_key_is_not_used(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    damaged = tmp_path / "key"
    damaged.write_bytes(content)
    monkeypatch.setenv("CTXDIFF_KEY_FILE", str(damaged))

    record(path, exchange(f"use {KEY} and {KEY}"))

    assert texts(path) == [["use [secret:aws-key#1] and [secret:aws-key#1]"]]
    assert damaged.read_bytes() == content
