"""A refusal that is no block is told with the head of its call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import Call
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.store.open import open_reader


@pytest.mark.parametrize(
    ("metadata", "refusal"),
    [
        ({"refusal": "I can't help with that."}, "I can't help with that."),
        ({"note": "no refusal here"}, None),
        ({"note": 'the word "refusal"'}, None),
        ({}, None),
    ],
)
def test_what_the_model_refused_with_is_in_the_head(
    tmp_path: Path,
    begin: Callable[..., SessionWriter],
    make_full_call: Callable[..., Call],
    metadata: dict[str, Any],
    refusal: str | None,
) -> None:
    writer = begin(tmp_path / "a.ctrace")
    writer.write(dataclasses.replace(make_full_call(1), metadata=metadata))
    writer.close()
    reader = open_reader(tmp_path / "a.ctrace")
    (head,) = reader.load(writer.session_id).calls
    reader.close()
    assert head.refusal == refusal
