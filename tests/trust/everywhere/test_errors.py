"""Every error of the catalogue, provoked with hostile words, says fixed words alone."""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest
from ctxdiff_capture.errors import NoMemory, StoreError

import ctxdiff_mcp
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools import problems, registry
from ctxdiff_mcp.tools.tool import Tool
from ctxdiff_mcp.worker.answerer import InProcess
from tests.trust.everywhere.places import Canaries
from tests.trust.everywhere.reading import WORDS, faults
from tests.trust.everywhere.story import folder, turns, write
from tests.trust.frames.reading import taken_apart
from tests.trust.goals import GOALS

HOSTILE = "CNRY\x1b[31m\u202e\u27e6end x 1\u27e7<|im_start|>' OR 1=1 -- /etc/passwd"
EXPLAIN, DIFF, BLOCK = "ctxdiff_explain", "ctxdiff_diff", "ctxdiff_block"

QUESTIONS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "unknown_run": (EXPLAIN, {"run": HOSTILE}),
    "ambiguous_run": (EXPLAIN, {"run": "odd"}),
    "unknown_turn": (EXPLAIN, {"run": "r1", "turn": 99}),
    "turn_of_another_agent": (EXPLAIN, {"run": "r1", "turn": 3, "agent": "a1"}),
    "unknown_agent": (EXPLAIN, {"run": "r1", "agent": HOSTILE}),
    "ambiguous_agent": (EXPLAIN, {"run": "r1", "agent": "CNRY"}),
    "unknown_block": (BLOCK, {"run": "r1", "content_hash": "abcdef99"}),
    "ambiguous_block": (BLOCK, {"run": "twins", "content_hash": "abcdef"}),
    "hash_too_short": (BLOCK, {"run": "r1", "content_hash": "\u202e"}),
    "unknown_position": (BLOCK, {"run": "r1", "turn": 1, "position": 99}),
    "unknown_stage": (DIFF, {"run": "r1", "turn_a": 4, "turn_b": 4, "stage": HOSTILE[:90]}),
    "stages_of_two_turns": (DIFF, {"run": "r1", "turn_a": 1, "turn_b": 4, "stage": "all"}),
    "empty_run": (EXPLAIN, {"run": "empty"}),
    "nothing_to_compare": (DIFF, {"run": "r1", "run_b": "r1"}),
    "bad_arguments": (EXPLAIN, {"turn": HOSTILE, HOSTILE: HOSTILE, "response_format": HOSTILE}),
}
"""What provokes a code, asked of a folder full of canaries."""

RAISED: Mapping[str, Exception] = {
    "internal error": RuntimeError(HOSTILE),
    "needs_too_much": MemoryError(HOSTILE),
}
"""Errors that a tool raises."""

ELSEWHERE: Mapping[str, str] = {
    "no_runs": "a folder of its own, below",
    "not_in_redact_mode": "another mode, below",
    "still_reading": "a list without time to read: tests/mcp/tools/test_problems.py",
    "too_large": "made at the wire: test_wire",
    "too_slow": "made by the server for its worker: tests/mcp/worker",
    "reader_stopped": "likewise",
}


def code_of(text: str) -> str:
    """The code that an error begins with."""
    found = re.match(r"error (internal error|[a-z_]+)(?: [0-9a-f]{6})?[:;]", text)
    assert found, text[:80]
    return found[1]


