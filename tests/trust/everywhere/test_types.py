"""A field that carries a trace's words is captured, and captured text is spelled by the gate alone."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import ctxdiff_mcp
from ctxdiff_mcp import answers
from ctxdiff_mcp.gate.captured import Captured
from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.gate.policy import Policy

ROOT = Path(__file__).resolve().parents[3]

OURS = "is worded by us"
CLOSED = "is a word of a closed set, or another stands for it"
PLACE = "is a place in words of the protocol, see answers.places"
HANDLE = "is a letter and a number"
TIME = "is a time that was read and is spelled anew"
USERS = "is the user's own: a price list, a query"
BEFORE = "is of a value that answers are made from, which no tool or renderer gets"
EXPLAINED: dict[str, str] = {
    "gate.captured.Name.handle": HANDLE,
    "answers.refs.BlockRef.content_hash": "is 64 hex digits, or nothing",
    "answers.refs.BlockRef.role": CLOSED,
    "answers.refs.BlockRef.kind": CLOSED,
    "answers.stages.StageChange.role": CLOSED,
    "answers.stages.StageRow.kind": CLOSED,
    "answers.source.Unreadable.reason": CLOSED,
    "answers.source._Known.sessions": CLOSED,
    "answers.turns.Outcome.started_at": TIME,
    "answers.runs.RunRow.started_at": TIME,
    "answers.legend.LegendRun.started_at": TIME,
    "answers.source.Listed.started": TIME,
    "answers.findings.FindingRow.cause": CLOSED,
    "answers.findings.FindingRow.counts": OURS,
    "answers.findings.FindingRow.why": OURS,
    "answers.findings.FindingRow.path": PLACE,
    "answers.findings.FindingRow.reusable": PLACE,
    "findings.NextCall.tool": CLOSED,
    "findings.NextCall.arguments": "is the start of a content hash",
    "answers.cache_verdict.VerdictRow.provider": CLOSED,
    "answers.cache_verdict.VerdictRow.cause": CLOSED,
    "answers.cache_verdict.VerdictRow.section": PLACE,
    "answers.cache_verdict.VerdictRow.path": PLACE,
    "answers.cache_verdict.VerdictRow.reusable": PLACE,
    "answers.cache_verdict.VerdictRow.why": OURS,
    "answers.cache_verdict.VerdictRow.source": OURS,
    "answers.cache_verdict.VerdictRow.remedy": OURS,
    "answers.cache_verdict.VerdictRow.vendor_reason": CLOSED,
    "answers.cache_verdict.VerdictRow.counts": OURS,
    "answers.cache_verdict.TurnCache.cause": CLOSED,
    "answers.cache_verdict.RunCache.providers": CLOSED,
    "answers.cache_verdict.RunCache.rules_read": OURS,
    "answers.cache_sessions.SessionBreak.section": PLACE,
    "answers.cache_sessions.SessionBreak.cause": CLOSED,
    "answers.cache_sessions.SessionBreak.path": PLACE,
    "answers.cache_sessions.SessionBreak.reusable": PLACE,
    "reconcile.Reconciliation.held": CLOSED,
    "answers.ledger.Money.currency": USERS,
    "answers.search.Search._query": USERS,
    "answers.folder.TraceFile.label": BEFORE,
    "answers.folder.Found.refused": BEFORE,
    "answers.folder._Entry.found": BEFORE,
    "answers.folder._Entry.label": BEFORE,
    "answers.diff._Near.new": BEFORE,
    "answers.diff._Near.old": BEFORE,
    "answers.source.Listed.handle": BEFORE,
    "answers.source.Listed.label": BEFORE,
    "model.Session.id": BEFORE,
    "model.Session.project": BEFORE,
    "model.Session.started_at": BEFORE,
    "model.Session.provider": BEFORE,
    "model.Session.models": BEFORE,
    "model.Session.writer": BEFORE,
    "model.Session.agents": BEFORE,
}
"""Fields of answers that are plain text, and why none of it is a stranger's. Any other is refused:
it is captured, or a `Literal`, or stands here with a reason."""


def leaves(kind: Any) -> Iterator[Any]:
    """The types that an annotation is made of; a function's is what it gives."""
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return
    if not parts:
        yield kind
    for part in parts[-1:] if "Callable" in str(get_origin(kind)) else parts:
        yield from leaves(part)


def plain_fields(kind: type, seen: set[type]) -> Iterator[str]:
    """Every field of a dataclass, and of those in its fields, that may hold any text."""
    if kind in seen:
        return
    seen.add(kind)
    hints = get_type_hints(kind)
    short = ".".join(kind.__module__.split(".")[1:])
    for field in fields(kind):
        for leaf in leaves(hints[field.name]):
            if leaf in (str, bytes, object, typing.Any):
                yield f"{short}.{kind.__qualname__}.{field.name}"
            elif isinstance(leaf, type) and is_dataclass(leaf):
                yield from plain_fields(leaf, seen)


def answer_types() -> list[type]:
    """Every dataclass of the room `answers`."""
    modules = [
        import_module(f"{answers.__name__}.{one.name}") for one in iter_modules(answers.__path__)
    ]
    return [
        kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and is_dataclass(kind) and kind.__module__ == module.__name__
    ]


