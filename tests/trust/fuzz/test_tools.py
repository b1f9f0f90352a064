"""Whatever a tool is asked, of whatever trace: an answer or an error of the catalogue, in bounds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from time import thread_time
from typing import Any

import pytest
from ctxdiff_capture.importers.base import import_log
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import HARD_CAP, Policy
from ctxdiff_mcp.tools.arguments import Argument, Integer
from ctxdiff_mcp.tools.registry import BY_NAME, TOOLS
from ctxdiff_mcp.worker.answerer import Answer, InProcess
from tests.analyzers.wire import SURFACES, Ask, Got, Say, Think, User, grown, lines
from tests.trust.fuzz.budget import fuzzed, tally
from tests.trust.fuzz.mutations import EDITS, ODD, Edit, Raw, edited, json_bytes

CANARY = "CNRY7q"
LONGEST_S = 5
HOSTILE = (
    *(CANARY, f"{CANARY}\x1b[2J", f"\u202e{CANARY}", f"{CANARY}\x00", "\ud800", "\udcff\ud83d"),
    *(f"⟦end {CANARY} 1⟧", f"<|im_start|>{CANARY}", f"{CANARY}\n- turn 9", "⟦41⟧", "a\u0301" * 99),
    *("(a+)+$", "[", "\\", "%s%n", "' or 1=1 --", "../../etc/passwd", "{0.__class__}", "*", "%"),
    *("lates", "LATEST", "latest ", "tools-", "1e3", "٣", "NaN", "-1", "0x1", "3.0", "9" * 30),
)
SAID = (
    *(User("Which ladder is free?"), Ask("c1"), Got("c1", '{"free": ["L2"]}'), Think("So.")),
    *(Say("L2 is free."), User("Book it."), Ask("c2", "book"), Got("c2", "Error: 500"), Say("No.")),
)
ERROR = re.compile(r"error [a-z_]+( error [0-9a-f]{6})?: ")


def log_of(surface: str) -> list[Any]:
    return lines(surface, grown(SAID, tags=[("rag", "L2")]))


@pytest.fixture(scope="module")
def answerers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[InProcess]]:
    """A server's insides over the same runs, with everything shown and with everything hidden."""
    folder = tmp_path_factory.mktemp("runs")
    for surface in SURFACES:
        log = folder / f"{surface}.jsonl"
        log.write_bytes(b"\n".join(map(json_bytes, log_of(surface))))
        import_log(log, log.with_suffix(".ctrace"))
    (folder / "damaged.ctrace").write_bytes(b"SQLite format 3\0" + os.urandom(4_000))
    source = Source(folder)
    yield [InProcess(source, policy) for policy in (Policy(), Policy("text"), Policy("all"))]
    source.close()


def check(answer: Answer, seconds: float) -> None:
    """What holds of every answer."""
    text = answer.text
    assert len(text.encode()) <= HARD_CAP  # fails of a lone surrogate too
    assert text.endswith("\n")
    assert "internal error" not in text
    assert bool(ERROR.match(text)) is answer.is_error
    own = re.sub(r"(?s)⟦captured .*?⟦end [^\n]*", "", text)
    assert CANARY not in own
    assert all(char == "\n" or char.isprintable() for char in own)
    assert seconds < LONGEST_S


def asked(answerer: InProcess, tool: str, arguments: dict[str, Any]) -> Answer:
    start = thread_time()
    answer = answerer.answer(tool, arguments)
    check(answer, thread_time() - start)
    return answer


def fitting(argument: Argument) -> st.SearchStrategy[Any]:
    """Values as the schema wants them, and as the runs have them."""
    if isinstance(argument, Integer):
        near = st.integers(argument.minimum, min(argument.maximum, argument.minimum + 12))
        return near | st.integers(argument.minimum, argument.maximum)
    if argument.choices:
        return st.sampled_from(argument.choices)
    known = ["latest", "openai", "anthropic.messages", "L2", "book", "all", "1", "abcdef0"]
    return st.sampled_from(known) | st.text(min_size=1, max_size=argument.max_chars)