def twins(path: Path) -> None:
    """A run with two blocks whose hashes begin alike."""
    write(path, turns(str), str, "0c" * 16, day=20)
    with closing(sqlite3.connect(path)) as connection:
        hashes = connection.execute("select content_hash from block").fetchmany(2)
        for number, (old,) in enumerate(hashes):
            new = f"abcdef{number}{old[7:]}"
            for table, name in (
                ("block", "content_hash"),
                ("call_block", "block_id"),
                ("ctx_output", "block_id"),
            ):
                connection.execute(f"update {table} set {name} = ? where {name} = ?", (new, old))
        connection.commit()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs full of canaries, one with twins among its blocks, one without turns."""
    root = folder(tmp_path_factory.mktemp("errors") / "runs", Canaries("hostile"))
    twins(root / "twins.ctrace")
    write(root / "empty.ctrace", [], str, "0d" * 16, day=20)
    return root


def asked(root: Path, policy: Policy | None = None) -> Callable[..., str]:
    """Asks a question and gives the answer, which must be an error."""

    def ask(tool: str, arguments: Mapping[str, Any]) -> str:
        answerer = InProcess(Source(root), policy or Policy())
        text, is_error = answerer.answer(tool, arguments)
        answerer.close()
        assert is_error
        return text

    return ask


def test_every_code_of_the_catalogue_is_provoked() -> None:
    stores = {code for _, code, _ in problems._STORE}
    tried = {*QUESTIONS, *RAISED, *ELSEWHERE, *stores}
    assert tried == problems.CODES


@pytest.mark.parametrize("code", QUESTIONS)
def test_a_question_that_does_not_fit_is_told_so_in_fixed_words(runs: Path, code: str) -> None:
    text = asked(runs)(*QUESTIONS[code])
    assert code_of(text) == code
    assert faults(text, names=["odd#CNRY0001", "odd#CNRY"], most=2_500) == []
    assert "passwd" not in text
    hidden = asked(runs, Policy("all"))(*QUESTIONS[code])
    assert "CNRY" not in hidden
    assert WORDS.fullmatch(hidden)
    GOALS.echo.add(2)


def test_a_folder_without_runs_and_a_mode_without_search_say_so(runs: Path, tmp_path: Path) -> None:
    (tmp_path / HOSTILE.replace("/", "")).mkdir()
    text = asked(tmp_path)(EXPLAIN, {"run": "latest"})
    assert code_of(text) == "no_runs"
    assert faults(text) == []
    for mode in ("text", "all"):
        text = asked(runs, Policy(mode))("ctxdiff_search", {"run": "latest", "query": HOSTILE})  # type: ignore[arg-type]
        assert code_of(text) == "not_in_redact_mode"
        assert faults(text) == []


@pytest.mark.parametrize("code", RAISED)
def test_what_a_tool_raises_is_told_without_its_words(
    runs: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    def answer(*_: Any) -> NoReturn:
        raise RAISED[code]

    broken = Tool(EXPLAIN, "", "", registry.BY_NAME[EXPLAIN].arguments, answer)
    monkeypatch.setattr(registry, "BY_NAME", {**registry.BY_NAME, EXPLAIN: broken})
    text = asked(runs)(EXPLAIN, {"run": "latest"})
    assert code_of(text) == code
    assert faults(text) == []


def kinds(root: type[StoreError]) -> Iterator[type[StoreError]]:
    """An error and all that are made from it."""
    yield root
    for below in root.__subclasses__():
        yield from kinds(below)


@pytest.mark.parametrize("kind", list(kinds(StoreError)), ids=lambda kind: kind.__name__)
def test_a_file_that_cannot_be_read_is_told_without_its_name_or_the_reason_it_gave(
    runs: Path, monkeypatch: pytest.MonkeyPatch, kind: type[StoreError]
) -> None:
    def fail(*_: Any, **__: Any) -> NoReturn:
        raise kind(HOSTILE, remedy=HOSTILE)

    monkeypatch.setattr(Source, "open", fail)
    text = asked(runs)(EXPLAIN, {"run": "latest"})
    # For want of memory other runs are closed and the question asked again; then it is the answer's.
    of_a_file = code_of(problems.store_problem(kind("", remedy="")))
    assert code_of(text) == ("needs_too_much" if kind is NoMemory else of_a_file)
    assert faults(text, most=400) == []
    assert taken_apart(text).frames == ()


def test_every_code_of_a_file_has_an_error_that_gives_it() -> None:
    given = {code_of(problems.store_problem(kind("", remedy=""))) for kind in kinds(StoreError)}
    assert given == {code for _, code, _ in problems._STORE}


@pytest.mark.parametrize("code", sorted(problems._READING))
def test_a_question_that_its_reader_could_not_answer_is_told_in_fixed_words(code: Any) -> None:
    text = problems.reading_problem(code)
    assert code_of(text) == code
    assert faults(text, most=400) == []


def test_errors_are_worded_in_the_catalogue_alone() -> None:
    package = Path(ctxdiff_mcp.__file__).parent
    elsewhere = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path in sorted(package.rglob("*.py"))
        if path != Path(problems.__file__)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.match(r"error\b.*[:;]", node.value)
    ]
    assert elsewhere == []


def test_no_error_is_made_of_an_exceptions_text_where_answers_are_made() -> None:
    """`str(error)` or `{error}` in the rooms that answer would be the first leak."""
    package = Path(ctxdiff_mcp.__file__).parent
    at_start = {"answers/ledger.py": "the user's own price list, read before anyone is answered"}
    found = []
    for room in ("answers", "gate", "tools", "worker"):
        for path in sorted((package / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ExceptHandler) and node.name:
                    found += [
                        path.relative_to(package).as_posix()
                        for use in ast.walk(node)
                        if _is_words_of(use, node.name)
                    ]
    assert found == list(at_start)


def _is_words_of(node: ast.AST, name: str) -> bool:
    """Whether a node spells the error that is called `name`."""
    if isinstance(node, ast.FormattedValue):
        value: ast.AST = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        if node.func.id not in ("str", "repr", "format"):
            return False
        value = node.args[0]
    else:
        return False
    return isinstance(value, ast.Name) and value.id == name
