"""Whether a scenario's run holds what a case expects, by the kind of expectation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.analyzers import cases
from tests.capture.gaps.scenarios import Run, values_of
from tests.capture.wire.conftest import Seen

MOST_STEPS = 150
"""Calls of our own functions on the host's thread for one request, whatever its size."""

FIELDS: dict[str, Callable[[Seen], Any]] = {
    "started_at": lambda call: call.head.started_at,
    "first_token_at": lambda call: call.head.first_byte_ms,
    "ended_at": lambda call: call.head.latency_ms,
    "latency_ms": lambda call: call.head.latency_ms,
    "finish_reason": lambda call: call.head.finish_reason,
    "response_id": lambda call: call.head.response_id,
    "request_id": lambda call: call.detail.request_id,
    "error": lambda call: call.head.error,
    "usage": lambda call: call.head.usage,
    # Of a refused call the response is what the provider said.
    "response": lambda call: call.outputs or call.head.error_message,
}
"""How the fields that cases name are read; times after the start are durations here."""


def problems(run: Run, expected: Mapping[str, Any]) -> list[str]:
    """What does not hold of one expectation.

    Raises:
        LookupError: it is of no known kind.
    """
    known = [kind for kind in CHECKS if kind in expected]
    if not known:
        raise LookupError(f"no check for {sorted(expected)}")
    return [
        f"{expected}: {problem}"
        for kind in known
        if (problem := CHECKS[kind](run, expected[kind], expected))
    ]


def _at(run: Run, turn: str) -> Seen:
    return run.calls[int(turn) - 1]


def _within(value: int, bounds: Any) -> bool:
    if isinstance(bounds, int):
        return value == bounds
    low, high = bounds.get("min", value), bounds.get("max", value)
    return bool(low <= value <= high and value == bounds.get("equals", value))


def recorded_calls(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    return None if _within(len(run.calls), wanted) else f"{len(run.calls)} are recorded"


def blocks_at_turn(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    counts = {turn: len(_at(run, turn).inputs) for turn in wanted}
    return None if all(_within(counts[t], wanted[t]) for t in wanted) else f"there are {counts}"


def block_text_at_turn(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    texts = {turn: [p.block.text for p in _at(run, turn).inputs] for turn in wanted}
    return None if all(wanted[t] in texts[t] for t in wanted) else f"the texts are {texts}"


def usage_present(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    missing = [turn for turn in wanted if not _at(run, str(turn)).head.usage]
    return f"no usage at {missing}" if missing else None


def usage_has(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    usages = [call.head.usage for call in run.calls]
    missing = [key for key in wanted if not any(_has(usage, key) for usage in usages)]
    return f"{missing} in none of {usages}" if missing else None


def _has(usage: Any, dotted: str) -> bool:
    """Whether a counter is there, in the spelling of the wire or the SDK's."""
    for key in dotted.split("."):
        snake = re.sub(r"([A-Z])", lambda found: f"_{found[1].lower()}", key)
        usage = usage.get(key, usage.get(snake)) if isinstance(usage, Mapping) else None
    return usage is not None


def bytes_not_in_file(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    files = [path for path in run.path.parent.iterdir() if path.name.startswith(run.path.name)]
    found = [text for text in wanted for path in files if text.encode() in path.read_bytes()]
    return f"{found} are in the file" if found else None


def return_type_unchanged(run: Run, _: Any, __: Mapping[str, Any]) -> str | None:
    plain, recorded = list(values_of(run.plain)), list(values_of(run.recorded))
    return None if plain == recorded and plain else f"{plain} became {recorded}"


def host_request_unchanged(run: Run, _: Any, __: Mapping[str, Any]) -> str | None:
    same = run.plain_bodies == run.recorded_bodies
    return None if same and run.plain_bodies else "the bodies differ"


def no_exception(run: Run, _: Any, __: Mapping[str, Any]) -> str | None:
    return None if run.recorded.got else "the host got nothing"  # an exception fails the test


def error_contains(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    messages = [call.head.error_message for call in run.calls if call.head.error]
    return None if any(wanted in (m or "") for m in messages) else f"the errors say {messages}"


def call_has_fields(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    missing = [
        names
        for names in wanted
        for call in run.calls
        if not any(FIELDS[name](call) not in (None, ()) for name in names.split("|"))
    ]
    return f"{missing} are missing" if missing or not run.calls else None


def step_at_turn(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    steps = {turn: _at(run, turn).head.step for turn in wanted}
    return None if steps == wanted else f"they are {steps}"


def tag_on_call(run: Run, wanted: Any, _: Mapping[str, Any]) -> str | None:
    """The tag is on the calls that are named, and on no other."""
    tagged = {
        str(call.head.seq): place.label
        for call in run.calls
        for place in call.inputs
        if place.label_source == "tagged"
    }
    return None if tagged == wanted else f"tagged are {tagged}"


def must_flag(run: Run, _: Any, expected: Mapping[str, Any]) -> str | None:
    return cases.must_flag(_asked(run), expected)


def must_not_flag(run: Run, _: Any, expected: Mapping[str, Any]) -> str | None:
    return cases.must_not_flag(_asked(run), expected)


def _asked(run: Run) -> cases.Asked:
    return cases.Asked({"calls": [{"turn": call.head.seq} for call in run.calls]}, run.path)


def max_loop_block_ms(run: Run, _: Any, __: Mapping[str, Any]) -> str | None:
    """Counted in work: no more of it for a large request than for a small one."""
    steps = run.recorded.notes["steps"]
    return None if steps and max(steps) <= MOST_STEPS else f"{steps} calls of ours"


CHECKS: dict[str, Callable[[Run, Any, Mapping[str, Any]], str | None]] = {
    check.__name__: check
    for check in (
        recorded_calls,
        blocks_at_turn,
        block_text_at_turn,
        usage_present,
        usage_has,
        bytes_not_in_file,
        return_type_unchanged,
        host_request_unchanged,
        no_exception,
        error_contains,
        call_has_fields,
        step_at_turn,
        tag_on_call,
        must_flag,
        must_not_flag,
        max_loop_block_ms,
    )
}
"""By the key that tells an expectation's kind."""
