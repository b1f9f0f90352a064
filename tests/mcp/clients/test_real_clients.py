"""The server under the clients that people use: MCP Inspector and Claude Code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

CONFIGS = Path(__file__).resolve().parents[3] / "client-configs"
TOOLS = [
    f"ctxdiff_{name}" for name in ("block", "cache", "diff", "explain", "runs", "search", "tokens")
]
Client = Callable[..., "CompletedProcess[str]"]

pytestmark = pytest.mark.slow


def inspector(client: Client, era: str, *question: str) -> dict[str, object]:
    done = client(
        *("mcp-inspector", "--cli", "ctxdiff-mcp", "--protocol-era", era),
        *("-q", "--format", "json", *question),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_portable_tools(client: Client, era: str) -> None:
    answer = inspector(client, era, "--strict", "--method", "tools/list")
    tools = answer["result"]["tools"] if "result" in answer else answer["tools"]  # type: ignore[index]
    assert sorted(tool["name"] for tool in tools) == TOOLS  # type: ignore[attr-defined]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_calls_a_tool_in_an_empty_project(client: Client, era: str) -> None:
    answer = inspector(client, era, "--method", "tools/call", "--tool-name", "ctxdiff_runs")
    result = answer.get("result", answer)
    assert [block["type"] for block in result["content"]] == ["text"]  # type: ignore[index]
    assert not result.get("isError")  # type: ignore[union-attr]


def test_claude_code_connects_to_the_server_that_was_added(client: Client) -> None:
    added = client(*["claude", "mcp", "add", "ctxdiff", "--", "ctxdiff-mcp", "serve"])
    assert added.returncode == 0, added.stdout + added.stderr
    (line,) = (
        text for text in client("claude", "mcp", "list").stdout.splitlines() if "ctxdiff" in text
    )
    assert line.startswith("ctxdiff: ctxdiff-mcp")
    assert line.endswith("Connected")
    assert "Failed" not in line


def test_claude_code_connects_from_the_project_file_that_we_ship(
    client: Client, tmp_path: Path
) -> None:
    shutil.copy(CONFIGS / "claude-code.mcp.json", tmp_path / "project" / ".mcp.json")
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"enabledMcpjsonServers": ["ctxdiff"]}), encoding="utf-8")
    (line,) = (
        text for text in client("claude", "mcp", "list").stdout.splitlines() if "ctxdiff" in text
    )
    assert line.endswith("Connected")
    assert "Failed" not in line
