"""`ctxdiff-mcp run` says so where Python will not start a recording."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("options", "blind"),
    [
        ([], None),
        (["-O", "-u"], None),
        (["-W", "error", "-X", "utf8"], None),
        (["-Werror", "-Xutf8"], None),
        (["-I"], "-I"),
        (["-uE"], "-E"),
        (["-W", "error", "-S"], "-S"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_a_python_that_will_not_be_recorded_runs_and_is_named(
    tmp_path: Path, options: list[str], blind: str | None
) -> None:
    (tmp_path / "agent.py").write_text("print('ran', __import__('sys').argv[1:])")
    program = [sys.executable, *options, "agent.py", "-I"]
    ran = subprocess.run(
        [sys.executable, "-m", "ctxdiff_mcp", "run", "--", *program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout == "ran ['-I']\n"
    told = [line for line in ran.stderr.splitlines() if "unrecorded" in line]
    assert [line.partition("with ")[2].partition(";")[0] for line in told] == (
        [blind] if blind else []
    )
