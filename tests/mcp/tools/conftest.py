from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import CallError


@pytest.fixture
def story(new_trace: Callable[..., Path], block: Any, turn: Any) -> Path:
    """Two agents; the researcher loses a tagged block at turn 3 and is cut off at turn 5."""
    system = block("You answer from the notes.", "system", "system")
    tools = block('{"name": "lookup", "parameters": {}}', "system", "tool_schema", "tool_schema")
    note = block("NOTE: the museum closes at 17:00 on Mondays.", "user", "rag", tagged=True)
    question = block("When does the museum close?", "user", "user")
    answer = block("At 17:00.", "assistant", "history")
    noted = block("Noted.", "assistant", "history")
    more = block("And on Tuesday?", "user", "user")
    usage = {"prompt_tokens": 60, "completion_tokens": 4}
    return new_trace(
        turn([system, tools, note, question], [answer], "researcher", usage=usage),
        turn([block("You write.", "system", "system"), question], [noted], "writer"),
        turn([system, tools, question, answer, more], [noted], "researcher", usage=usage),
        turn(
            [block("You write well.", "system", "system"), question],
            [],
            "writer",
            error=CallError("RateLimitError", "slow down", 429),
            finish=None,
        ),
        turn([system, tools, question, answer, more, question], [], "researcher", finish="length"),
    )
