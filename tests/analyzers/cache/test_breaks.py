"""Each cause of a broken prefix is found at its place, at every provider."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.cache.wire import (
    RULES,
    SURFACES,
    Ask,
    Sent,
    last_verdict,
    path_of_said,
    path_of_system,
    path_of_tool,
    tool,
)

START, FULL = 1_900, 2_048
"""Tokens that were cached by the turn before."""
every_surface = pytest.mark.parametrize("surface", SURFACES)


def pair(
    folder: Path, surface: str, old: Ask, new: Ask, *, read: int | None = 0, **more: Any
) -> Any:
    before = Sent(old, 0, read=0, written=FULL)
    written = None if read is None else FULL + 200 - read
    after = Sent(new, 20, read=read, written=written, **more)
    return last_verdict(folder, surface, before, after)


def next_of(old: Ask, **changes: Any) -> Ask:
    return old.then(("assistant", "The ferns."), ("user", "And then?"), **changes)


SYSTEMS = [
    ("It is 08:15:02. ", "It is 08:15:41. ", "volatile_value", 12),
    ("Heute ist der 4. Mai 2026. ", "Heute ist der 5. Mai 2026. ", "volatile_value", 14),
    ("Last watered 9 minutes ago. ", "Last watered 1 hour ago. ", "volatile_value", 13),
    ("Turn 11 of this run. ", "Turn 12 of this run. ", "volatile_value", 6),
    (
        "trace 7b0e6f0a-30aa-4a47-8d9e-0a4a5b1c2d3e ",
        "trace c4d1a2b3-91ee-4f0f-9a77-5e6f7a8b9c0d ",
        "session_id_in_prefix",
        6,
    ),
    (
        "nonce=Qf83kd92Ls0vT1xA ",
        "nonce=9Zr7mPw2Yb5cHq8U ",
        "volatile_value",
        6,
    ),
]


@every_surface
@pytest.mark.parametrize(("was", "is_now", "cause", "at"), SYSTEMS)
def test_a_value_that_changes_in_the_system_text(
    tmp_path: Path, surface: str, was: str, is_now: str, cause: str, at: int
) -> None:
    old = Ask(system=was + RULES)
    found = pair(tmp_path, surface, old, next_of(old, system=is_now + RULES))
    assert (found.code, found.cause, found.certainty) == ("cache_break", cause, "measured")
    assert (found.path, found.place.first_difference) == (path_of_system(surface), at)
    assert (found.section, found.reusable) == ("system", ())
    assert found.excerpts[1].startswith(is_now[at : at + 8])


@every_surface
@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda text: f"{text}Always name the bed's number and its gate.", "section_appended"),
        (lambda text: text.replace(". ", ".\n", 1), "whitespace_only_change"),
        (lambda text: "Write a poem about sand and salt. " * 130, "system_replaced"),
        (lambda text: text.replace("exact and brief", "kind and chatty", 1), None),
    ],
    ids=["appended", "white space", "replaced", "reworded"],
)
def test_another_system_text(tmp_path: Path, surface: str, change: Any, cause: str | None) -> None:
    old = Ask()
    found = pair(tmp_path, surface, old, next_of(old, system=change(RULES)))
    assert (found.code, found.cause) == ("cache_break", cause)
    assert found.path == path_of_system(surface)


@every_surface
def test_retrieved_text_in_the_system_text(tmp_path: Path, surface: str) -> None:
    frame = f"{RULES}\n<passages>\n{{}}\n</passages>"
    old = Ask(
        system=frame.format("Orchids want rain water, never from the tap."),
        said=(("user", "How do orchids drink?"),),
    )
    new = old.then(
        ("assistant", "Rain water."),
        ("user", "What about the cacti?"),
        system=frame.format("Cacti rest in winter and are left dry until April."),
    )
    found = pair(tmp_path, surface, old, new)
    assert (found.cause, found.path) == ("retrieval_in_prefix", path_of_system(surface))
    assert found.place.first_difference == len(f"{RULES}\n<passages>\n")


@pytest.mark.parametrize("surface", [one for one in SURFACES if one != "openai.responses"])
def test_one_of_several_system_texts(tmp_path: Path, surface: str) -> None:
    old = Ask(system=(RULES, "Open beds: 12."), marks=("system", "last"))
    found = pair(tmp_path, surface, old, next_of(old, system=(RULES, "Open beds: 13.")), read=1_500)
    assert (found.cause, found.path) == ("volatile_value", path_of_system(surface, 1))
    assert found.reusable == (
        ("system[0]",) if surface == "gemini.generate_content" else ("tools", "system[0]")
    )


def tools_of(*names: str, **descriptions: str) -> tuple[Any, ...]:
    return tuple(tool(name, descriptions.get(name, f"{name} of a bed.")) for name in names)


TOOL_CHANGES = [
    (
        ("soil", "light", "pests"),
        tools_of("soil", "light", "pests", "frost"),
        "tool_set_changed",
        3,
    ),
    (("soil", "light", "pests"), tools_of("soil", "pests"), "tool_set_changed", 1),
    (("soil", "light", "pests"), tools_of("soil", "pests", "light"), "tool_order_changed", 1),
    (
        ("soil", "light"),
        tools_of("soil", "light", light="light of a bed. Do not use after dusk."),
        "tool_description_changed",
        1,
    ),
]


@every_surface
@pytest.mark.parametrize(("before", "now", "cause", "at"), TOOL_CHANGES)
def test_other_tools(
    tmp_path: Path, surface: str, before: tuple[str, ...], now: Any, cause: str, at: int
) -> None:
    old = Ask(tools=tools_of(*before))
    found = pair(tmp_path, surface, old, next_of(old, tools=now))
    assert (found.code, found.cause, found.section) == ("cache_break", cause, "tools")
    place = path_of_tool(surface, at)
    if cause == "tool_description_changed":
        inner = {"openai.chat": ".function", "bedrock.converse": ".toolSpec"}.get(surface, "")
        place = f"{place}{inner}.description"
        assert found.place.first_difference == len("light of a bed.")
    if surface == "gemini.generate_content" and cause == "tool_order_changed":
        place = "tools[0]"
    assert found.path == place


@every_surface
def test_another_key_order_in_a_tools_schema(tmp_path: Path, surface: str) -> None:
    first = {"bed": {"type": "string", "description": "Its name."}, "depth": {"type": "number"}}
    second = {"depth": {"type": "number"}, "bed": {"type": "string", "description": "Its name."}}
    old = Ask(tools=(tool("soil"), tool("probe", **first)))
    found = pair(
        tmp_path, surface, old, next_of(old, tools=(tool("soil"), tool("probe", **second)))
    )
    assert (found.code, found.cause) == ("cache_break", "json_key_order_changed")
    assert found.section == "tools"
    assert (found.path or "").endswith("properties")
    assert "probe" in found.names


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


SETTINGS = [
    ("openai.chat", {"model": "gpt-5.2"}, "model_changed"),
    ("openai.chat", {"params": {"tool_choice": "required"}}, "tool_choice_changed"),
    ("openai.chat", {"params": {"reasoning_effort": "high"}}, "reasoning_effort_changed"),
    (
        "openai.chat",
        {"params": {"response_format": {"type": "json_object"}}},
        "output_schema_changed",
    ),
    ("openai.chat", {"params": {"prompt_cache_key": "b"}}, "cache_key_changed"),
    ("openai.responses", {"params": {"reasoning": {"effort": "low"}}}, "reasoning_effort_changed"),
    (
        "openai.responses",
        {"params": {"text": {"format": {"type": "json_schema", "name": "o", "schema": {}}}}},
        "output_schema_changed",
    ),
    ("openai.responses", {"params": {"prompt_cache_key": "b"}}, "cache_key_changed"),
    ("anthropic.messages", {"model": "claude-opus-4-1"}, "model_changed"),
    ("anthropic.messages", {"params": {"tool_choice": {"type": "any"}}}, "tool_choice_changed"),
    (
        "anthropic.messages",
        {"params": {"thinking": {"type": "enabled", "budget_tokens": 2048}}},
        "thinking_config_changed",
    ),
    (
        "anthropic.messages",
        {"params": {"output_config": {"effort": "low"}}},
        "reasoning_effort_changed",
    ),
    ("gemini.generate_content", {"model": "gemini-2.5-pro"}, "model_changed"),
    (
        "gemini.generate_content",
        {"params": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}},
        "thinking_config_changed",
    ),
    (
        "bedrock.converse",
        {"model": "anthropic.claude-opus-4-1-20250805-v1:0"},
        "model_changed",
    ),
    (
        "bedrock.converse",
        {"params": {"additionalModelRequestFields": {"thinking": {"type": "enabled"}}}},
        "thinking_config_changed",
    ),
    ("bedrock.invoke_model", {"params": {"tool_choice": {"type": "any"}}}, "tool_choice_changed"),
]


@pytest.mark.parametrize(("surface", "changes", "cause"), SETTINGS)
def test_another_setting_that_the_cache_depends_on(
    tmp_path: Path, surface: str, changes: Any, cause: str
) -> None:
    old = Ask(tools=(tool("soil"),))
    found = pair(tmp_path, surface, old, next_of(old, **changes))
    assert (found.code, found.cause, found.certainty) == ("cache_break", cause, "measured")


@pytest.mark.parametrize(("surface", "changes", "cause"), SETTINGS)
def test_what_was_read_all_the_same_clears_a_setting(
    tmp_path: Path, surface: str, changes: Any, cause: str
) -> None:
    old = Ask(tools=(tool("soil"),))
    found = pair(tmp_path, surface, old, next_of(old, **changes), read=FULL)
    assert (found.code, found.state) == (None, "kept")


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


@every_surface
def test_the_system_text_is_gone(tmp_path: Path, surface: str) -> None:
    old = Ask()
    found = pair(tmp_path, surface, old, next_of(old, system=()))
    assert (found.code, found.cause, found.section) == (
        "cache_break",
        "system_prompt_missing",
        "system",
    )


def test_the_system_text_is_sent_twice(tmp_path: Path) -> None:
    old = Ask()
    new = replace(old, system=(RULES, RULES))
    found = pair(tmp_path, "openai.chat", old, next_of(new), read=1_920)
    assert (found.cause, found.path) == ("duplicate_system_prompt", "messages[1].content")


@pytest.mark.parametrize("surface", ["anthropic.messages", "bedrock.converse"])
def test_a_lost_tier_leaves_the_ones_before_it(tmp_path: Path, surface: str) -> None:
    key, value = {
        "anthropic.messages": ("tool_choice", {"type": "any"}),
        "bedrock.converse": ("additionalModelRequestFields", {"thinking": {"type": "enabled"}}),
    }[surface]
    old = Ask(tools=(tool("soil"),), marks=("tools", "system", "last"))
    found = pair(tmp_path, surface, old, next_of(old, params={key: value}), read=1_700)
    assert (found.code, found.reusable) == ("cache_break", ("tools", "system"))
