"""A stored call as a `ModelInvocationContextSnapshot`, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import openai
import pytest
from ctxdiff_capture import Tracer, read
from ctxdiff_capture.errors import TraceNotFound
from ctxdiff_capture.hooks.context_state import ContextState, context_state
from ctxdiff_capture.hooks.export import (
    Message,
    ModelInvocationContextSnapshot,
    Part,
    invocation_snapshot,
)
from ctxdiff_capture.hooks.spelling import (
    from_dict,
    from_json,
    from_yaml,
    to_dict,
    to_json,
    to_yaml,
)
from ctxdiff_capture.model import Block, Decision, Placement
from hypothesis import given
from hypothesis import strategies as st

Make = Callable[..., openai.OpenAI]

USER = {"role": "user", "content": "What is it in Oslo?"}
CALLS = [
    {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for n in (1, 2)
]
LOOP: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    USER,
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": "4 C"},
    {"role": "tool", "tool_call_id": "c2", "content": "rain"},
]
NEXT = [*LOOP, {"role": "assistant", "content": "4 C, rain"}, {"role": "user", "content": "Thanks"}]


def snapshots_of(
    tracer: Tracer, client: openai.OpenAI, prompts: Sequence[Any], **more: Any
) -> list[ModelInvocationContextSnapshot]:
    for messages in prompts:
        client.chat.completions.create(model="gpt-4o", messages=messages, **more)
    tracer.close()
    assert tracer.path
    reader = read(tracer.path)
    try:
        session = reader.sessions()[0].id
        return [invocation_snapshot(reader, session, n + 1) for n in range(len(prompts))]
    finally:
        reader.close()


def test_messages_have_their_parts_and_the_invocation_its_decisions(
    tracer: Tracer, client_of: Make
) -> None:
    tracer.decision("faq", "dropped", "too long")
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    (snapshot,) = snapshots_of(tracer, client_of(tracer), [LOOP], tools=[tool])

    assert [(m.role, len(m.parts)) for m in snapshot.messages] == [
        ("system", 1),
        ("user", 1),
        ("assistant", 2),
        ("tool", 1),
        ("tool", 1),
    ]
    assert snapshot.messages[1].parts[0].text == USER["content"]
    assert snapshot.decisions == (Decision("faq", "dropped", "too long"),)
    assert snapshot.metadata["model"] == "gpt-4o"
    assert len(snapshot.metadata["tools"]) == 1
    assert snapshot.metadata["finishReason"] == "stop"


def test_a_turn_begins_with_the_user_and_has_an_iteration_per_answer(
    tracer: Tracer, client_of: Make
) -> None:
    found = snapshots_of(tracer, client_of(tracer), [LOOP[:2], LOOP, NEXT])

    assert [s.iteration for s in found] == [1, 2, 1]
    assert found[0].turn_id == found[1].turn_id != found[2].turn_id
    assert len({s.invocation_id for s in found}) == 3


def test_the_stable_prefix_is_counted_in_messages(tracer: Tracer, client_of: Make) -> None:
    changed = [{"role": "system", "content": "Be long."}, *LOOP[1:]]
    found = snapshots_of(tracer, client_of(tracer), [LOOP[:2], LOOP, changed])

    assert [s.stable_prefix_messages for s in found] == [0, 2, 0]


def test_a_turn_that_is_not_there_is_not_found(tracer: Tracer, client_of: Make) -> None:
    snapshots_of(tracer, client_of(tracer), [LOOP])
    assert tracer.path
    reader = read(tracer.path)
    with pytest.raises(TraceNotFound, match="no turn 2"):
        invocation_snapshot(reader, reader.sessions()[0].id, 2)
    reader.close()


@pytest.mark.parametrize(
    ("params", "text", "expected"),
    [
        ({"temperature": 1}, "hi", ContextState("portable", (), 0)),
        (
            {"previous_response_id": "r1", "conversation": None},
            "hi",
            ContextState("provider_bound", (("previous_response_id", "r1"),), 0),
        ),
        ({}, '{"encrypted_content": "x"}', ContextState("provider_bound", (), 1)),
    ],
)
def test_what_the_provider_keeps_or_seals_binds_a_context_to_it(
    params: dict[str, Any], text: str, expected: ContextState
) -> None:
    block = Block("h", "assistant", "content_part", text, 1, "estimate")

    assert context_state(params, [Placement(block, "history")]) == expected


texts = st.text(st.characters(blacklist_categories=("Cs",)))
numbers = st.integers(0, 2**53)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
parts = st.builds(Part, texts, texts, texts, numbers, texts)
snapshots = st.builds(
    ModelInvocationContextSnapshot,
    id=texts,
    session_id=texts,
    turn_id=texts,
    invocation_id=texts,
    iteration=numbers,
    messages=st.lists(
        st.builds(Message, texts, st.lists(parts, max_size=2).map(tuple)), max_size=3
    ).map(tuple),
    decisions=st.lists(
        st.builds(
            Decision,
            texts,
            texts,
            st.none() | texts,
            st.none() | numbers,
            st.none() | numbers,
        ),
        max_size=2,
    ).map(tuple),
    stable_prefix_messages=numbers,
    context_state=st.builds(
        ContextState,
        st.sampled_from(["portable", "provider_bound"]),
        st.lists(st.tuples(texts, values), max_size=2).map(tuple),
        numbers,
    ),
    metadata=st.dictionaries(texts, values, max_size=3),
)


@given(snapshots)
def test_a_snapshot_comes_back_from_its_dict_and_its_json(
    snapshot: ModelInvocationContextSnapshot,
) -> None:
    assert from_dict(to_dict(snapshot)) == snapshot
    assert from_json(to_json(snapshot)) == snapshot


def test_a_snapshot_comes_back_from_its_yaml() -> None:
    pytest.importorskip("yaml", reason="PyYAML is optional")
    part = Part("message", "line\n  'quoted': ä\x07", "user", 3, "0" * 64)
    snapshot = replace(PLAIN, messages=(Message("user", (part,)),), metadata={"a": [1, None]})

    assert from_yaml(to_yaml(snapshot)) == snapshot
    with pytest.raises(ValueError, match="no YAML"):
        from_yaml("a: [")


def test_yaml_without_its_library_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(ImportError, match="pip install pyyaml"):
        to_yaml(PLAIN)


PLAIN = ModelInvocationContextSnapshot(
    "s:1", "s", "t", "i", 1, (), (), 0, ContextState("portable", (), 0)
)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"iteration": "1"}, "/iteration is no int but str"),
        ({"messages": [{"role": "user", "parts": [{}]}]}, "'kind' at /messages/0/parts/0"),
        ({"contextState": None}, "'portability' at /contextState"),
        ({"decisions": {}}, "/decisions is no list"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_its_place(changes: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        from_dict({**to_dict(PLAIN), **changes})
