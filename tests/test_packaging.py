"""Three distributions that install apart and together, from wheels, with pip and with uv."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
import zlib
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path
from uuid import uuid4

import pytest
from ctxdiff_capture.tokens import vocabulary

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "ctxdiff-capture": ROOT / "capture",
    "ctxdiff-analyzers": ROOT / "analyzers",
    "ctxdiff-mcp": ROOT,
}
TOOLS = ["block", "cache", "diff", "explain", "runs", "search", "tokens"]

AGENT = """
import importlib.util, json, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from openai import OpenAI
from ctxdiff_capture import read, trace

assert not importlib.util.find_spec("mcp"), "the agent's process must not carry the MCP SDK"

class Provider(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "hello"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "c1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

server = HTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=server.serve_forever, daemon=True).start()
with trace.init("alone", path="alone.ctrace") as tracer:
    client = tracer.wrap(OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="k"))
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
reader = read("alone.ctrace")
(session,) = reader.sessions()
print(session.project, session.calls)
"""

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """Standard output of a command that succeeds within five minutes; its errors when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": "", **env},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three wheels."""
    house = tmp_path_factory.mktemp("wheelhouse")
    for folder in FOLDERS.values():
        # hatchling is one of the development dependencies: no isolation, no download.
        run(
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            house,
            folder,
            cwd=house,
        )
    return house


def wheel(house: Path, name: str) -> Path:
    (found,) = house.glob(f"{name.replace('-', '_')}-*.whl")
    return found


def new_venv(folder: Path, *requirements: str | Path) -> Path:
    """A virtual environment with these requirements; its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "python", "-m", "pip", "install", "-q", *requirements, cwd=folder)
    return programs


@pytest.fixture(scope="session")
def installed(wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the three wheels and what they need."""
    wheels = [wheel(wheelhouse, name) for name in FOLDERS]
    return new_venv(tmp_path_factory.mktemp("all-three"), *wheels)


