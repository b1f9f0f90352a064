"""Lost calls are counted exactly, whoever counts them and whenever it is written down."""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from ctxdiff_capture.recorder.storing import Losses


@pytest.fixture(autouse=True)
def _threads_are_switched_all_the_time() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_losses_of_many_threads_are_noted_once_each_while_they_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    losses, noted, offers = Losses("a trace"), Counter[str](), 0

    def write(reason: str, count: int) -> bool:
        nonlocal offers
        offers += 1
        if offers % 3 == 0:
            return False  # the file is full for now
        noted[reason] += count
        return True

    def lose(reason: str) -> None:
        for _ in range(20_000):
            losses.add(reason)

    threads = [threading.Thread(target=lose, args=(f"reason {n % 2}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        losses.note(write)
    for _ in range(3):
        losses.note(write)
    losses.tell_sum()

    assert noted == {"reason 0": 80_000, "reason 1": 80_000}
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(said) == 2
    assert said[1] == "ctxdiff: 160000 calls are not in a trace"
