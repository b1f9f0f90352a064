"""What is no fault of a cache, at every provider."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analyzers.cache.wire import (
    MARKED,
    RULES,
    SURFACES,
    Ask,
    Sent,
    grown,
    last_verdict,
    tool,
    verdicts,
)

FULL = 2_048
every_surface = pytest.mark.parametrize("surface", SURFACES)
marked = pytest.mark.parametrize("surface", MARKED)


def sent_well(asks: list[Ask], **more: object) -> list[Sent]:
    """Each reads what the one before left."""
    return [
        Sent(ask, 20 * n, read=FULL + 60 * n if n else 0, written=60 if n else FULL + 60, **more)  # type: ignore[arg-type]
        for n, ask in enumerate(asks)
    ]


@every_surface
@pytest.mark.parametrize("reports", [True, False])
def test_a_conversation_that_grows(tmp_path: Path, surface: str, reports: bool) -> None:
    asks = grown(
        Ask(tools=(tool("soil"),), marks=("system", "last")),
        [("The ferns.", "And then?"), ("The palms.", "And then?"), ("Mosses.", "Thanks.")],
    )
    sent = sent_well(asks)
    if not reports:
        sent = [replace(one, read=None, written=None) for one in sent]
    assert [one.code for one in verdicts(tmp_path, surface, *sent)] == [None] * 4


@marked
def test_a_change_behind_the_last_marker(tmp_path: Path, surface: str) -> None:
    old = Ask(said=(("user", "Hi"), ("user", "[3 beds are dry]")), marks=(0,))
    new = Ask(
        said=(
            ("user", "Hi"),
            ("user", "[5 beds are dry]"),
            ("assistant", "Noted."),
            ("user", "Go on."),
        ),
        marks=(0, "last"),
    )
    found = last_verdict(
        tmp_path,
        surface,
        Sent(old, 0, read=0, written=FULL, rest=14),
        Sent(new, 20, read=FULL, written=40),
    )
    assert (found.code, found.state) == (None, "kept")


@every_surface
@pytest.mark.parametrize("named", [True, False])
def test_conversations_that_take_turns(tmp_path: Path, surface: str, named: bool) -> None:
    talks = [
        grown(Ask(system=f"{who} {RULES}"), [("a", "b"), ("c", "d")]) for who in ("Ann.", "Bob.")
    ]
    asks = [ask for pair in zip(*talks, strict=True) for ask in pair]
    sent = [
        Sent(
            ask,
            10 * n,
            read=FULL if n > 1 else 0,
            written=40 if n > 1 else FULL,
            agent=("ann", "bob")[n % 2] if named else None,
        )
        for n, ask in enumerate(asks)
    ]
    assert [one.code for one in verdicts(tmp_path, surface, *sent)] == [None] * 6


@every_surface
def test_a_new_conversation_with_the_same_system_text(tmp_path: Path, surface: str) -> None:
    first = grown(Ask(marks=("system", "last")), [("a", "b"), ("c", "d")])
    second = Ask(
        said=(("user", "Something else: whose ladder is this?"),), marks=("system", "last")
    )
    sent = [*sent_well(first), Sent(second, 90, read=FULL, written=30)]
    assert [one.code for one in verdicts(tmp_path, surface, *sent)] == [None] * 4


@every_surface
def test_a_call_that_failed_is_passed_over(tmp_path: Path, surface: str) -> None:
    asks = grown(Ask(), [("a", "b"), ("c", "d")])
    failed = Sent(asks[1], 20, error={"type": "Overloaded", "status": 529, "message": "later"})
    sent = [
        Sent(asks[0], 0, read=0, written=FULL),
        failed,
        Sent(asks[1], 30, read=FULL, written=40),
        Sent(asks[2], 40, read=FULL + 40, written=40),
    ]
    found = verdicts(tmp_path, surface, *sent)
    assert [(one.state, one.code) for one in found] == [
        ("nothing", None),
        ("failed", None),
        ("kept", None),
        ("kept", None),
    ]
    assert found[2].against == 1


@pytest.mark.parametrize("surface", ["openai.responses"])
def test_a_context_that_the_provider_holds_is_not_judged(tmp_path: Path, surface: str) -> None:
    first = Ask()
    second = Ask(said=(("user", "And then?"),), params={"previous_response_id": "resp_1"})
    found = last_verdict(
        tmp_path, surface, Sent(first, 0, read=0, written=FULL), Sent(second, 9, read=0)
    )
    assert (found.state, found.code) == ("hidden", None)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    surface=st.sampled_from(SURFACES),
    exchanges=st.lists(
        st.tuples(st.text("abc ü", min_size=1), st.text("xyz ß", min_size=1)), max_size=4
    ),
    marks=st.lists(st.sampled_from([("last",), ("system", "last"), ("system",)]), min_size=5),
    parts=st.lists(st.booleans(), min_size=10),
    agent=st.sampled_from([None, "a", "b\n"]),
)
def test_moved_markers_and_equal_forms_are_no_change(
    tmp_path_factory: pytest.TempPathFactory,
    surface: str,
    exchanges: list[tuple[str, str]],
    marks: list[tuple[str, ...]],
    parts: list[bool],
    agent: str | None,
) -> None:
    """A text alone or as the only part, markers here or there, an agent by any name."""

    def in_form(ask: Ask, flip: int) -> Ask:
        if surface not in ("anthropic.messages", "bedrock.invoke_model"):
            return ask
        said = tuple(
            (role, [{"type": "text", "text": text}] if parts[(k + flip) % 10] else text)
            for k, (role, text) in enumerate(ask.said)
        )
        return replace(ask, said=said)

    asks = [
        replace(in_form(ask, n), marks=marks[n % len(marks)])
        for n, ask in enumerate(grown(Ask(), exchanges))
    ]
    sent = sent_well(asks, agent=agent)
    found = verdicts(tmp_path_factory.mktemp("calm"), surface, *sent)
    assert [one.code for one in found] == [None] * len(asks)


@every_surface
def test_two_unnamed_conversations_with_a_clock_are_each_compared_with_their_own(
    tmp_path: Path, surface: str
) -> None:
    prompts = (f"Plan the beds. {RULES}", "Cook for the guests of the garden, in season. " * 130)
    talks = [
        grown(Ask(said=(("user", f"{who} asks"),)), [(f"for {who}", f"{who} again")])
        for who in ("Ann", "Bob")
    ]
    asks = [
        replace(ask, system=f"It is 10:0{n}. {prompts[n % 2]}")
        for n, ask in enumerate(talk[k] for k in (0, 1) for talk in talks)
    ]
    sent = [Sent(ask, 30 * n, read=0, written=FULL) for n, ask in enumerate(asks)]
    found = verdicts(tmp_path, surface, *sent)
    assert [(one.cause, one.against) for one in found[2:]] == [
        ("volatile_value", 1),
        ("volatile_value", 2),
    ]
    assert [one.code for one in found[:2]] == [None, None]
