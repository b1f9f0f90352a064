"""Each cause of a prefix broken in front of the conversation is found, at every provider."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.cache.wire import (
    FULL,
    RULES,
    SURFACES,
    Ask,
    pair,
    path_of_system,
    path_of_tool,
    tool,
)

every_surface = pytest.mark.parametrize("surface", SURFACES)


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


PASSAGES = (
    "[7] Orchids drink rain water, which is kept in the barrel by the fern house.",
    "[12] Cacti rest from October on and are left dry until the days get longer.",
)
FRAMES = {
    "heading": ("Relevant passages:\n{}", "retrieval_in_prefix"),
    "tag": ("<sources>\n{}\n</sources>", "retrieval_in_prefix"),
    "heading of Markdown": ("## From the garden book\n{}", "retrieval_in_prefix"),
    "another script": ("\u53c2\u8003\uff1a\n{}", "retrieval_in_prefix"),
    "no frame": ("{}", "system_replaced"),
}


@pytest.mark.parametrize("surface", [one for one in SURFACES if one != "openai.responses"])
@pytest.mark.parametrize("frame", FRAMES)
def test_retrieved_text_in_a_system_text_of_its_own(
    tmp_path: Path, surface: str, frame: str
) -> None:
    text, cause = FRAMES[frame]
    old = Ask(system=(RULES, text.format(PASSAGES[0])), said=(("user", "How do orchids drink?"),))
    new = old.then(
        ("assistant", "Rain water."),
        ("user", "And what of cacti?"),
        system=(RULES, text.format(PASSAGES[1])),
    )
    found = pair(tmp_path, surface, old, new)
    assert (found.cause, found.path) == (cause, path_of_system(surface, 1))


@pytest.mark.parametrize("surface", [one for one in SURFACES if one != "openai.responses"])
@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        (
            "# Planner\nPlan first, then name each bed by row.",
            "# Cook\nWrite menus of five courses.",
        ),
        ("# Mode\nPlan first, then name each bed by row.", "# Mode\nWrite menus of five courses."),
        ("Style:\nterse", "Style:\nkind"),
    ],
    ids=["another heading", "instructions of a mode", "a word for a word"],
)
def test_instructions_of_their_own_are_not_retrieved(
    tmp_path: Path, surface: str, was: str, is_now: str
) -> None:
    old = Ask(system=(RULES, was))
    found = pair(tmp_path, surface, old, next_of(old, system=(RULES, is_now)))
    assert found.cause != "retrieval_in_prefix"
    assert found.path == path_of_system(surface, 1)


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