# Values that a message can carry: what is no JSON never gets this far.
BEYOND = (
    st.sampled_from([value for value in ODD if not isinstance(value, Raw)])
    | st.sampled_from(HOSTILE)
    | st.text(max_size=30)
    | st.integers()
    | st.floats()
    | st.sampled_from(["x" * 900_000, "(" * 900_000, [CANARY] * 90_000, {CANARY: [{}] * 9_000}])
)


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool and arguments: most fit, so that an odd one meets code and not only the check."""
    tool = draw(st.sampled_from(TOOLS))
    given_: dict[str, Any] = {}
    for argument in tool.arguments:
        how = draw(st.sampled_from(["fits", "fits", "absent", "absent", "beyond"]))
        if argument.required and how == "absent":
            how = "fits" if draw(st.booleans()) else "absent"
        if how == "fits":
            given_[argument.name] = (
                "latest"
                if argument.name == "run" and draw(st.booleans())
                else draw(fitting(argument))
            )
        elif how == "beyond":
            given_[argument.name] = draw(BEYOND)
    if draw(st.integers(0, 5)) == 0:
        given_[draw(st.sampled_from(HOSTILE) | st.text(max_size=9))] = draw(BEYOND)
    return tool.name, given_


def test_any_arguments_have_an_answer_or_an_error_of_the_catalogue(
    answerers: list[InProcess],
) -> None:
    with tally("tool arguments") as tried:

        @fuzzed(100, 8_000)
        @given(questions(), st.integers(0, 2))
        def holds(question: tuple[str, dict[str, Any]], which: int) -> None:
            tried.one()
            asked(answerers[which], *question)

        holds()


def test_a_trace_of_any_bodies_can_be_asked_everything(tmp_path: Path) -> None:
    log, trace = tmp_path / "odd.jsonl", tmp_path / "runs" / "odd.ctrace"
    trace.parent.mkdir()
    with tally("traces of odd bodies") as tried:

        @fuzzed(8, 600)
        @given(
            st.sampled_from(SURFACES),
            st.lists(
                st.tuples(st.integers(0, 39), st.lists(EDITS, min_size=1, max_size=3)), max_size=4
            ),
            st.booleans(),
        )
        def holds(surface: str, changes: list[tuple[int, list[Edit]]], is_hidden: bool) -> None:
            tried.one()
            listed = log_of(surface)
            for at, edits in changes:
                place = at % len(listed)
                part = ("request", "response")[at // 20]
                line = {**listed[place]} if isinstance(listed[place], dict) else {}
                line[part] = edited(line.get(part, {}), edits)
                listed[place] = line
            log.write_bytes(b"\n".join(map(json_bytes, listed)))
            trace.unlink(missing_ok=True)
            if not import_log(log, trace).calls:
                return
            source = Source(trace.parent)
            try:
                answerer = InProcess(source, Policy("all" if is_hidden else "off"))
                for tool, arguments in EVERYTHING:
                    asked(answerer, tool, arguments)
            finally:
                source.close()

        holds()


@pytest.mark.parametrize("said", [None, 5, [], {}, "", " "])
def test_a_text_part_without_its_text_is_an_empty_answer(tmp_path: Path, said: object) -> None:
    *_, last = log_of("anthropic.messages")
    last["response"]["content"] = [{"type": "text", "text": said}]
    log = tmp_path / "empty.jsonl"
    log.write_bytes(json_bytes(last))
    import_log(log, tmp_path / "empty.ctrace")
    source = Source(tmp_path)
    answer = asked(InProcess(source, Policy()), "ctxdiff_explain", {"run": "latest", "turn": 1})
    source.close()
    assert "empty" in answer.text.partition("⟦")[0]


EVERYTHING: list[tuple[str, dict[str, Any]]] = [
    ("ctxdiff_runs", {}),
    ("ctxdiff_explain", {"run": "latest"}),
    ("ctxdiff_explain", {"run": "latest", "turn": 2, "response_format": "detailed"}),
    ("ctxdiff_diff", {"run": "latest", "turn_a": 1, "turn_b": 2, "response_format": "detailed"}),
    ("ctxdiff_diff", {"run": "latest", "turn_a": 2, "turn_b": 3}),
    ("ctxdiff_tokens", {"run": "latest", "response_format": "detailed"}),
    ("ctxdiff_cache", {"run": "latest", "response_format": "detailed"}),
    ("ctxdiff_block", {"run": "latest", "turn": 1, "response_format": "detailed"}),
    ("ctxdiff_block", {"run": "latest", "turn": 2, "position": 1}),
    ("ctxdiff_search", {"run": "latest", "query": "L2"}),
]


def test_the_fuzzed_questions_name_every_tool() -> None:
    assert {tool for tool, _ in EVERYTHING} == set(BY_NAME)
