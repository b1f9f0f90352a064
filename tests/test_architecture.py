"""Who may import whom: one table, no circle."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "ctxdiff_capture": ROOT / "capture",
    "ctxdiff_analyzers": ROOT / "analyzers",
    "ctxdiff_mcp": ROOT,
}
CAPTURE, ANALYZERS, MCP = FOLDERS

MODEL, ERRORS, GUARD = f"{CAPTURE}.model", f"{CAPTURE}.errors", f"{CAPTURE}.guard"
LIGHT = f"{CAPTURE}.light"
GATE = f"{MCP}.gate"

# A room may import itself, the rooms named here, and nothing else of ours.
MAY_IMPORT: dict[str, set[str]] = {
    LIGHT: set(),
    MODEL: {LIGHT},
    ERRORS: set(),
    GUARD: set(),
    f"{CAPTURE}.hashing": {MODEL},
    f"{CAPTURE}.tokens": {MODEL, ERRORS, f"{CAPTURE}.hashing"},  # an image is hashed by parts
    f"{CAPTURE}.wire": {MODEL, GUARD, ERRORS, f"{CAPTURE}.secrets"},
    f"{CAPTURE}.decoders": {
        MODEL,
        f"{CAPTURE}.hashing",
        f"{CAPTURE}.tokens",
        f"{CAPTURE}.secrets",
        ERRORS,
    },
    f"{CAPTURE}.secrets": {GUARD},
    f"{CAPTURE}.store": {LIGHT, MODEL, ERRORS, f"{CAPTURE}._version"},
    # The recorder calls the hooks; they know it as protocols of their own.
    f"{CAPTURE}.hooks": {
        MODEL,
        ERRORS,
        GUARD,
        f"{CAPTURE}.hashing",
        f"{CAPTURE}.decoders",
        f"{CAPTURE}.tokens",
    },
    f"{CAPTURE}.recorder": {
        f"{CAPTURE}.hooks",
        f"{CAPTURE}.hashing",
        f"{CAPTURE}.secrets",
        MODEL,
        ERRORS,
        GUARD,
        f"{CAPTURE}.wire",
        f"{CAPTURE}.decoders",
        f"{CAPTURE}.tokens",
        f"{CAPTURE}.store",
        f"{CAPTURE}._version",
    },
    f"{CAPTURE}.importers": {
        # What is imported is redacted as what is recorded.
        f"{CAPTURE}.recorder.redact",
        f"{CAPTURE}.recorder.redacting",
        MODEL,
        ERRORS,
        f"{CAPTURE}.decoders",
        f"{CAPTURE}.tokens",
        f"{CAPTURE}.store",
    },
    f"{CAPTURE}._version": set(),
    CAPTURE: {
        f"{CAPTURE}.recorder",
        f"{CAPTURE}.store",
        f"{CAPTURE}.tokens",
        MODEL,
        ERRORS,
    },  # the front door
    ANALYZERS: {LIGHT, MODEL},
    GATE: {MODEL, f"{CAPTURE}.secrets"},
    # Token arithmetic lives in one decoder file; Captured is how answers carry a trace's own words,
    # and a difference must not cut through the tag of a credential.
    f"{MCP}.answers": {
        ANALYZERS,
        LIGHT,
        MODEL,
        ERRORS,
        f"{CAPTURE}.store",
        f"{CAPTURE}.decoders.usage",
        f"{GATE}.captured",
        f"{GATE}.secrets",
    },
    f"{MCP}.text": {ANALYZERS, MODEL, f"{MCP}.answers", GATE},
    f"{MCP}.tools": {ANALYZERS, MODEL, f"{MCP}.answers", GATE, ERRORS},
    f"{MCP}.wire": set(),
    f"{MCP}.server": {
        f"{MCP}.tools",
        f"{MCP}.answers",
        f"{MCP}.text.log",
        f"{MCP}.wire",
        f"{MCP}.worker",
        GATE,
        ERRORS,
        f"{MCP}._version",
    },
    f"{MCP}.worker": {
        f"{MCP}.tools",
        f"{MCP}.answers",
        f"{MCP}.text.log",
        GATE,
        ERRORS,
        f"{CAPTURE}.store.temporary",
    },
    f"{MCP}.cli": {
        f"{MCP}.answers",
        f"{MCP}.text",
        f"{MCP}.server",
        f"{MCP}._version",
        GATE,
        ANALYZERS,
        f"{CAPTURE}.importers",
        f"{CAPTURE}.store",
        f"{CAPTURE}.recorder",
        MODEL,
        ERRORS,
    },
    f"{MCP}.__main__": {f"{MCP}.cli", f"{MCP}.server", f"{MCP}._version"},
    f"{MCP}._version": set(),
    MCP: set(),
}

SOURCES = sorted(path for name, folder in FOLDERS.items() for path in (folder / name).rglob("*.py"))


def module_name(path: Path) -> str:
    folder = next(f for n, f in FOLDERS.items() if path.is_relative_to(f / n))
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def inside(name: str, room: str) -> bool:
    return name == room or name.startswith(f"{room}.")


def room_of(name: str) -> str:
    if name in MAY_IMPORT:
        return name
    fits = [room for room in MAY_IMPORT if inside(name, room) and room not in (CAPTURE, MCP)]
    assert fits, f"{name} stands in no room of the table"
    return max(fits, key=len)


def our_imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    ours = tuple(FOLDERS)
    assert not [n for n in found if n.split(".")[0] in ("capture", "analyzers")], (
        "works editable, fails from a wheel"
    )
    return [name for name in found if name.split(".")[0] in ours]


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_a_module_imports_only_the_rooms_below_it(path: Path) -> None:
    room = room_of(module_name(path))
    allowed = MAY_IMPORT[room] | {room}
    # `from ctxdiff_capture import hashing` names the room as its last part.
    strangers = [n for n in our_imports(path) if not any(inside(n, a) for a in allowed)]
    assert not strangers, f"{module_name(path)} may not import {strangers}"


def test_the_table_has_no_circle() -> None:
    def visit(room: str, trail: tuple[str, ...]) -> None:
        assert room not in trail, f"circle: {' -> '.join((*trail, room))}"
        for below in MAY_IMPORT.get(room, set()):
            visit(below, (*trail, room))

    for room in MAY_IMPORT:
        visit(room, ())


def test_only_the_server_imports_the_mcp_sdk() -> None:
    def imports_mcp(path: Path) -> bool:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
        names += [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        return any(name.split(".")[0] in ("mcp", "mcp_types") for name in names)

    assert [module_name(p) for p in SOURCES if imports_mcp(p)] in ([], [f"{MCP}.server"])


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_a_file_is_short_enough_to_be_one_subject(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
