"""Says how a run is repeated."""

from __future__ import annotations

import pytest

from tests.trust.fuzz.budget import SEED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.line(f"fuzz seed {SEED}; CTXDIFF_FUZZ_SEED={SEED} repeats this run")
