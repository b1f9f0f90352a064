"""The front door: help, version, the default command, and faults of our own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp._version import __version__
from ctxdiff_mcp.answers.where import runs_folder
from ctxdiff_mcp.cli import main as front
from ctxdiff_mcp.cli import runs
from ctxdiff_mcp.cli import serve as serving

ROOT = Path(__file__).resolve().parents[3]
Cli = Callable[..., Any]


def test_the_version_is_printed(ctxdiff: Cli) -> None:
    assert ctxdiff("--version") == (0, f"ctxdiff-mcp {__version__}\n", "")


def test_help_names_every_command(ctxdiff: Cli) -> None:
    done = ctxdiff("--help")
    assert done.status == 0
    for name, (_, summary) in front.COMMANDS.items():
        assert f"    {name} " in done.out
        assert summary.split()[0] in done.out


@pytest.mark.parametrize("name", front.COMMANDS)
def test_every_command_explains_its_flags(ctxdiff: Cli, name: str) -> None:
    done = ctxdiff(name, "--help")
    assert (done.status, done.err) == (0, "")
    assert f"usage: ctxdiff-mcp {name}" in done.out


@pytest.mark.parametrize("argv", [["nosuch"], ["tokens", "--nosuch"]], ids=" ".join)
def test_what_cannot_be_parsed_is_wrong_use(ctxdiff: Cli, argv: list[str]) -> None:
    done = ctxdiff(*argv)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("usage: ctxdiff-mcp")


@pytest.mark.parametrize(
    "argv",
    [
        ("runs", "--runs-dir"),
        ("legend", "--runs-dir"),
        ("tokens", "--project"),
        ("tokens", "--prices"),
    ],
    ids=" ".join,
)
def test_a_home_that_nobody_has_is_a_path_like_any_other(
    ctxdiff: Cli, demo: Path, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, str]
) -> None:
    monkeypatch.setenv("CTXDIFF_STORE", str(demo))
    done = ctxdiff(*argv, "~nobody-of-that-name/x")
    assert "internal error" not in done.err
    assert done.out or "no readable trace" in done.err or "~nobody-of-that-name/x" in done.err
    assert runs_folder(Path("~nobody-of-that-name/x"), {}) == Path("~nobody-of-that-name/x")


def test_a_long_flag_may_be_cut_where_it_stays_clear(ctxdiff: Cli, demo: Path) -> None:
    assert ctxdiff("tokens", "--proj", demo, "--tu", "1").status == 0


@pytest.mark.parametrize("argv", [[], ["--runs-dir", "x"], ["--redact"], ["serve"]], ids=" ".join)
def test_without_a_command_the_server_is_started(
    ctxdiff: Cli, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    asked: list[str] = []

    def load(name: str) -> Any:
        asked.append(name)
        raise KeyboardInterrupt

    monkeypatch.setattr(front, "load", load)
    with pytest.raises(KeyboardInterrupt):
        ctxdiff(*argv)
    assert asked == ["serve"]


@pytest.mark.parametrize(
    ("argv", "served"),
    [
        ([], {}),
        (["--runs-dir", "x"], {"folder": Path("x")}),
        (["--redact"], {"redact": "all"}),
        (["--redact", "--redact-counts", "bucket"], {"redact": "all", "redact_counts": "bucket"}),
        (["serve", "--redact", "text"], {"redact": "text"}),
        (["--no-secret-tags"], {"secret_tags": False}),
        (
            ["--max-bytes", "4000", "--max-bytes-ever", "9000"],
            {"default_cap": 4000, "hard_cap": 9000},
        ),
        (["--prices", "p.json"], {"prices": Path("p.json")}),
    ],
    ids=str,
)
def test_the_flags_of_the_server_reach_it(
    ctxdiff: Cli, monkeypatch: pytest.MonkeyPatch, argv: list[str], served: dict[str, Any]
) -> None:
    asked: list[dict[str, Any]] = []
    usual = {
        "folder": None,
        "redact": "off",
        "redact_counts": "exact",
        "secret_tags": True,
        "default_cap": None,
        "hard_cap": None,
        "prices": None,
    }

    def serve(folder: Path | None, redact: str, **limits: Any) -> None:
        asked.append({"folder": folder, "redact": redact, **limits})

    monkeypatch.setattr(serving, "serve", serve)
    assert ctxdiff(*argv) == (0, "", "")
    assert asked == [{**usual, **served}]


@pytest.mark.slow
@pytest.mark.parametrize("flags", [{}, {"PYTHONSAFEPATH": "1"}], ids=["plain", "safe path"])
def test_the_module_runs_however_python_builds_its_path(
    tmp_path: Path, flags: dict[str, str]
) -> None:
    (tmp_path / "argparse.py").write_text("raise SystemExit('a file of the project ran')")
    sources = os.pathsep.join(str(part) for part in (ROOT / "capture", ROOT / "analyzers", ROOT))
    done = subprocess.run(
        [sys.executable, "-m", "ctxdiff_mcp", "runs"],
        cwd=tmp_path,
        env={**os.environ, **flags, "PYTHONPATH": sources},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "words"),
    [(["--max-bytes", "1"], "1000"), (["--prices", "prices.json"], "it is no JSON: line 1")],
)
def test_a_server_that_is_started_wrongly_says_why(
    tmp_path: Path, flags: list[str], words: str
) -> None:
    (tmp_path / "prices.json").write_text("3 EUR")
    # In a process of its own: the server takes stdin and stdout for itself.
    sources = os.pathsep.join(str(part) for part in (ROOT, ROOT / "capture", ROOT / "analyzers"))
    done = subprocess.run(
        [sys.executable, "-m", "ctxdiff_mcp", "serve", *flags],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": sources},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_fault_of_ours_is_told_without_a_traceback(
    ctxdiff: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_source: object) -> None:
        raise RuntimeError("recorded text")

    monkeypatch.setattr(runs, "runs", fail)
    monkeypatch.setenv("CTXDIFF_STRICT", "0")
    done = ctxdiff("runs")
    assert (done.status, done.out) == (1, "")
    assert "internal error (RuntimeError)" in done.err
    assert "recorded text" not in done.err


def test_the_parser_does_not_import_what_only_another_command_needs() -> None:
    # A client waits for the server's start; tqdm, tiktoken and the SDKs are not part of it.
    source = (
        "import sys\n"
        f"sys.path[:0] = {[str(ROOT), str(ROOT / 'capture'), str(ROOT / 'analyzers')]!r}\n"
        "from ctxdiff_mcp.cli import main\n"
        "print(sorted({'mcp', 'tqdm', 'tiktoken', 'openai', 'anthropic'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"
