"""Of long texts only what differs is looked at, and the same edit is shown."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ctxdiff_mcp.answers import diff
from ctxdiff_mcp.answers.diff import Change, Diff, Edit
from ctxdiff_mcp.gate.raw import raw
from ctxdiff_mcp.gate.secrets import SecretTags

KEYS = ("AKIA" + "IOSFODNN7EXAMPLE", "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2")
OTHER_KEYS = tuple(key[:-3] + "Zz9" if "-" in key else key[:-1] + "F" for key in KEYS)
TEXTS = st.lists(
    st.sampled_from(["some words\n", "line of text, ", *(f"{k} " for k in (*KEYS, *OTHER_KEYS))]),
    max_size=5,
).map("".join)


def edit(old: str, new: str) -> Edit:
    """The edit of two texts, with credentials as tags."""
    texts = {"old": old, "new": new}
    run = SimpleNamespace(stored_hash=str, text=texts.__getitem__)
    change: Any = SimpleNamespace(before="old", block="new", kind="modified")
    whole: Any = SimpleNamespace(_old=run, _new=SimpleNamespace(**vars(run)))
    whole._hunk = lambda *given: Diff._hunk(whole, *given)
    checked: Change = change
    return Diff.edit(whole, checked, None, SecretTags().masked)


def told(found: Edit) -> tuple[Edit, list[tuple[str, str]]]:
    """All that an edit says, and its pieces that only one side has."""
    changed = [(piece.op, raw(piece.text)) for piece in found.pieces if piece.op != "equal"]
    return replace(found, pieces=()), changed


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, TEXTS, TEXTS, TEXTS, st.integers(0, 400))
def test_the_edit_of_a_long_text_is_that_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, front: str, old: str, new: str, end: str, filler: int
) -> None:
    assume(old != new)
    texts = [("filler " * filler) + front + it + end + (" tail" * filler) for it in (old, new)]
    monkeypatch.setattr(diff, "LOOKED_AT", 10**9)
    whole = edit(*texts)
    monkeypatch.setattr(diff, "LOOKED_AT", 1_500)
    monkeypatch.setattr(diff, "OVERLAP", 300)
    # How much of what both have is shown around it may differ by a word: lines begin elsewhere.
    assert told(edit(*texts)) == told(whole)


def test_of_texts_that_differ_at_length_the_first_is_shown_and_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(diff, "LOOKED_AT", 4_000)
    old = f"begin key={KEYS[1]} " + "".join(f"old {n} x\n" for n in range(2_000))
    new = f"begin key={OTHER_KEYS[1]} " + "".join(f"new {n * 7} y\n" for n in range(2_000))
    found = edit(old, new)
    shown = "".join(raw(piece.text) for piece in found.pieces)
    assert found.truncated
    assert found.first_diff_char == 39
    assert "[secret:openai-key#1]" in shown
    assert "[secret:openai-key#2]" in shown
    assert not any(key[at : at + 5] in shown for key in (KEYS[1],) for at in range(8, 27))
