"""Ids, dates and times of a text are put aside; what it says stays."""

from __future__ import annotations

import pytest
from ctxdiff_analyzers.stable import stable_text

SAME = [
    ("Today is 2026-11-30.", "Today is 2025-01-02."),
    ("at 09:15:22", "at 17:40:01"),
    ("2026-11-30T10:00:00.123Z done", "2026-12-01T11:22:33+01:00 done"),
    (
        "run 3f2a9c1e-7b44-4d1c-9f00-8a6b5c4d3e2f",
        "run 00000000-7b44-4d1c-9f00-aaaaaaaaaaaa",
    ),
    ('{"id": "toolu_01AbCdEfGh"}', '{"id": "toolu_99ZzYyXxWw"}'),
    ('{"call_id": "call_a1b2c3d4"}', '{"call_id": "call_z9y8x7w6"}'),
    ("etag 9f86d081884c7d659a2f", "etag 60303ae22b998861bce3"),
    ("ts=1764497943", "ts=1764500000123"),
]
DIFFERENT = [
    ("the price is 10 EUR", "the price is 12 EUR"),
    ("version 1.2.3", "version 1.2.4"),
    ("order A-17", "order A-18"),
    ("call the depot", "call the bridge"),
    ("msg_box_style", "msg_box_width"),
    ("deadbeefdeadbeef", "feedfacefeedface"),
    ("flight BA 2490", "flight BA 2491"),
    ("phone 555-0101", "phone 555-0102"),
    ("room 4:3 screen", "room 16:9 screen"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_differs_from_run_to_run_is_put_aside(one: str, other: str) -> None:
    assert stable_text(one) == stable_text(other) != one


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_a_text_says_stays(one: str, other: str) -> None:
    assert stable_text(one) != stable_text(other)


def test_a_text_without_digits_is_itself() -> None:
    text = "call_me_maybe, run-of-the-mill"
    assert stable_text(text) is text
