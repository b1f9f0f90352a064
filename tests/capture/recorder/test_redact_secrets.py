"""`redact="secrets"`: credentials stand as tags, over sessions, and nothing stored gives them away."""

from __future__ import annotations

import hmac
import itertools
import json
import re
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import openai
import pytest
from ctxdiff_capture import read, trace
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Exchange, Placement

KEY = "AKIAIOSFODNN7EXAMPLE"
OTHER = "AKIAI44QH8DHBEXAMPLE"
TOKEN = "ghp_" + "aB3d" * 9


def exchange(*texts: str, **more: Any) -> Exchange:
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": t} for t in texts]}
    given = {"request": json.dumps(request).encode(), **more}
    return Exchange(
        surface="openai.chat",
        provider="openai",
        status=200,
        started_at="2026-11-30T10:00:00.000000+00:00",
        **given,
    )


def record(path: Path, *seen: Exchange, redact: Any = "secrets") -> None:
    with trace.init("test", path=path, redact=redact) as tracer:
        for one in seen:
            tracer.submit(one)


def inputs(path: Path) -> list[list[Block]]:
    """Input blocks of every call, session by session."""
    reader = read(path)
    try:
        return [
            [place.block for place in reader.inputs(call.id)]
            for session in reader.sessions()
            for call in reader.load(session.id).calls
        ]
    finally:
        reader.close()


