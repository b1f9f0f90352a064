"""A history that is not sent as it was is found at its place, at every provider."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.cache.wire import SURFACES, Ask, pair, path_of_said

every_surface = pytest.mark.parametrize("surface", SURFACES)


@every_surface
@pytest.mark.parametrize(
    ("was", "is_now", "cause", "at"),
    [
        ("Les bégonias?", unicodedata.normalize("NFD", "Les bégonias?"), "unicode_form_changed", 5),
        ("Two beds,  please.", "Two beds, please.", "whitespace_only_change", 10),
        ("Water bed 4 now, it is dry.", "Water bed 9 now, it is dry.", "volatile_value", 10),
        (
            "Please water the beds by the gate before noon today.",
            "Please water the beds by the pond before noon today.",
            "replay_differs_from_sent",
            29,
        ),
    ],
)
def test_a_past_message_in_another_form(
    tmp_path: Path, surface: str, was: str, is_now: str, cause: str, at: int
) -> None:
    old = Ask(said=(("user", "Hi"), ("assistant", "Hello."), ("user", was)))
    new = Ask(
        said=(
            *old.said[:2],
            ("user", is_now),
            ("assistant", "Done."),
            ("user", "Thanks, what else is there?"),
        )
    )
    found = pair(tmp_path, surface, old, new, read=1_200)
    assert (found.code, found.cause, found.section) == ("cache_break", cause, "messages")
    assert found.path == path_of_said(surface, 2)
    assert found.place.first_difference == at


TALK = (
    ("user", "Which roses need pruning before the frost comes?"),
    ("assistant", "Only the climbers by the south wall; the others wait until March."),
    ("user", "And who has the key of the fern house today?"),
    ("assistant", "Ingrid. She opens at seven and is back from lunch at one."),
    ("user", "Then plan the palms for her, twelve litres each."),
    ("assistant", "Planned: nine palms, one hundred and eight litres, done by ten."),
    ("user", "Please also order two bags of peat."),
)


@every_surface
@pytest.mark.parametrize(
    ("old", "new", "cause", "at"),
    [
        (TALK[:5], TALK[2:7], "history_front_trimmed", 0),
        (TALK[:5], (*TALK[:2], *TALK[3:7]), "evicted_block", 2),
        (TALK[:5], (TALK[0], ("user", "note: frost"), *TALK[1:7]), "item_inserted_in_prefix", 1),
        (TALK[:5], (*TALK[1:3], TALK[0], *TALK[3:7]), "block_moved", 0),
        (
            TALK[:5],
            (("user", "Summary: flowers were discussed."), *TALK[4:7]),
            "history_compacted",
            None,
        ),
        (
            TALK[:5],
            (TALK[0], TALK[1], ("user", f"{TALK[2][1]}\n\n{TALK[3][1]}"), *TALK[4:7]),
            "messages_merged",
            2,
        ),
        (TALK[:5], (*TALK[:2], TALK[1], *TALK[2:7]), "duplicated_history", 2),
    ],
    ids=["trimmed", "evicted", "inserted", "moved", "compacted", "merged", "duplicated"],
)
def test_a_history_that_is_not_what_was_sent(
    tmp_path: Path, surface: str, old: Any, new: Any, cause: str, at: int | None
) -> None:
    found = pair(tmp_path, surface, Ask(said=old), Ask(said=new), read=1_100)
    assert (found.code, found.cause, found.section) == ("cache_break", cause, "messages")
    if at is not None:
        holder = path_of_said(surface, at).removesuffix(".text").removesuffix(".content")
        assert (found.path or "").startswith(holder)


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGES: dict[str, Any] = {
    "openai.chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    "openai.responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    "anthropic.messages": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
    },
    "gemini.generate_content": {"inlineData": {"mimeType": "image/png", "data": PNG}},
    "bedrock.converse": {"image": {"format": "png", "source": {"bytes": PNG}}},
}
IMAGES["bedrock.invoke_model"] = IMAGES["anthropic.messages"]
THOUGHTS: dict[str, Any] = {
    "anthropic.messages": {
        "type": "thinking",
        "thinking": "Ferns like shade.",
        "signature": "c2ln",
    },
    "gemini.generate_content": {"text": "Ferns like shade.", "thought": True},
    "bedrock.converse": {"reasoningContent": {"reasoningText": {"text": "Ferns like shade."}}},
}
THOUGHTS["bedrock.invoke_model"] = THOUGHTS["anthropic.messages"]


def part(surface: str, text: str, role: str = "user") -> dict[str, str]:
    if surface in ("gemini.generate_content", "bedrock.converse"):
        return {"text": text}
    kind = {"user": "input_text", "assistant": "output_text"}[role]
    return {"type": kind if surface == "openai.responses" else "text", "text": text}


@every_surface
def test_an_image_becomes_a_text(tmp_path: Path, surface: str) -> None:
    first, shown = part(surface, "What grows here?"), IMAGES[surface]
    pointer = part(surface, "[image at shed/1.png]")
    old = Ask(said=(("user", [first, shown]),))
    new = Ask(said=(("user", [first, pointer]), ("assistant", "Ivy."), ("user", "Cut it?")))
    found = pair(tmp_path, surface, old, new, read=1_500)
    assert (found.code, found.cause) == ("cache_break", "image_removed")
    holder = path_of_said(surface, 0, is_part=True)
    holder = {
        "openai.chat": "messages[1].content[1]",
        "openai.responses": "input[0].content[1]",
    }.get(surface, holder.replace("[0].text", "[1]").replace("messages[1]", "messages[0]"))
    assert found.path == holder
    assert found.place.first_difference is None


@pytest.mark.parametrize("surface", THOUGHTS)
def test_thinking_is_not_sent_back(tmp_path: Path, surface: str) -> None:
    answer = part(surface, "The ferns.", "assistant")
    asked = ("user", "Which beds first?")
    old = Ask(said=(asked, ("assistant", [THOUGHTS[surface], answer]), ("user", "And then?")))
    new = Ask(
        said=(
            asked,
            ("assistant", [answer]),
            ("user", "And then?"),
            ("assistant", "M"),
            ("user", "?"),
        )
    )
    found = pair(tmp_path, surface, old, new, read=1_500)
    assert (found.code, found.cause) == ("cache_break", "thinking_blocks_dropped")
    key = (
        "contents[1].parts[0]" if surface == "gemini.generate_content" else "messages[1].content[0]"
    )
    assert found.path == key


def test_reasoning_items_are_not_sent_back(tmp_path: Path) -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "blob"}
    old = Ask(said=(("user", "Hi"), ("", item), ("assistant", "Hello."), ("user", "Next?")))
    new = Ask(said=(*old.said[:1], *old.said[2:], ("assistant", "Done."), ("user", "Thanks.")))
    found = pair(tmp_path, "openai.responses", old, new, read=1_024)
    assert (found.cause, found.path) == ("thinking_blocks_dropped", "input[1]")


@pytest.mark.parametrize("surface", ["anthropic.messages", "bedrock.invoke_model"])
def test_the_first_image_loses_what_is_cached_of_the_messages(tmp_path: Path, surface: str) -> None:
    old = Ask(marks=("system", "last"))
    shown = [IMAGES[surface], part(surface, "And this?")]
    new = old.then(("assistant", "Roses."), ("user", shown))
    found = pair(tmp_path, surface, old, new, read=1_900)
    assert (found.code, found.cause, found.section) == ("cache_break", None, "messages")
    assert found.reusable == ("tools", "system")
    (tmp_path / "read").mkdir()
    assert pair(tmp_path / "read", surface, old, new, read=2_048).code is None
