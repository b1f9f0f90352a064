"""A conversation without a fault has none of these findings; one that gets a fault has that one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.findings import Finding
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analyzers import wire
from tests.analyzers.wire import Ask, Call, Got, Said, Say, User

OURS = frozenset(
    (
        *("context_compacted", "context_edited", "context_evicted", "duplicate_context"),
        *("orphan_tool_call", "orphan_tool_result", "stale_context", "tool_result_truncated"),
    )
)
PLACES = ("Holm", "Vik", "Sund", "Berg", "Lund", "Skog", "Elv", "Nes")
THINGS = ("pump", "ladder", "boat", "kiln", "loom", "press", "crane", "mill")
SHORT = ("ok", "yes", "go on", "thanks", "no", "hm")


@dataclass(frozen=True)
class Talk:
    """One agent's conversation, to be grown call by call."""

    agent: str | None
    said: tuple[Said, ...]

    @property
    def calls(self) -> list[Call]:
        return wire.grown(self.said, agent=self.agent, tools=("lookup", "count"))


@st.composite
def talks(draw: st.DrawFn, agent: str | None, number: int) -> Talk:
    """Questions, answers, calls with long and short results; nothing is said twice by fault."""
    said: list[Said] = []
    for turn in range(draw(st.integers(1, 3))):
        place, thing = draw(st.sampled_from(PLACES)), draw(st.sampled_from(THINGS))
        about = f"{number}-{turn}"
        if turn and draw(st.booleans()):
            said.append(User(draw(st.sampled_from(SHORT))))
        else:
            said.append(
                User(f"What about the {thing} {about} at {place}, is it free on day {turn + 3}?")
            )
        for step in range(draw(st.integers(0, 2))):
            made = f"c{number}_{turn}_{step}"
            name = draw(st.sampled_from(["lookup", "count"]))
            said += [
                Ask(made, name, (("q", f"{thing} {about} {step}"),)),
                _result(draw, made, name, made),
            ]
        said.append(
            Say(
                f"The {thing} {about} at {place} is free; {draw(st.integers(2, 900))} people asked."
            )
        )
    said.append(User(f"Then book it for group {number}."))
    return Talk(agent, tuple(said))


def _result(draw: st.DrawFn, made: str, name: str, about: str) -> Got:
    kind = draw(st.sampled_from(["ok", "json", "prose", "lines", "code", "number"]))
    size = draw(st.integers(1, 12))
    text = {
        "ok": "ok: 1 entry written",
        "json": json.dumps([{"id": f"{about}-{n}", "free": n % 2 == 0, "seats": n * 7} for n in range(size)]),
        "prose": " ".join(f"Entry {n} of {about} was seen on day {n + 2} by crew {size}." for n in range(size)),
        "lines": "\n".join(f"{about}/{n:02d} shelf {n * 13 % 17} box {size}" for n in range(size)),
        "code": f"def entry_{size}(value):\n    return value + {size}\n# {about}\n",
        "number": str(size * 1_000_003),
    }[kind]  # fmt: skip
    return Got(made, text, name)


conversations = st.integers(1, 2).flatmap(
    lambda count: st.tuples(*(talks(f"agent-{n}", n) for n in range(count)))
)


def interleaved(talks: Sequence[Talk], order: Sequence[int]) -> list[Call]:
    """The calls of all agents, each agent's own in order."""
    waiting = [list(talk.calls) for talk in talks]
    calls: list[Call] = []
    for pick in (*order, *range(len(waiting) * 20)):
        queue = waiting[pick % len(waiting)]
        if queue:
            calls.append(queue.pop(0))
    return calls


def ours(log: Sequence[Any]) -> list[Finding]:
    """Our findings at every turn of the log."""
    with tempfile.TemporaryDirectory() as folder:
        timeline = wire.recorded(log, Path(folder))
        return [
            one
            for turn in timeline.turns
            for one in explain(timeline, turn.seq).findings
            if one.code in OURS
        ]


