"""Commands in the documentation work, and what the program offers is in the documentation."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from ctxdiff_capture.importers.base import import_log

from ctxdiff_mcp.__main__ import main
from ctxdiff_mcp.cli.demo import CONFIGURATION
from ctxdiff_mcp.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted({ROOT / "README.md", *ROOT.glob("*/README.md"), *ROOT.glob("docs/**/*.md")})
DEMO_LOG = Path(str(files("ctxdiff_mcp.cli") / "data" / "demo.jsonl"))

BLOCK = re.compile(r"^```(?:bash|console|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)

TRY = "python -m venv .venv && .venv/bin/pip install ./capture ./analyzers . && .venv/bin/ctxdiff-mcp demo"
DEVELOP = (
    'python -m venv .venv && .venv/bin/pip install -e ./capture -e ./analyzers -e ".[dev]" '
    "&& .venv/bin/pytest"
)
HELD_ELSEWHERE = {
    TRY: ("tests/test_docs.py", "test_the_first_command_of_the_readme_works_in_a_fresh_copy"),
    DEVELOP: (".ci/run", '-e ./capture -e ./analyzers -e ".[dev]"'),
    "claude mcp add ctxdiff -- ctxdiff-mcp serve": (
        "tests/mcp/clients/test_real_clients.py",
        "test_claude_code_connects_to_the_server_that_was_added",
    ),
    "CTXDIFF_STRESS=1 pytest tests/trust -s": (
        "tests/trust/test_threat_model.py",
        "test_the_command_of_the_page_prints_each_promise",
    ),
    "ctxdiff-mcp demo": ("tests/mcp/cli/test_demo.py", "test_the_demo_tells_why_turn_8_broke"),
}
"""Commands that are run by something else: the file, and words in it that do so."""


def commands() -> list[tuple[str, str]]:
    """(page, command) of every shell block; a `$ ` is a prompt, `#` starts a remark."""
    found = []
    for page in PAGES:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                command = line.removeprefix("$ ").partition("  #")[0].strip()
                if command and not command.startswith("#"):
                    found.append((page.relative_to(ROOT).as_posix(), command))
    return found


def test_there_are_commands_to_check() -> None:
    assert TRY in [command for _, command in commands()]


@pytest.mark.parametrize(("page", "command"), commands())
def test_a_documented_command_works(
    page: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command in HELD_ELSEWHERE:
        file, words = HELD_ELSEWHERE[command]
        assert words in (ROOT / file).read_text(encoding="utf-8")
        return
    program, *arguments = shlex.split(command)
    assert program == "ctxdiff-mcp", f"{page}: nothing runs {command!r}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CTXDIFF_STORE", raising=False)
    if arguments[0] == "import":
        shutil.copy(DEMO_LOG, arguments[1])
    else:
        import_log(DEMO_LOG, tmp_path / "demo.ctrace")
    assert main(arguments) == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_readme(name: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"ctxdiff-mcp {name}\b", readme), name


def test_the_readme_is_short_and_whole() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 200
    assert "@@" not in text, "a placeholder is left"


def test_the_demo_prints_the_configuration_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    claude, _ = CONFIGURATION
    assert claude.partition(":")[2].strip() in readme


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.slow
def test_the_first_command_of_the_readme_works_in_a_fresh_copy(tmp_path: Path) -> None:
    hidden = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "build", "dist")
    shutil.copytree(ROOT, tmp_path / "copy", ignore=hidden)
    done = subprocess.run(
        ["bash", "-c", TRY.replace("python -m", f"{shlex.quote(sys.executable)} -m", 1)],
        cwd=tmp_path / "copy",
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "context_evicted" in done.stdout
