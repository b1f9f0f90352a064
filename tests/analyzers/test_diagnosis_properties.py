"""What changes nothing for the model raises no finding; a fault is found whatever surrounds it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_analyzers.explain import explain
from ctxdiff_analyzers.timeline import Timeline
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.analyzers import outcome_faults
from tests.analyzers.faults import FAULTS, clean
from tests.analyzers.scripts import SCRIPTS, Script
from tests.analyzers.wire import SURFACES, recorded

assert outcome_faults.CUT
Json = Any
few = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
surfaces, scripts = st.sampled_from(SURFACES), st.sampled_from(SCRIPTS)
RUN_WIDE = ("dear_tool", "stream_without_usage")
faults = st.sampled_from([name for name in FAULTS if name not in RUN_WIDE])


def told(timeline: Timeline) -> dict[int, list[str]]:
    """Turn to the codes told there; a prompt too short to be cached is nothing here."""
    found = {
        turn.seq: [
            finding.code
            for finding in explain(timeline, turn.seq, window=200_000).findings
            if finding.cause != "below_min_cacheable"
        ]
        for turn in timeline.turns
    }
    return {seq: codes for seq, codes in found.items() if codes}


def interleaved(logs: list[list[Json]], order: list[int]) -> list[Json]:
    """The logs as one, each in its own order; `order` names the log of each next line."""
    waiting = [list(log) for log in logs]
    merged = [waiting[at].pop(0) for at in order if waiting[at]]
    merged += [line for log in waiting for line in log]
    return [
        line | {"started_at": f"2026-11-30T10:{n // 60:02d}:{n % 60:02d}.000Z"}
        for n, line in enumerate(merged)
    ]


def as_agent(log: list[Json], agent: str | None) -> list[Json]:
    return [line | {"agent": agent} for line in log]


@few
@given(
    surfaces,
    st.lists(scripts, min_size=2, max_size=3, unique_by=lambda s: s.name),
    st.lists(st.integers(0, 1), max_size=40),
    st.lists(st.text("abcdefgh _-é", min_size=1, max_size=9), min_size=3, max_size=3, unique=True),
)
def test_agents_in_any_order_and_by_any_name_raise_nothing(
    tmp_path: Path, surface: str, chosen: list[Script], order: list[int], names: list[str]
) -> None:
    logs = [
        as_agent(clean(surface, script), name) for script, name in zip(chosen, names, strict=False)
    ]
    assert told(recorded(interleaved(logs, order), tmp_path)) == {}


@few
@given(surfaces, scripts, st.randoms(use_true_random=False))
def test_equivalent_forms_raise_nothing(
    tmp_path: Path, surface: str, script: Script, chance: Any
) -> None:
    log = copy.deepcopy(clean(surface, script))
    for line in log:
        for message in line["request"].get("messages", ()):
            if message["role"] == "user" and chance.random() < 0.5:
                message["content"] = _other_form(message["content"], surface)
    assert told(recorded(log, tmp_path)) == {}


def _other_form(content: Json, surface: str) -> Json:
    """A text as a list of one part, or back."""
    if surface == "bedrock.converse":
        return content
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if len(content) == 1 and content[0].get("type") == "text":
        return content[0]["text"]
    return content


@few
@given(scripts, st.integers(0, 3))
def test_a_cache_marker_that_moves_with_the_conversation_raises_nothing(
    tmp_path: Path, script: Script, back: int
) -> None:
    log = copy.deepcopy(clean("anthropic.messages", script))
    for line in log:
        parts = [part for message in line["request"]["messages"] for part in message["content"]]
        for part in parts[-1 - back :][:1]:
            part["cache_control"] = {"type": "ephemeral"}
        written = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        line["response"]["usage"] |= written
    assert told(recorded(log, tmp_path)) == {}


@few
@given(surfaces, scripts, st.text("0123456789abcdef", min_size=6, max_size=6))
def test_other_names_of_tools_and_calls_raise_nothing(
    tmp_path: Path, surface: str, script: Script, suffix: str
) -> None:
    text = json.dumps(clean(surface, script))
    for name in (*script.tools, f"{script.name}_"):
        text = text.replace(f'"{name}', f'"{name}{suffix}').replace(
            f"Uses {name}.", f"Uses {name}{suffix}."
        )
    assert told(recorded(json.loads(text), tmp_path)) == {}


@settings(
    max_examples=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    surfaces,
    st.lists(scripts, min_size=2, max_size=2, unique_by=lambda s: s.name),
    faults,
    st.lists(st.integers(0, 1), max_size=30),
)
def test_a_fault_is_found_at_its_turn_whatever_other_agents_do(
    tmp_path: Path, surface: str, chosen: list[Script], name: str, order: list[int]
) -> None:
    faulty = FAULTS[name](surface, chosen[0])
    if faulty is None:
        return
    log = as_agent(faulty.log, "one")
    log[faulty.turn - 1]["step"] = "here"
    merged = interleaved([log, as_agent(clean(surface, chosen[1]), "two")], order)
    turn = next(n for n, line in enumerate(merged, 1) if line.get("step") == "here")
    timeline = recorded(merged, tmp_path)
    findings = explain(timeline, turn, window=200_000).findings
    assert findings
    assert (findings[0].code in faulty.codes, findings[0].turn) == (True, turn), (name, findings)
    others = {seq: codes for seq, codes in told(timeline).items() if _is_two(timeline, seq)}
    assert others == {}


def _is_two(timeline: Timeline, seq: int) -> bool:
    turn = timeline.turn(seq)
    return turn is not None and turn.agent == "two"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.name)
def test_a_run_that_is_asked_twice_or_in_any_order_answers_the_same(
    script: Script, tmp_path: Path
) -> None:
    faulty = FAULTS["compacted"]("openai.chat", script)
    assert faulty is not None
    timeline = recorded(faulty.log, tmp_path)
    forward = [explain(timeline, turn.seq).findings for turn in timeline.turns]
    again = recorded(faulty.log, tmp_path)
    backward = [explain(again, turn.seq).findings for turn in reversed(again.turns)]
    assert forward == backward[::-1]
