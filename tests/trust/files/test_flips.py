"""Traces whose bytes were damaged at random: no hang, no crash, no leak, no good trace hidden."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trust.files.flips import flip, shapes
from tests.trust.files.hostile import trace
from tests.trust.files.judging import MOST_MEGABYTES, MOST_SECONDS, state_of
from tests.trust.goals import GOALS, attempts

pytest.importorskip("resource", reason="the system does not tell how much memory was used")

ALL = attempts(200, 10_000)
BATCH = 200
SECRET = "only the good neighbour of batch {} says this"
ASKING = Path(__file__).with_name("asking.py")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("batch", range(ALL // BATCH))
def test_damage_anywhere_in_a_trace_costs_that_trace_at_most(batch: int, tmp_path: Path) -> None:
    chance = random.Random(batch)
    secret = SECRET.format(batch)
    good = shapes(tmp_path / "whole")
    folder = tmp_path / "runs" / "damaged"
    folder.mkdir(parents=True)
    trace(folder / "good.ctrace", session="g" * 32, texts=[secret])
    done = [
        flip(chance.choice(good), folder / f"x{number}.ctrace", chance) for number in range(BATCH)
    ]
    before = state_of(folder)
    ended = subprocess.run(  # noqa: PLW1510  how it ended is looked at
        [sys.executable, str(ASKING), str(folder), secret],
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)},
    )
    crashed = ended.returncode != 0
    GOALS.hostile_death.add(BATCH, int(crashed), "damaged at random")
    assert not crashed, (ended.returncode, ended.stderr[-2_000:], done)
    found = json.loads(ended.stdout)
    after = state_of(folder)
    changed = [path for path in {*before, *after} if before.get(path) != after.get(path)]
    GOALS.hostile_time.add(BATCH, found["slowest"], "damaged at random")
    GOALS.hostile_memory.add(BATCH, found["peak_mb"], "damaged at random")
    GOALS.hostile_bytes.add(BATCH, len(changed), "damaged at random")
    GOALS.hostile_hidden.add(BATCH, int(not found["good"]), "damaged at random")
    GOALS.hostile_leak.add(BATCH, len(found["leaks"]), "damaged at random")
    assert found["unforeseen"] == []
    assert found["good"]
    assert found["leaks"] == []
    assert changed == []
    assert found["slowest"] < MOST_SECONDS
    assert found["peak_mb"] < MOST_MEGABYTES
