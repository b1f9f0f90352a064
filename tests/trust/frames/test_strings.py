"""Generated strings in every place of a trace, through every tool; names that imitate the server."""

from __future__ import annotations

import random
import re
import shutil
from itertools import count
from pathlib import Path

import pytest

from ctxdiff_mcp.gate.policy import Policy
from tests.trust.frames import planted
from tests.trust.frames.asking import Here, Judge, Server
from tests.trust.frames.hostile import FAMILIES, NAMES, hostile
from tests.trust.goals import attempts

STRINGS = attempts(600, 100_000)
PER_SEED = attempts(600, 10_000)
SESSION = "5e55" + "0" * 28


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("seed", range(STRINGS // PER_SEED))
def test_generated_strings_stay_in_their_frames(tmp_path: Path, seed: int) -> None:
    chance = random.Random(f"strings {seed}")
    judge = Judge()
    drawn = 0
    for number in count():
        folder = tmp_path / str(number)
        folder.mkdir()
        drawn += planted.of_many_texts(
            folder / "demo.ctrace",
            chance,
            lambda: hostile(chance, sorted(judge.words)[:50]),
            lambda: chance.choice(NAMES),
            SESSION,
        )
        # Each trace is asked some of the questions, all traces together all of them many times.
        asked = list(planted.questions("latest", turns=planted.TURNS))
        with Here(folder) as tools:
            for tool, arguments in chance.sample(asked, 20):
                judge.hear(tools.ask(tool, arguments), (seed, number, tool, arguments))
        with Here(folder, Policy("all")) as tools:
            for tool, arguments in chance.sample(asked, 2):
                judge.hear(tools.ask(tool, arguments), (seed, number, "redacted", tool, arguments))
        shutil.rmtree(folder)
        if drawn >= PER_SEED:
            break
    judge.count(drawn, "generated strings")


@pytest.mark.slow
def test_generated_strings_stay_in_their_frames_on_the_wire(tmp_path: Path) -> None:
    chance = random.Random("wire")
    judge = Judge()
    drawn = 0
    with Server(tmp_path) as server:
        for number in range(attempts(1, 12)):
            text = lambda: hostile(chance, sorted(judge.words)[:50])  # noqa: E731
            drawn += planted.of_many_texts(
                tmp_path / "demo.ctrace", chance, text, lambda: chance.choice(NAMES), SESSION
            )
            asked = list(planted.questions("latest", turns=planted.TURNS))
            for tool, arguments in asked[:: attempts(4, 1)]:
                judge.hear(server.ask(tool, arguments), (number, tool, arguments))
            (tmp_path / "demo.ctrace").unlink()
    judge.count(drawn, "generated strings on the wire")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_imitates_the_server_never_stands_among_its_words(
    tmp_path: Path, name: str
) -> None:
    call = {
        "inputs": (planted.placed("a text", "user", name), planted.schema(name)),
        "outputs": (planted.tool_use(name, "value"),),
        "agent": name,
        "step": name,
        "provider": name,
        "finish_reason": name,
        "params": {"model": name},
    }
    file = "demo" if "/" in name or not name else name
    planted.write(tmp_path / f"{file}.ctrace", [call, call], SESSION, name, name)
    judge = Judge()
    with Here(tmp_path) as tools:
        for tool, arguments in planted.questions("r1", turns=2):
            judge.hear(tools.ask(tool, arguments), (tool, arguments))
        told = tools.ask("ctxdiff_explain", {"run": "r1", "turn": 2})
    assert judge.broken == {}
    handles = {
        frame.attributes["name"] for frame in told.parts.frames if "name" in frame.attributes
    }
    words = set(re.findall(r"(?:agent|run|step|label) (\S+?)[, ]", told.parts.own))
    # The first agent is called a1 in any case; figures are no names where no handle stands.
    assert words - handles <= {"a1", "r1", "x1", "L1", "12", "1-4", "9c1e44aa", "-", "user", "demo"}
    spelled = {frame.original for frame in told.parts.frames if "name" in frame.attributes}
    assert name in spelled


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_judged_alone(tmp_path: Path, family: str) -> None:
    chance = random.Random(family)
    judge = Judge()
    tried = attempts(10, 300)
    for number in range(tried):
        text = planted.stored(FAMILIES[family](chance))
        file = tmp_path / f"{number}.ctrace"
        call = {"inputs": (planted.placed(text),), "params": {}}
        planted.write(file, [call], SESSION, "shop", "openai")
        more = ("VERBATIM",) if family == "ordinary" else ()
        with Here(file) as tools:
            arguments = {"run": "latest", "turn": 1, "position": 0, "max_chars": 16_000}
            answer = tools.ask("ctxdiff_block", arguments, source=text)
        judge.hear(answer, (family, number), *more)
        file.unlink()
    judge.count(tried, f"{family} alone")
