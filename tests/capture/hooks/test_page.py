"""The page about hooks: its code runs, in order, and does what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from ctxdiff_capture import Tracer

PAGE = Path(__file__).resolve().parents[3] / "docs" / "hooks.md"


def test_the_code_of_the_page_works(
    tracer: Tracer,
    client_of: Callable[..., openai.OpenAI],
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, Any] = {"tracer": tracer, "client": client_of(tracer)}
    names["messages"] = [{"role": "user", "content": text} for text in ("a fact", "a question")]
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), names)

    tokens, removed = capsys.readouterr().out.splitlines()
    assert tokens.startswith("{'user': 4} ")
    assert removed == "(0,)"
    assert names["snapshot"].decisions[0].candidate == "faq.md"


def test_the_page_names_what_a_tracer_has(tracer: Tracer) -> None:
    named = set(re.findall(r"tracer\.(\w+)\(", PAGE.read_text(encoding="utf-8")))

    assert named >= {"on_call", "snapshot", "decision", "before_model", "after_tool"}
    assert [name for name in named if not hasattr(tracer, name)] == []
