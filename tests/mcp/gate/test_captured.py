from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from ctxdiff_mcp.gate.captured import Captured


@pytest.mark.parametrize(
    "leak",
    [
        str,
        lambda c: f"{c}",
        lambda c: "%s" % c,  # noqa: UP031  the old way must be closed, too
        "{}".format,
        lambda c: "a" + c,
        lambda c: c + "a",
        lambda c: ",".join(iter([c])),
        json.dumps,
        orjson.dumps,
        pickle.dumps,
        copy.copy,
        list,
        len,
    ],
)
def test_captured_text_leaves_by_no_ordinary_way(leak: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError):
        leak(Captured("secret words"))


def test_captured_text_compares_hashes_and_hides_in_its_representation() -> None:
    assert Captured("a") == Captured("a") != Captured("b")
    assert {Captured("a"), Captured("a")} == {Captured("a")}
    assert Captured("a") != "a"
    assert repr([Captured("secret")]) == "[Captured(...)]"
