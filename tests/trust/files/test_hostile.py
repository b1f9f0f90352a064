"""Malicious traces through a real server: what it promises of them, whatever they hold."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trust.files import (
    hostile,
    hostile_bytes,
    hostile_logs,
    hostile_paths,
    hostile_rows,
    hostile_schema,
)
from tests.trust.files.judging import Verdict, judged
from tests.trust.goals import GOALS, IS_FULL

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc"),
    pytest.mark.timeout(300),
]

KINDS = (hostile_schema, hostile_rows, hostile_bytes, hostile_logs, hostile_paths)
"""Each registers its cases when it is imported."""

SHARED = Path(__file__).parents[3].parent / "shared/security/make_hostile.dev.py"
FEW = (
    "view_block_one_huge_step",
    "virtual_called_table",
    "deep_json",
    "packed_bombs",
    "log_is_a_link_or_a_pipe",
    "journal_with_super_journal",
    "links",
    "names",
)
"""Of each kind one, in an ordinary run."""


def tell(verdict: Verdict) -> None:
    """Fill the table of promises."""

    def broken(*words: str) -> int:
        return sum(line.startswith(words) for line in verdict.broken)

    GOALS.hostile_time.add(1, verdict.slowest_seconds)
    GOALS.hostile_memory.add(1, verdict.peak_megabytes)
    GOALS.hostile_death.add(1, broken("ALIVE"))
    GOALS.hostile_bytes.add(1, broken("NOWRITE"))
    GOALS.hostile_hidden.add(1, broken("BYSTANDER"))
    GOALS.hostile_leak.add(1, broken("NOLEAK", "CONTAIN"))


@pytest.mark.parametrize("name", hostile.CASES if IS_FULL else FEW)
def test_a_hostile_trace_breaks_no_promise(name: str, tmp_path: Path) -> None:
    case = hostile.CASES[name]
    folder = tmp_path / "runs" / name
    hostile.build(case, folder)
    verdict = judged(folder, secrets=case.secrets, canaries=case.canaries)
    tell(verdict)
    assert verdict.broken == []


def shared_cases() -> list[str]:
    if not SHARED.exists():
        return []
    spec = importlib.util.spec_from_file_location("make_hostile", SHARED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.CASES)


SHARED_CASES = shared_cases()


@pytest.mark.skipif(not SHARED_CASES, reason="no ../shared/security beside this checkout")
@pytest.mark.parametrize("name", SHARED_CASES if IS_FULL else SHARED_CASES[::6])
def test_a_hostile_trace_of_others_breaks_no_promise(name: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    subprocess.run(
        [sys.executable, os.fspath(SHARED), os.fspath(made), "--case", name],
        check=True,
        capture_output=True,
        timeout=120,
    )
    (told,) = json.loads((made / "manifest.json").read_text())
    if "not_built" in told:
        pytest.skip(f"the case cannot be made here: {told['not_built']}")
    folder = Path(told["dir"])
    verdict = judged(folder, secrets=secrets_of(told, folder), canaries=told.get("canary", []))
    must = {*told["must"], "STABLE", "INTERNAL"}
    verdict.broken = [line for line in verdict.broken if line.split(":")[0] in must]
    if "MEM" not in must:
        verdict.peak_megabytes = 0
    tell(verdict)
    assert verdict.broken == []


def secrets_of(told: dict[str, Any], folder: Path) -> list[str]:
    if told.get("secret_redact"):  # a secret in redact mode alone
        return []
    return [text.replace("{ABS_DIR}", os.fspath(folder)) for text in told.get("secret", [])]
