"""Sessions of one program that could share a cache entry and do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.answers.cache import cache
from ctxdiff_mcp.gate.raw import raw
from tests.analyzers.cache.wire import RULES, SURFACES, Ask, Sent, path_of_system, recorded, tool

every_surface = pytest.mark.parametrize("surface", SURFACES)


def two_sessions(folder: Path, surface: str, first: Ask, second: Ask) -> Any:
    source = recorded(
        folder,
        surface,
        Sent(first, 0, read=0, written=2_048, session="one"),
        Sent(second, 60, read=0, written=2_048, session="two"),
    )
    return [cache(source, run.handle).sessions for run in source.listing().runs]


@every_surface
@pytest.mark.parametrize(
    ("was", "is_now", "cause", "at"),
    [
        (
            "Folder: /srv/garden-1, clean. ",
            "Folder: /srv/orchard, 2 files. ",
            "session_data_in_prefix",
            13,
        ),
        ("User: Ingrid. ", "User: Olav. ", "session_data_in_prefix", 6),
        (
            "Session 0d8f1c22-6a1b-4a7e-9b9e-0c7a5a3f1e11 ",
            "Session 7c2b9d10-13f4-4d55-8a20-5be1f0c9d823 ",
            "session_id_in_prefix",
            8,
        ),
        ("Scratch: /tmp/run-ab12cd34ef56/ ", "Scratch: /tmp/run-99ffee01aa23/ ", None, 18),
        ("Started 2026-05-04 08:00. ", "Started 2026-05-04 09:30. ", "volatile_value", 20),
    ],
)
def test_what_belongs_to_a_session_stands_before_the_shared_text(
    tmp_path: Path, surface: str, was: str, is_now: str, cause: str | None, at: int
) -> None:
    first = Ask(system=was + RULES, tools=(tool("soil"),))
    for found in two_sessions(tmp_path, surface, first, replace(first, system=is_now + RULES)):
        (one,) = found
        assert cause in (one.cause, None)
        assert one.cause in ("session_data_in_prefix", "session_id_in_prefix", "volatile_value")
        assert (one.section, one.path) == ("system", path_of_system(surface))
        assert (one.first_difference, one.gap_s) == (at, 60)
        assert raw(one.excerpts[1]).startswith(is_now[at : at + 6])


@every_surface
def test_tools_in_another_order(tmp_path: Path, surface: str) -> None:
    tools = tuple(tool(name) for name in ("soil", "light", "pests"))
    first = Ask(tools=tools)
    for found in two_sessions(tmp_path, surface, first, replace(first, tools=tools[::-1])):
        assert [(one.section, one.cause) for one in found] == [("tools", "tool_order_changed")]


@every_surface
@pytest.mark.parametrize(
    "second",
    [
        Ask(said=(("user", "Another question altogether?"),)),
        Ask(system="You translate recipes into Norwegian and keep the measures. " * 90),
    ],
    ids=["other question", "other program"],
)
def test_sessions_that_share_all_or_nothing_are_no_finding(
    tmp_path: Path, surface: str, second: Ask
) -> None:
    assert two_sessions(tmp_path, surface, Ask(), second) == [(), ()]
