"""An edit of an answer, of a tool call or of its result is no prompt with a value filled in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.cache.wire import FULL, SURFACES, Ask, Sent, last_verdict, pair, path_of_said

every_surface = pytest.mark.parametrize("surface", SURFACES)
ARGUMENTS = {"bed": "north", "litres": 12, "at": "dawn"}


def called(surface: str, arguments: dict[str, Any], result: str) -> tuple[tuple[str, Any], ...]:
    """A question, a tool call and its result, as `Ask.said` takes them."""
    asked = ("user", "Water the north bed.")
    if surface == "openai.chat":
        return asked, ("assistant", "Watering."), ("user", f"Tool says: {result}")
    if surface == "openai.responses":
        call = {"type": "function_call", "call_id": "c1", "name": "water"}
        told = {"type": "function_call_output", "call_id": "c1", "output": result}
        return asked, ("", {**call, "arguments": json.dumps(arguments)}), ("", told)
    if surface == "gemini.generate_content":
        call = {"functionCall": {"name": "water", "args": arguments}}
        told = {"functionResponse": {"name": "water", "response": {"output": result}}}
    elif surface == "bedrock.converse":
        call = {"toolUse": {"toolUseId": "c1", "name": "water", "input": arguments}}
        told = {"toolResult": {"toolUseId": "c1", "content": [{"text": result}]}}
    else:
        call = {"type": "tool_use", "id": "c1", "name": "water", "input": arguments}
        told = {"type": "tool_result", "tool_use_id": "c1", "content": result}
    return asked, ("assistant", [call]), ("user", [told])


RESULTS = {
    "openai.responses": "input[2].output",
    "anthropic.messages": "messages[2].content[0].content",
    "gemini.generate_content": "contents[2].parts[0].functionResponse.response.output",
    "bedrock.converse": "messages[2].content[0].toolResult.content[0].text",
    "bedrock.invoke_model": "messages[2].content[0].content",
}


@pytest.mark.parametrize("surface", RESULTS)
def test_a_number_in_a_past_tool_result(tmp_path: Path, surface: str) -> None:
    asks = [
        Ask(said=called(surface, ARGUMENTS, f"Flow {flow} litres, 9 beds left.")) for flow in (3, 8)
    ]
    new = asks[1].then(("assistant", "Done, nine are left."), ("user", "Which are they?"))
    found = pair(tmp_path, surface, asks[0], new, read=1_200)
    assert (found.code, found.cause) == ("cache_break", "replay_differs_from_sent")
    assert (found.path, found.place.first_difference) == (RESULTS[surface], len("Flow "))


@every_surface
def test_a_number_in_a_past_answer(tmp_path: Path, surface: str) -> None:
    old, new = (
        Ask(said=(("user", "Hi"), ("assistant", f"Bed {n} is dry, the rest is fine."), *rest))
        for n, rest in (
            (4, (("user", "And now?"),)),
            (7, (("user", "And now?"), ("assistant", "Still dry."), ("user", "Thanks."))),
        )
    )
    found = pair(tmp_path, surface, old, new, read=1_200)
    assert (found.code, found.cause) == ("cache_break", "replay_differs_from_sent")
    assert (found.path, found.place.first_difference) == (path_of_said(surface, 1), len("Bed "))


OBJECTS = [one for one in RESULTS if one != "openai.responses"]
"""Providers that take arguments as an object, whose key order blocks do not show."""


def reordered(surface: str) -> tuple[Ask, Ask]:
    turned = dict(reversed(ARGUMENTS.items()))
    old = Ask(said=called(surface, ARGUMENTS, "ok"), marks=("system", "last"))
    new = Ask(said=called(surface, turned, "ok"), marks=("system", "last"))
    return old, new.then(("assistant", "Done."), ("user", "Next?"))


@pytest.mark.parametrize("surface", OBJECTS)
@pytest.mark.parametrize("kept", [0.0, 0.8])
def test_arguments_in_another_key_order(tmp_path: Path, surface: str, kept: float) -> None:
    """Also where the system text is most of the prompt and was read all the same."""
    found = pair(tmp_path, surface, *reordered(surface), read=round(FULL * kept))
    assert (found.code, found.cause) == ("cache_break", "json_key_order_changed")
    assert (found.section, found.certainty) == ("messages", "measured")
    assert (found.path or "").startswith(RESULTS[surface][: len("messages[")].split("[")[0])


@pytest.mark.parametrize("surface", OBJECTS)
def test_another_key_order_that_was_read_all_the_same(tmp_path: Path, surface: str) -> None:
    found = pair(tmp_path, surface, *reordered(surface), read=FULL)
    assert (found.code, found.state) == (None, "kept")


@pytest.mark.parametrize("surface", OBJECTS)
def test_a_loss_far_behind_another_key_order_has_another_reason(
    tmp_path: Path, surface: str
) -> None:
    old, new = reordered(surface)
    long = ("user", "All of the beds, by row and by plant, in this order. " * 200)
    old = old.then(("assistant", "Which?"), long)
    new = Ask(said=(*new.said[:3], *old.said[3:], ("assistant", "Yes."), ("user", "Next?")))
    before = Sent(old, 0, read=0, written=4_400)
    found = last_verdict(
        tmp_path,
        surface,
        before,
        Sent(new, 20, read=4_000, written=700),
    )
    assert found.cause != "json_key_order_changed"