def texts(path: Path) -> list[list[str]]:
    return [[block.text for block in blocks] for blocks in inputs(path)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.ctrace"


def test_the_same_credential_has_the_same_tag_in_every_session(path: Path) -> None:
    record(path, exchange(f"use {KEY}", f"or {OTHER} and {KEY}"))
    record(path, exchange(f"now {TOKEN}, {OTHER}"))

    assert texts(path) == [
        ["use [secret:aws-key#1]", "or [secret:aws-key#2] and [secret:aws-key#1]"],
        ["now [secret:github-token#1], [secret:aws-key#2]"],
    ]


def test_a_block_with_tags_has_the_hash_that_the_format_prescribes(path: Path) -> None:
    record(path, exchange(f"use {KEY}", "nothing here"))

    tagged, clear = inputs(path)[0]

    assert tagged.content_hash == digest_of("user", "message", "use [secret:aws-key#1]")
    assert clear.content_hash == digest_of("user", "message", "nothing here")


def test_without_the_users_key_numbers_go_on_and_name_no_other_value(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record(path, exchange(KEY))
    monkeypatch.setenv("CTXDIFF_KEY_FILE", str(tmp_path / "of another user"))
    record(path, exchange(OTHER))
    monkeypatch.setenv("CTXDIFF_KEY_FILE", "/dev/null/no-place-for-a-key")
    record(path, exchange(KEY, KEY))

    assert texts(path) == [
        ["[secret:aws-key#1]"],
        ["[secret:aws-key#2]"],
        ["[secret:aws-key#3]", "[secret:aws-key#3]"],
    ]


def test_two_programs_at_once_never_give_one_number_to_two_values(path: Path) -> None:
    values = [f"AKIA{number:016d}" for number in range(40)]
    with (
        trace.init("a", path=path, redact="secrets") as one,
        trace.init("b", path=path, redact="secrets") as two,
    ):
        for number, value in enumerate(values):
            one.submit(exchange(value, f"one {number}"))
            two.submit(exchange(value, f"two {number}"))
            two.submit(exchange(value.replace("AKIA", "ASIA"), f"two {number}"))

    by_call = {tuple(found) for found in texts(path)}
    tags = [tag for tag, _ in by_call]
    assert len(by_call) == 120
    assert len(set(tags)) == 80
    assert sorted(set(tags)) == sorted(f"[secret:aws-key#{n}]" for n in range(1, 81))


def test_the_key_is_the_owners_alone_and_not_beside_the_trace(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(home))
    record(path, exchange("nothing"))
    assert not home.exists()

    record(path, exchange(KEY))

    kept = home / ".local" / "state" / "ctxdiff" / "redaction.key"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert [p.name for p in kept.parent.iterdir()] == ["redaction.key"]
    assert kept.read_bytes() not in path.read_bytes()


def hide_digits(block: Block) -> Block:
    return replace(block, text=re.sub(r"\d{6}", "<pin>", block.text))


def test_no_stored_digest_is_found_by_trying_all_short_secrets(path: Path) -> None:
    """Whatever is public of the format is tried on all 1,000 pins that are near."""
    seen = exchange("pin 123456", "pin 123457")
    record(path, seen, redact=hide_digits)
    stored = path.read_bytes()
    digests = set(re.findall(rb"[0-9a-f]{64}", stored))
    assert digests

    for pin in range(123_000, 124_000):
        text = f"pin {pin}"
        body = seen.request.replace(b"123456", str(pin).encode())
        tried = [
            digest_of("user", "message", text),
            sha256(text.encode()).hexdigest(),
            sha256(str(pin).encode()).hexdigest(),
            sha256(body).hexdigest(),
            hmac.new(b"", text.encode(), sha256).hexdigest(),
        ]
        assert not {one.encode() for one in tried} & digests
        assert not any(bytes.fromhex(one) in stored for one in tried)


def test_texts_that_a_hook_makes_equal_stay_two_blocks_over_sessions(path: Path) -> None:
    record(path, exchange("pin 123456", "pin 123457", "pin 123456"), redact=hide_digits)
    record(path, exchange("pin 123457"), redact=hide_digits)

    first, second, third, later = itertools.chain(*inputs(path))

    assert {block.text for block in (first, second, later)} == {"pin <pin>"}
    assert first == third
    assert second == later
    assert first.content_hash != second.content_hash


@pytest.mark.parametrize("redact", ["secrets", hide_digits, ["secrets", hide_digits]])
@pytest.mark.parametrize("clear_first", [True, False])
def test_a_block_stored_in_clear_is_never_shown_for_a_redacted_one(
    path: Path, redact: Any, clear_first: bool
) -> None:
    text = f"pin 123456 for {KEY}"
    order = [None, redact] if clear_first else [redact, None]
    for how in order:
        record(path, exchange(text), redact=how)

    found = dict(zip(map(str, order), (calls[0] for calls in inputs(path)), strict=True))

    clear, hidden = found[str(None)], found[str(redact)]
    assert (clear.text, clear.content_hash) == (text, digest_of("user", "message", text))
    assert hidden.text in (
        "pin 123456 for [secret:aws-key#1]",
        f"pin <pin> for {KEY}",
        "pin <pin> for [secret:aws-key#1]",
    )
    assert hidden.content_hash != clear.content_hash


def test_an_answer_and_its_return_as_history_stay_one_block(path: Path) -> None:
    said = f"the key is {KEY}"
    message = {"role": "assistant", "content": said}
    answer = {"id": "1", "choices": [{"finish_reason": "stop", "message": message}]}
    later = {"model": "gpt-4o", "messages": [message]}
    record(
        path,
        exchange("q", response=json.dumps(answer).encode()),
        exchange(request=json.dumps(later).encode()),
    )

    reader = read(path)
    (session,) = reader.sessions()
    first, second = reader.load(session.id).calls
    ((answered,), (returned,)) = reader.outputs(first.id), reader.inputs(second.id)
    reader.close()

    assert answered.block == returned.block
    assert answered.block.text == "the key is [secret:aws-key#1]"


def test_json_inside_a_block_stays_json(path: Path) -> None:
    arguments = json.dumps({"command": "export", "aws_secret_access_key": "a1B2+" * 8, "k": KEY})
    call = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    request = {"model": "gpt-4o", "messages": [message]}
    record(path, exchange(request=json.dumps(request).encode()))

    stored = json.loads(texts(path)[0][-1])

    assert json.loads(stored["function"]["arguments"]) == {
        "command": "export",
        "aws_secret_access_key": "[secret:aws-secret#1]",
        "k": "[secret:aws-key#1]",
    }


def test_a_request_is_kept_for_replay_unless_it_holds_a_credential(path: Path) -> None:
    clean = exchange("nothing here")
    hidden = exchange(request=b'{"model": "gpt-4o", "x": "' + KEY.encode() + b'", "x": 1}')
    record(path, clean, exchange(KEY), hidden)

    reader = read(path)
    calls = reader.load(reader.sessions()[0].id).calls
    kept = [reader.request(call.id) for call in calls]
    reader.close()

    assert kept == [clean.request, None, None]
    assert calls[0].request_digest == sha256(clean.request).hexdigest()
    assert KEY.encode() not in path.read_bytes()


Step = Callable[[Block], Block | None]


def test_credentials_and_a_hook_work_in_the_order_in_which_they_are_given(path: Path) -> None:
    def upper(block: Block) -> Block:
        return replace(block, text=block.text.upper())

    lower_key = KEY.lower()
    record(path, exchange(f"a {KEY} {lower_key}"), redact=["secrets", upper])
    record(path, exchange(f"a {KEY} {lower_key}"), redact=[upper, "secrets"])

    assert texts(path) == [
        [f"A [SECRET:AWS-KEY#1] {KEY}"],
        ["A [secret:aws-key#1] [secret:aws-key#1]"],
    ]


def test_the_environment_adds_secrets_to_what_the_program_asks_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXDIFF_REDACT", "secrets")

    record(path, exchange(f"pin 123456 {KEY}"), redact=hide_digits)
    record(path, exchange(f"pin 123456 {KEY}"), redact=None)

    assert texts(path) == [["pin <pin> [secret:aws-key#1]"], ["pin 123456 [secret:aws-key#1]"]]


def test_a_trace_that_is_begun_anew_counts_anew(path: Path) -> None:
    with trace.init("test", path=path, redact="secrets") as tracer:
        tracer.submit(exchange(OTHER, KEY))
        tracer.close()
        path.unlink()
        tracer.wrap(openai.OpenAI(api_key="none")).close()
        tracer.submit(exchange(KEY))

    assert texts(path) == [["[secret:aws-key#1]"]]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select kind, number from ctx_secret").fetchall() == [
            ("aws-key", 1)
        ]


def test_labels_of_a_redacted_block_are_those_of_its_original(path: Path) -> None:
    tags = trace.init("x")._scope
    tags.tag("rag", f"chunk {KEY}")
    record(path, exchange(f"chunk {KEY}", tags=tags.take()[1]))

    reader = read(path)
    (call,) = reader.load(reader.sessions()[0].id).calls
    (place,) = reader.inputs(call.id)
    detail = reader.detail(call.id)
    reader.close()

    assert place == Placement(place.block, "rag", "tagged", "/messages/0/content")
    assert [(tag.label, tag.text) for tag in detail.tags] == [("rag", "chunk [secret:aws-key#1]")]
