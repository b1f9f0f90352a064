"""What a redacted answer depends on is a closed list, and the page has all of it."""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.decoders.usage import counters, usage_of
from ctxdiff_capture.model import BlockHead, CallHead, Recording, Session
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.redacted import structure_of
from ctxdiff_mcp.answers.refs import RunRef
from ctxdiff_mcp.gate.captured import Captured, Name
from tests.trust.redact.contents import name

PAGE = Path(__file__).resolve().parents[3] / "docs" / "trust.md"

# Field to the words of the page under which it may tell; None: it is a word, and tells nothing.
CALL: dict[str, str | None] = {
    "id": None,
    "seq": "the turns: their order and numbers",
    "provider": None,
    "agent": "which belong to the same agent",
    "step": "whether there is a step",
    "params": None,
    "usage": "of what the provider billed the counters that are known",
    "latency_ms": "milliseconds",
    "error": "a finish reason or an error",
    "surface": None,
    "started_at": "starts that parse as times",
    "first_byte_ms": "milliseconds",
    "finish_reason": "a finish reason or an error",
    "response_id": None,
    "response_model": None,
    "error_message": None,
    "error_status": "its HTTP status",
    "attempts": "attempts",
    "request_digest": None,
    "refusal": None,
}
BLOCK: dict[str, str | None] = {
    "content_hash": "which places hold the same block",
    "role": "roles and kinds from the known lists",
    "kind": "roles and kinds from the known lists",
    "token_count": "token counts of blocks",
    "token_method": None,
    "is_empty": None,
    "opens_json": None,
}
SESSION: dict[str, str | None] = {
    "id": None,
    "project": None,
    "started_at": "their starts that parse as times",
    "provider": None,
    "models": None,
    "writer": None,
    "schema_version": None,
    "calls": "how many turns",
    "agents": "which agents each has",
}
RECORDING: dict[str, str | None] = {
    "session": "the runs",
    "calls": "the turns",
    "blocks": "the blocks",
    "inputs": "which places hold the same block",
    "labels": "which places have the same label",
    "label_table": "whether the program gave it",
    "positions": "positions",
    "outputs": "which places hold the same block",
    "has_outputs": "whether answers were recorded",
    "notes": None,
}
LISTS = {CallHead: CALL, BlockHead: BLOCK, Session: SESSION, Recording: RECORDING}


def the_list() -> str:
    """The numbered items of the page's section."""
    section = PAGE.read_text(encoding="utf-8").partition("## Redact mode")[2].partition("\n## ")[0]
    return "\n".join(
        line for line in section.splitlines() if line[:2] in {f"{n}." for n in range(9)}
    )


@pytest.mark.parametrize("value", LISTS, ids=lambda value: value.__name__)
def test_the_page_says_of_each_field_what_may_tell(value: type) -> None:
    listed = LISTS[value]
    assert {field.name for field in fields(value)} == set(listed)
    assert [told for told in listed.values() if told is not None and told not in the_list()] == []


def recording(words: Mapping[str, Any] | None = None) -> Recording:
    """Two turns and two blocks; `words` are values for the fields that are none of the list's."""
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    call = CallHead("c1", 1, "openai", "ann", "plan", {}, usage, 5, None)
    other = replace(call, id="c2", seq=2, error="E", finish_reason="stop", attempts=2)
    found = Recording(
        Session("s", "shop", "2026-11-30T10:00:00Z", "openai", (), "1", 2, 2, ("ann",)),
        (call, other),
        (
            BlockHead("0" * 64, "user", "message", 4, "tiktoken", is_empty=False),
            BlockHead("1" * 64, "tool", "message", 4, "tiktoken", is_empty=False),
        ),
        (array("i", [1]), array("i", [1, 0])),
        (array("i", [0]), array("i", [0, 1])),
        (("rag", "tagged"), ("history", "heuristic")),
        (range(1), range(2)),
        (array("i"), array("i")),
        has_outputs=True,
    )
    if words is None:
        return found
    return replace(
        found,
        session=replace(found.session, **words["session"]),
        calls=tuple(replace(call, **words["call"]) for call in found.calls),
        blocks=tuple(replace(block, **words["block"]) for block in found.blocks),
        notes=words["notes"],
    )


