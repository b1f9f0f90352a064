"""No recorded text of any size makes an answer larger than the cap that the server has."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ctxdiff_mcp.gate.captured import Captured, Name
from ctxdiff_mcp.gate.envelope import Envelope, Piece
from ctxdiff_mcp.gate.policy import MIN_CAP, Policy
from tests.trust.frames import planted
from tests.trust.frames.asking import Judge, Server
from tests.trust.frames.hostile import giant, hostile
from tests.trust.frames.properties import PROPERTIES, Answer
from tests.trust.goals import GOALS, attempts

UNITS = ("\x00", '"', "\U000e0041", "😀", "⟦", "x", "\\", "\n", "\u0301", "<s>")


@pytest.fixture
def heavy(tmp_path: Path) -> Path:
    """A run of each unit, in which every text and name is long."""
    for number, unit in enumerate(UNITS):
        long, name = unit * 6_000, f"{unit * 50}-{number}"
        names = dict.fromkeys(("agent", "step", "provider", "finish_reason"), name)
        shared = [
            planted.placed(f"{n} {long}", "user", f"{name} {n}", tagged=True) for n in range(12)
        ]
        common = {**names, "params": {"model": name, "stop": long[:500]}}
        calls = [
            {"inputs": (*shared, planted.schema(name)), "outputs": (shared[0],), **common},
            {"inputs": (*shared[3:], planted.placed(f"{long}!")), **common, "agent": f"{name}2"},
            {
                "inputs": tuple(shared[6:]),
                "outputs": (planted.tool_use(name, long[:900]),),
                **common,
            },
            {"inputs": (planted.placed(f"{long}?"), *shared[:2]), **common},
        ]
        planted.write(tmp_path / f"{number}.ctrace", calls, f"{number:04d}" * 8, name, name)
    return tmp_path


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("most", range(MIN_CAP, 20_001, attempts(19_000, 1_000)))
def test_no_answer_is_above_the_cap_on_the_wire(heavy: Path, most: int) -> None:
    judge = Judge()
    tried = 0
    flags = ("--max-bytes", str(min(most, 8_000)), "--max-bytes-ever", str(most))
    with Server(heavy, *flags) as server:
        chance = random.Random(f"units {most}")
        for number in chance.sample(range(len(UNITS)), attempts(2, 4)):
            asked = list(planted.questions(f"r{number + 1}", "r1"))
            asked.append(("ctxdiff_block", {"run": f"r{number + 1}", "zzz": 1, "turn": "x" * 900}))
            asked += [
                ("ctxdiff_block", {"run": "r1", "turn": 1, "position": 1, "max_chars": 16_000}),
                ("ctxdiff_diff", {"turn_a": -1, "turn_b": [], "limit": 0, "cursor": -1}),
            ]
            for tool, arguments in asked:
                is_long = "response_format" in arguments or arguments.get("max_chars", 0) > 4_000
                cap = most if is_long else min(most, 8_000)
                judge.hear(server.ask(tool, arguments, cap=cap), (most, tool, arguments))
                tried += 1
    judge.count(tried, "answers at caps from 1,000 to 20,000")


@pytest.mark.timeout(600)
def test_caps_from_1000_to_20000_hold_for_lines_names_texts_and_pages() -> None:
    chance = random.Random("caps")
    pool = [chance.choice((hostile, giant))(chance)[:3_000] for _ in range(40)]
    tried = wrong = 0
    for most in range(MIN_CAP, 20_001, attempts(190, 7)):
        env = Envelope(Policy(default_cap=min(most, 8_000), hard_cap=most), most)
        text = Captured(chance.choice(pool))
        for number in range(chance.randint(0, 6)):
            env.say(f"{env.name(Name(text, f'a{number + 1}'))} {'w' * chance.randint(0, 2_000)}")
        if chance.random() < 0.4:
            env.page(text, 0, 16_000, [("turn", 8)], mark_lines=chance.random() < 0.5)
        for _ in range(chance.randint(0, 20)):
            pieces = [Piece(text, (("turn", 8),), max_chars=chance.randint(1, 2_000))] * 2
            env.offer(f"- {env.word(text)}", *pieces[: chance.randint(0, 2)])
        env.close("c" * chance.randint(0, 400))
        env.close("d" * 80)
        answer = Answer(env.finish(), cap=most)
        tried += 1
        wrong += bool(list(PROPERTIES["CAP"](answer)))
    GOALS.cap.add(tried, wrong, part="answers made at each cap")
    assert wrong == 0