def literal_version(folder: Path) -> str:
    found = re.search(
        r'^version = "([^"]+)"$', (folder / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert found, f"{folder}: the version is a literal"
    return found[1]


def test_the_three_distributions_have_one_literal_version() -> None:
    versions = {literal_version(folder) for folder in FOLDERS.values()}
    for module in ROOT.glob("*/_version.py"), ROOT.glob("*/ctxdiff_*/_version.py"):
        versions |= {re.findall(r'"(\d[^"]*)"', path.read_text())[-1] for path in module}
    assert len(versions) == 1


def test_the_distributions_pin_each_other_to_that_version() -> None:
    pins = {
        (folder.name, *pin)
        for folder in FOLDERS.values()
        for pin in re.findall(
            r'"(ctxdiff-(?:capture|analyzers))([=<>~!][^"]*)"',
            (folder / "pyproject.toml").read_text(),
        )
    }
    version = f"=={literal_version(ROOT)}"
    assert pins == {
        (ROOT.name, "ctxdiff-capture", version),
        (ROOT.name, "ctxdiff-analyzers", version),
        ("analyzers", "ctxdiff-capture", version),
    }


@pytest.mark.parametrize("name", FOLDERS)
def test_a_wheel_holds_its_package_its_types_and_its_licence(wheelhouse: Path, name: str) -> None:
    package = name.replace("-", "_")
    with zipfile.ZipFile(wheel(wheelhouse, name)) as archive:
        names = archive.namelist()
        (metadata_file,) = (n for n in names if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(metadata_file).decode())
    tops = {n.split("/")[0] for n in names if ".dist-info/" not in n}
    assert tops == {package}
    assert f"{package}/py.typed" in names
    assert any(n.endswith(".dist-info/licenses/LICENSE") for n in names)
    assert not [n for n in names if n.endswith((".pyc", ".ctrace"))]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_a_wheel_holds_every_file_of_its_package(wheelhouse: Path) -> None:
    for name, folder in FOLDERS.items():
        package = folder / name.replace("-", "_")
        wanted = {
            path.relative_to(folder).as_posix()
            for path in package.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        with zipfile.ZipFile(wheel(wheelhouse, name)) as archive:
            held = {n for n in archive.namelist() if ".dist-info/" not in n}
        assert held == wanted


def test_the_capture_wheel_carries_the_vocabulary(wheelhouse: Path) -> None:
    with zipfile.ZipFile(wheel(wheelhouse, "ctxdiff-capture")) as archive:
        (table,) = (n for n in archive.namelist() if n.endswith(vocabulary.TABLE))
        unpacked = zlib.decompress(archive.read(table))
    assert hashlib.sha256(unpacked).hexdigest() == vocabulary.SHA256


def test_the_capture_wheel_alone_records_without_the_mcp_sdk(
    wheelhouse: Path, tmp_path: Path
) -> None:
    programs = new_venv(tmp_path / "venv", wheel(wheelhouse, "ctxdiff-capture"), "openai")
    script = tmp_path / "agent.py"
    script.write_text(AGENT, encoding="utf-8")
    assert run(programs / "python", script, cwd=tmp_path) == "alone 1\n"
    packages = run(programs / "python", "-m", "pip", "list", "--format=freeze", cwd=tmp_path)
    assert not re.findall(r"^(?:mcp|starlette|uvicorn)\b", packages, re.MULTILINE)


def test_the_three_wheels_install_together(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "ctxdiff-mcp", "--version", cwd=tmp_path) == (
        f"ctxdiff-mcp {literal_version(ROOT)}\n"
    )
    run(installed / "python", "-m", "pip", "check", cwd=tmp_path)


def test_the_demo_runs_from_the_wheels(installed: Path, tmp_path: Path) -> None:
    out = run(installed / "ctxdiff-mcp", "demo", cwd=tmp_path)
    assert "context_evicted" in out
    assert "claude mcp add" in out
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A project whose own files have the names of ours and of the SDK; each tells when it runs."""
    confess = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    folder = tmp_path / "project"
    for name in ("mcp.py", "capture/__init__.py", "analyzers/__init__.py", "anyio.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(confess, encoding="utf-8")
    return folder


@pytest.mark.parametrize("start", ["ctxdiff-mcp", "python -m ctxdiff_mcp"])
def test_the_server_starts_in_a_project_that_has_modules_of_the_same_names(
    installed: Path, foreign: Path, handshake: Callable[..., list[str]], start: str
) -> None:
    program, *arguments = start.split()
    tools = handshake([str(installed / program), *arguments], foreign, {"PYTHONPATH": ""})
    assert tools == [f"ctxdiff_{name}" for name in TOOLS]
    assert not (foreign.parent / "ran").exists()


needs_uv = pytest.mark.skipif(not shutil.which("uv"), reason="uv is not on the PATH")


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, so that uv writes its lock and environment there."""
    # uv keeps what it built by path, so every run has a path of its own.
    copy = tmp_path_factory.mktemp("uv") / uuid4().hex
    hidden = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "build", "dist")
    return Path(shutil.copytree(ROOT, copy, ignore=hidden))


@needs_uv
def test_uv_sync_gives_a_developer_everything(checkout: Path) -> None:
    run("uv", "sync", "--quiet", cwd=checkout, VIRTUAL_ENV="")
    version = run("uv", "run", "--quiet", "ctxdiff-mcp", "--version", cwd=checkout, VIRTUAL_ENV="")
    assert version == f"ctxdiff-mcp {literal_version(ROOT)}\n"
    run("uv", "run", "--quiet", "pytest", "--version", cwd=checkout, VIRTUAL_ENV="")


@needs_uv
def test_uvx_runs_the_server_from_a_checkout(
    checkout: Path, tmp_path: Path, handshake: Callable[..., list[str]]
) -> None:
    command = ["uv", "tool", "run", "--quiet", "--from", str(checkout), "ctxdiff-mcp"]
    run(*command, "--version", cwd=tmp_path)  # builds it, which may take longer than a handshake
    assert handshake(command, tmp_path) == [f"ctxdiff_{name}" for name in TOOLS]