def with_moved_marker(log: list[Any]) -> list[Any]:
    """The cache marker on the last message, as clients move it on."""
    for line in log:
        request = line["request"]
        if line["provider"] in ("anthropic.messages", "bedrock.invoke_model"):
            request["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        elif line["provider"] == "bedrock.converse":
            request["messages"][-1]["content"].append({"cachePoint": {"type": "default"}})
    return log


def with_other_form(log: list[Any]) -> list[Any]:
    """Every second call with lone texts as strings, as some programs send what they received."""
    for line in log[1::2]:
        if line["provider"] not in ("anthropic.messages", "bedrock.invoke_model"):
            continue
        for message in line["request"]["messages"]:
            content = message["content"]
            if len(content) == 1 and content[0].get("type") == "text" and len(content[0]) == 2:
                message["content"] = content[0]["text"]
    return log


FORMS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "plain": lambda log: log,
    "moved marker": with_moved_marker,
    "other form": with_other_form,
}
surfaces = st.sampled_from(wire.SURFACES)
orders = st.lists(st.integers(0, 20), max_size=12)
few = settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("form", FORMS)
@few
@given(surfaces, conversations, orders, st.sampled_from(["agent", "Ærlig", "\u202e<b>", "1"]))
def test_a_healthy_conversation_has_none_of_these_findings(
    form: str, surface: str, talks: tuple[Talk, ...], order: list[int], name: str
) -> None:
    named = [replace(talk, agent=f"{name} {n}") for n, talk in enumerate(talks)]
    log = FORMS[form](wire.lines(surface, interleaved(named, order)))
    assert [(one.code, one.cause, one.turn) for one in ours(log)] == []


Fault = Callable[[list[Said]], list[Said]]


def _without(said: list[Said], kind: type) -> list[Said]:
    at = next(i for i, one in enumerate(said) if isinstance(one, kind))
    return said[:at] + said[at + 1 :]


def _cut(said: list[Said]) -> list[Said]:
    at = max(
        (i for i, one in enumerate(said) if isinstance(one, Got)),
        key=lambda i: len(said[i].text),  # type: ignore[union-attr]
    )
    whole = said[at]
    assert isinstance(whole, Got)
    said[at] = replace(whole, text=whole.text[: len(whole.text) // 3] + " ~~")
    return said


def _compacted(said: list[Said]) -> list[Said]:
    end = max(i for i, one in enumerate(said[:-1]) if isinstance(one, User))
    texts = [one.text for one in said[:end] if isinstance(one, User | Say) and len(one.text) > 20]
    return [
        User("What was said until now: " + " / ".join(text[:60] for text in texts)),
        *said[end:],
    ]


def _edited(said: list[Said]) -> list[Said]:
    assert isinstance(said[0], User)
    said[0] = User(said[0].text.replace("is it free on", "was it let on"))
    return said


FAULTS: dict[str, tuple[Fault, frozenset[str]]] = {
    "a result is gone": (lambda said: _without(said, Got), frozenset({"orphan_tool_call"})),
    "a call is gone": (lambda said: _without(said, Ask), frozenset({"orphan_tool_result"})),
    "a result is cut": (_cut, frozenset({"tool_result_truncated"})),
    "the history is compacted": (_compacted, frozenset({"context_compacted"})),
    "the first message is edited": (_edited, frozenset({"context_edited"})),
    "the last message comes twice": (lambda said: [*said, said[-1]], frozenset({"duplicate_context"})),
    "the start is dropped": (lambda said: said[1:], frozenset({"context_evicted"})),
}  # fmt: skip


@st.composite
def faulty(draw: st.DrawFn) -> tuple[Talk, Talk]:
    """A conversation with a call and a long result early on, and one beside it."""
    talk = draw(talks("one", 1))
    long = "\n".join(
        f"day {n}: {n * 37 % 101} crates, crew {n % 5}, {n * 11} kilos" for n in range(14)
    )
    opening = (
        User("Show the crates of the last fortnight, and is it free on day 9?"),
        Ask("c_first", "count", (("q", "crates"),)),
        Got("c_first", long, "count"),
        Say("There are fourteen days with crates, most of them on day 11."),
    )
    return Talk("one", (*opening, *talk.said)), draw(talks("two", 2))


@pytest.mark.parametrize("kind", FAULTS)
@few
@given(surfaces, faulty(), orders)
def test_an_injected_fault_is_found_at_its_turn_whatever_surrounds_it(
    kind: str, surface: str, pair: tuple[Talk, Talk], order: list[int]
) -> None:
    fault, codes = FAULTS[kind]
    calls = interleaved(pair, order)
    at = max(i for i, call in enumerate(calls) if call.agent == "one")
    calls[at] = replace(calls[at], said=tuple(fault(list(calls[at].said))))
    found = ours(wire.lines(surface, calls))
    assert {one.turn for one in found} == {at + 1}
    assert codes <= {one.code for one in found}
    assert all(one.agent == "one" for one in found)