def structure(found: Recording) -> Recording:
    ref = RunRef(Name(Captured("demo"), "r1"), Captured("s"))

    class Reader:
        def close(self) -> None:
            pass

    return structure_of(OpenRun(ref, Reader(), found))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_not_on_the_list_is_the_same_for_all_words(seed: int) -> None:
    chance = random.Random(seed)

    def drawn(listed: Mapping[str, str | None]) -> dict[str, Any]:
        return {field: name(chance) for field, told in listed.items() if told is None}

    flags = {"is_empty": chance.random() < 0.5, "opens_json": chance.random() < 0.5}
    words = {
        "session": {
            **drawn(SESSION),
            "models": (name(chance),),
            "schema_version": chance.randint(1, 2),
        },
        "call": {**drawn(CALL), "params": {name(chance): name(chance)}},
        "block": {**drawn(BLOCK), **flags},
        "notes": (name(chance),),
    }
    assert structure(recording(words)) == structure(recording())


def test_of_a_word_on_the_list_only_tells_that_it_is_there() -> None:
    found = recording()
    said = replace(
        found,
        session=replace(found.session, agents=("bob",), started_at="2026-11-30T12:00:00+02:00"),
        calls=tuple(
            replace(
                call,
                agent="bob",
                step="other",
                error=call.error and "Other",
                finish_reason=call.finish_reason and "length",
                started_at="no time",
                usage={**(call.usage or {}), "tier": "x", "prompt_tokens_details": "none"},
            )
            for call in found.calls
        ),
        blocks=tuple(
            replace(block, content_hash=f"hash {n}") for n, block in enumerate(found.blocks)
        ),
        label_table=(("memory", "tagged"), ("rules", "guessed")),
    )
    assert structure(said) == structure(found)


COUNTS = st.one_of(
    st.integers(-5, 2**54), st.floats(), st.text(max_size=5), st.none(), st.booleans()
)
KEYS = st.sampled_from(
    [
        *("prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "output_tokens"),
        *("completion_tokens", "candidatesTokenCount", "thoughtsTokenCount", "cached_tokens"),
        *("cache_read_input_tokens", "cache_creation_input_tokens", "cacheWriteInputTokens"),
        *(
            "reasoning_tokens",
            "cache_write_tokens",
            "toolUsePromptTokenCount",
            "ttl",
            "inputTokens",
        ),
        *("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "service_tier", "words"),
    ]
)
INNER = st.dictionaries(KEYS, COUNTS, max_size=4)
USAGES = st.dictionaries(
    st.one_of(
        KEYS,
        st.sampled_from(
            [
                *("prompt_tokens_details", "input_tokens_details", "completion_tokens_details"),
                *("cache_creation", "cacheDetails"),
            ]
        ),
    ),
    st.one_of(COUNTS, INNER, st.lists(INNER, max_size=3)),
    max_size=8,
)


@given(USAGES)
def test_the_counters_of_a_usage_object_hold_no_word_and_say_what_it_says(
    usage: dict[str, Any],
) -> None:
    kept = counters(usage)
    assert counters(kept) == kept
    assert all(type(leaf) is int or leaf in ("5m", "1h") for leaf in _leaves(kept))
    plain = json.loads(json.dumps(kept))
    assert usage_of(plain) == usage_of(kept)
    told = usage_of(usage)
    numbers = {key: value for key, value in usage.items() if type(value) is int}
    if numbers == usage and all(0 <= value < 2**53 for value in numbers.values()):
        assert usage_of(kept) == told


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in _leaves(one)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in _leaves(one)]
    return [value]
