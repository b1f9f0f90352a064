"""Texts and parameters without what differs each time a program runs: ids, dates, times."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

ID, TIME = "⟨id⟩", "⟨time⟩"

_DAY = r"\d{4}-\d{2}-\d{2}"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
_TIMES = re.compile(rf"\b{_DAY}(?:[T ]{_CLOCK})?{_ZONE}\b|\b{_CLOCK}{_ZONE}\b")
# Each kind of id has a shape of its own: a number or a name of the subject is none.
_IDS = re.compile(
    r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
    r"|\b(?:call|toolu|tooluse|chatcmpl|msg|resp|fc|rs|ctc|req|run|thread|sess|session|trace|span)"
    r"[_-](?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{6,}\b"
    r"|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{16,}\b"
    r"|\b\d{10}(?:\d{3}){0,3}\b"
)

_OF_ONE_RUN = frozenset(
    (
        *("model", "modelId", "stream", "stream_options", "user", "metadata", "store"),
        *("safety_identifier", "previous_response_id", "conversation", "prompt_cache_key"),
        *("extra_headers", "service_tier"),
    )
)
"""Parameters that differ from run to run and change no answer, and the model, told apart."""


def stable_text(text: str) -> str:
    """The text with a fixed word in place of each id, date and time."""
    if not any(map(str.isdigit, text)):
        return text
    return _IDS.sub(ID, _TIMES.sub(TIME, text))


def stable_params(params: Mapping[str, Any]) -> dict[str, str]:
    """What may change the answer, the model apart: parameter to value, as JSON."""
    return {
        name: json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
        for name, value in params.items()
        if name not in _OF_ONE_RUN and value is not None
    }