def test_no_field_of_an_answer_is_plain_text_without_a_reason() -> None:
    seen: set[type] = set()
    found = {field for kind in answer_types() for field in plain_fields(kind, seen)}
    assert found - EXPLAINED.keys() == set(), "make it Captured, a Name or a Literal"
    assert EXPLAINED.keys() - found == set(), "explained and gone"


def test_a_new_field_of_plain_text_is_found() -> None:
    @dataclass(frozen=True)
    class Row:
        turn: int
        texts: tuple[str | None, ...]
        read: Callable[[str], int]
        word: Literal["a", "b"]

    Row.__annotations__.update(turn=int, texts=tuple[str | None, ...], read=Callable[[str], int])
    Row.__annotations__["word"] = Literal["a", "b"]
    assert [field.rpartition(".")[2] for field in plain_fields(Row, set())] == ["texts"]


def test_values_that_answers_are_made_from_reach_no_tool_and_no_renderer() -> None:
    before = {"Listed", "TraceFile", "Found", "Session", "Recording", "CallHead", "Timeline"}
    package = Path(ctxdiff_mcp.__file__).parent
    found = [
        f"{path.relative_to(package)} imports {alias.name}"
        for room in ("tools", "text")
        for path in sorted((package / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in before
    ]
    assert found == []


def test_captured_text_is_read_in_the_gate_and_on_the_terminal_alone() -> None:
    """`raw` and the field behind it are the only ways to the text itself."""
    package = Path(ctxdiff_mcp.__file__).parent
    rooms = set()
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "ctxdiff_mcp.gate.raw":
                rooms.add(path.relative_to(package).parts[0])
            if isinstance(node, ast.Attribute) and node.attr == "_text":
                assert path.parent.name in ("gate", "answers"), path
    assert rooms <= {"gate", "text", "cli"}


LEAKS: dict[str, str] = {
    "f-string": 'print(f"run {text}")',
    "str": "print(str(text))",
    "print": "print(text)",
    "format": 'print("{}".format(text))',
    "built-in format": 'print(format(text, "s"))',
    "JSON": "json.dumps(text)",
    "JSON of a list": "json.dumps(row.texts)",
    "concatenation": 'print("run " + text)',
    "joining": 'print(", ".join([text]))',
    "joining parts": 'print(", ".join(row.texts))',
    "server's words": "env.say(text)",
    "server's words, formatted": 'env.say(f"run {text}")',
    "last words": "env.close(text)",
    "offered words": "env.offer(text)",
    "log": 'log.warning("it said %s", text)',
    "optional": 'env.say(f"{row.perhaps}")',
    "name": 'env.say("run " + row.name.text)',
    "field of plain text": "Made(text)",
    "function of plain text": "takes(text)",
    "iteration": "print([*text])",
    "length": "print(len(text))",
}
HEAD = """
import json, logging
from dataclasses import dataclass
from ctxdiff_mcp.gate.captured import Captured, Name
from ctxdiff_mcp.gate.envelope import Envelope
log = logging.getLogger("x")
@dataclass(frozen=True)
class Row:
    name: Name
    perhaps: Captured | None
    texts: tuple[Captured, ...]
@dataclass(frozen=True)
class Made:
    text: str
def takes(text: str) -> None: ...
def leak(env: Envelope, text: Captured, row: Row) -> None:
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_refuses_every_way_around_the_gate(tmp_path: Path) -> None:
    lines = HEAD.splitlines()
    at = {}
    for name, leak in LEAKS.items():
        lines.append(f"    {leak}")
        at[len(lines)] = name
    allowed = ["    env.word(text)", "    print(repr(row.name.handle), env.name(row.name))"]
    file = tmp_path / "leaks.py"
    file.write_text("\n".join([*lines, *allowed]) + "\n", encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-error-summary"),
            *("--config-file", ROOT / "pyproject.toml", "--cache-dir", tmp_path / "cache"),
            file,
        ],
        capture_output=True,
        check=False,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    told = [line for line in done.stdout.splitlines() if "leaks.py:" in line and ": error:" in line]
    refused = {int(line.split("leaks.py:")[1].split(":")[0]) for line in told}
    assert {name for number, name in at.items() if number not in refused} == set(), done.stdout
    assert refused <= at.keys(), done.stdout


AT_RUN_TIME: dict[str, Callable[[Captured], object]] = {
    "f-string": lambda text: f"{text}",
    "f-string in parts": lambda text: f"{text!s:>10}",
    "str": str,
    "percent": lambda text: "%s" % text,  # noqa: UP031  the old way is closed, too
    "concatenation": lambda text: "a" + text,  # type: ignore[operator]
    "joining": lambda text: ", ".join(iter([text])),  # type: ignore[list-item]
    "JSON": json.dumps,
    "JSON of an object": lambda text: json.dumps({"text": text}),
    "server's words": lambda text: Envelope(Policy()).say(text),  # type: ignore[arg-type]
    "offered words": lambda text: Envelope(Policy()).offer(text),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("way", AT_RUN_TIME)
def test_what_mypy_did_not_see_raises_instead_of_leaking(way: str) -> None:
    with pytest.raises((TypeError, AttributeError)):
        AT_RUN_TIME[way](Captured("CNRY"))


def test_a_field_of_plain_text_that_holds_captured_text_cannot_be_said() -> None:
    @dataclass(frozen=True)
    class Row:
        text: str

    row = Row(Captured("CNRY"))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Envelope(Policy()).say(f"it said {row.text}")
    assert "CNRY" not in repr(row)
