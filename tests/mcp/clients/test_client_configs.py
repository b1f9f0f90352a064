"""Every file under client-configs starts the server exactly as its client would."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

CONFIGS = Path(__file__).resolve().parents[3] / "client-configs"


def claude_code(text: str, variables: Mapping[str, str], _project: Path) -> str:
    """`${VAR}` and `${VAR:-default}`."""
    return re.sub(r"\$\{(\w+)(?::-([^}]*))?\}", lambda m: variables.get(m[1], m[2] or ""), text)


def cursor(text: str, variables: Mapping[str, str], project: Path) -> str:
    """`${env:NAME}`, `${workspaceFolder}` and `${userHome}`."""
    text = text.replace("${workspaceFolder}", str(project)).replace("${userHome}", str(Path.home()))
    return re.sub(r"\$\{env:(\w+)\}", lambda m: variables.get(m[1], ""), text)


EXPANSIONS = {"claude-code.mcp.json": claude_code, "cursor.mcp.json": cursor}


def test_every_configuration_has_a_test() -> None:
    assert {path.name for path in CONFIGS.glob("*.json")} == set(EXPANSIONS)


@pytest.mark.parametrize("name", EXPANSIONS)
def test_a_configuration_starts_the_server(
    name: str, programs: Path, handshake: Callable[..., list[str]], tmp_path: Path
) -> None:
    (server,) = json.loads((CONFIGS / name).read_text(encoding="utf-8"))["mcpServers"].values()
    path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    command = [server["command"], *server["args"]]
    expanded = [EXPANSIONS[name](part, path, tmp_path) for part in command]
    assert not [part for part in expanded if "$" in part]
    # A client looks the command up on its own PATH, which the test process does not share.
    expanded[0] = str(programs / expanded[0])
    tools = handshake(expanded, tmp_path, {**path, **server.get("env", {})})
    assert len(tools) == 7


@pytest.mark.parametrize("name", EXPANSIONS)
def test_a_configuration_names_the_server_shortly(name: str) -> None:
    servers = json.loads((CONFIGS / name).read_text(encoding="utf-8"))["mcpServers"]
    # Cursor drops tools whose server and tool name together exceed 60 characters.
    assert list(servers) == ["ctxdiff"]
