"""Every vector in every place of a trace and every argument, through every tool over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxdiff_mcp.tools.arguments import Text
from ctxdiff_mcp.tools.registry import TOOLS
from tests.trust.frames import planted
from tests.trust.frames.asking import Here, Judge, Server
from tests.trust.frames.properties import PROPERTIES, Answer
from tests.trust.frames.vectors import Vector, vectors
from tests.trust.goals import attempts

EVERY = attempts(24, 1)
"""Which vectors go through all questions, over the wire; the others through those of their place."""
BATCH = 28
"""Vectors that share a folder and a server."""
PLAIN = "c0ffee" + "0" * 26
"""The session of a run that says nothing that a caller might say."""


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The word of the frames of an answer that was given before."""
    runs = tmp_path_factory.mktemp("earlier")
    planted.of_one_text(runs / "demo.ctrace", "two words", "5e55" + "0" * 28)
    with Here(runs) as tools:
        return tools.ask("ctxdiff_explain", {"run": "latest"}).parts.frames[0].nonce


def planted_in(folder: Path, number: int, vector: Vector) -> None:
    """Two runs of a vector in a folder, the first named by it where the system takes the name."""
    name = f"{number} {vector.text}".replace("/", "|").replace("\0", "|")[:40]
    try:
        path = folder / name / f"{name}.ctrace"
        path.parent.mkdir(parents=True)
        planted.of_one_text(path, vector.text, session(number, "a"))
    except (OSError, ValueError):
        folder.mkdir(parents=True, exist_ok=True)
        planted.of_one_text(folder / f"{number}.ctrace", vector.text, session(number, "a"))
    second = folder / f"{number}b.ctrace"
    planted.of_one_text(second, f"{vector.text} or so", session(number, "b"))


def session(number: int, side: str) -> str:
    """An id that no other begins like."""
    return f"{side}{number:05d}" + "0" * 26


def asked(number: int, vector: Vector, *, whole: bool) -> Iterator[planted.Question]:
    """What is asked about a vector's runs."""
    run, other = f"#{session(number, 'a')[:12]}", f"#{session(number, 'b')[:12]}"
    everything = list(planted.questions(run, other))
    yield from everything if whole else everything[number % 16 :: 16]
    if vector.sink.startswith("arg."):
        yield from list(_wrong(vector, f"#{PLAIN[:12]}"))[number % 4 :: attempts(4, 1)]


def _wrong(vector: Vector, run: str) -> Iterator[planted.Question]:
    """Calls of all tools with the vector as an argument."""
    for tool in TOOLS:
        for argument in tool.arguments:
            if isinstance(argument, Text) or argument.name == vector.sink[4:]:
                base = {"run": run} if tool.name != "ctxdiff_runs" else {}
                yield tool.name, {**base, "turn": 1, argument.name: vector.text}
                yield tool.name, {**base, argument.name: vector.text}


def page(tools: Here | Server, number: int, vector: Vector) -> Answer:
    """The block that is the vector's text."""
    run = f"#{session(number, 'a')[:12]}"
    arguments = {"run": run, "turn": 1, "position": 1, "max_chars": 16_000}
    return tools.ask("ctxdiff_block", arguments, source=vector.text)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_every_vector_stays_in_its_frames_wherever_it_stands(tmp_path: Path, earlier: str) -> None:
    found = list(enumerate(vectors(earlier)))
    judge = Judge()
    judge.words.add(earlier)
    tried = 0
    for first in range(0, len(found), BATCH):
        folder = tmp_path / str(first)
        for number, vector in found[first : first + BATCH]:
            planted_in(folder, number, vector)
        with Server(folder) as server, Here(folder) as here:
            for number, vector in found[first : first + BATCH]:
                whole = number % EVERY == 0
                is_argument = vector.sink.startswith("arg.")
                tools: Here | Server = server if whole or is_argument else here
                own = {"VERBATIM"} & vector.properties if vector.sink == "block.text" else set()
                judge.hear(page(tools, number, vector), vector.id, *own)
                for tool, arguments in asked(number, vector, whole=whole):
                    answer = tools.ask(tool, arguments, wrote=echoes(arguments))
                    judge.hear(answer, (vector.id, tool, arguments))
                    tried += 1
                judge.hear(server.ask("ctxdiff_runs", {"limit": 1}), (vector.id, "next call"))
    judge.count(tried, "questions about vectors")


def echoes(arguments: dict[str, object]) -> tuple[str, ...]:
    """Texts of a call that are words of no server."""
    return tuple(
        text
        for text in arguments.values()
        if isinstance(text, str) and not text.isidentifier() and not text.startswith("#")
    )


def test_every_property_of_a_vector_is_known() -> None:
    asked = {name for vector in vectors("2" * 10) for name in vector.properties}
    assert asked <= {*PROPERTIES, "TIME"}
