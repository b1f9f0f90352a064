"""How many examples the fuzz run tries, and how it is repeated."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from hypothesis import HealthCheck, seed, settings

from tests.trust.goals import GOALS, attempts

_DRAWN = 5 if "CI" in os.environ else random.SystemRandom().randrange(2**32)
SEED = int(os.environ.get("CTXDIFF_FUZZ_SEED", _DRAWN))
"""Draws all examples; `CTXDIFF_FUZZ_SEED` repeats a run. CI tries the same ones every time."""
Test = TypeVar("Test", bound=Callable[..., Any])


def fuzzed(few: int, full: int) -> Callable[[Test], Test]:
    """Lets a property test draw that many examples from `SEED`, ordinarily or in full."""

    def mark(test: Test) -> Test:
        sized = settings(
            max_examples=attempts(few, full),
            database=None,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        )(test)
        repeated: Test = seed(SEED)(sized)
        return repeated

    return mark


class Tally:
    """Counts the examples of one kind.

    Args:
        part: names the kind in the printed table.
    """

    def __init__(self, part: str) -> None:
        self.part = part
        self.examples = 0

    def one(self) -> None:
        """Another example has been tried."""
        self.examples += 1


@contextmanager
def tally(part: str) -> Generator[Tally, None, None]:
    """Counts what is tried inside into the row of promises; an error breaks the promise."""
    counted = Tally(part)
    failures = 1
    try:
        yield counted
        failures = 0
    finally:
        GOALS.fuzz.add(counted.examples, measured=failures, part=part)
