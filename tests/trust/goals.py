"""What the trust work promises, as rows of numbers that the tests of this folder fill."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

IS_FULL = bool(os.environ.get("CTXDIFF_STRESS"))
"""Whether the full numbers of attempts are made: see docs/threat-model.md."""


def attempts(few: int, full: int) -> int:
    """How many attempts a test makes: few in an ordinary run, all on demand."""
    return full if IS_FULL else few


@dataclass
class Row:
    """One promise.

    `most` is the largest measure that keeps it: of failures 0, of seconds or bytes a limit.
    """

    what: str
    most: float = 0
    unit: str = "failures"
    attempts: int = 0
    measured: float | None = None
    parts: dict[str, int] = field(default_factory=dict)
    """Attempts by kind."""

    def add(self, attempts: int, measured: float = 0, part: str = "") -> None:
        """Count attempts, and what was measured: failures add up, of others the largest stays.

        Args:
            attempts: how many of them were made.
            measured: failures among them, or a measure in the row's unit.
            part: names the attempts in the printed table, where a row has several kinds.
        """
        self.attempts += attempts
        if self.unit == "failures":
            self.measured = (self.measured or 0) + measured
        else:
            self.measured = max(self.measured or 0, measured)
        if part:
            self.parts[part] = self.parts.get(part, 0) + attempts

    @property
    def is_kept(self) -> bool:
        """Whether it was tried and holds."""
        return self.measured is not None and self.measured <= self.most

    def line(self) -> str:
        """The row as a line of the printed table."""
        if self.measured is None:
            return f"| {self.what} | not tried | | |"
        by_kind = "; ".join(f"{kind}: {count:,}" for kind, count in self.parts.items())
        parts = f" ({by_kind})" if by_kind else ""
        verdict = "kept" if self.is_kept else "BROKEN"
        limit = f"{self.most:g} {self.unit}" if self.unit != "failures" else "0"
        measured = f"{self.measured:,.4g}"
        return f"| {self.what} | {self.attempts:,}{parts} | {measured} | {limit}: {verdict} |"


class Goals:
    """All rows, in the order in which they are printed; the page quotes `what` of each."""

    def __init__(self) -> None:
        self.contain = Row("captured text outside its frame, in any field or error")
        self.boundary = Row("forged, unbalanced or replayed boundary")
        self.raw = Row("raw control, invisible, direction or tag characters, surrogates")
        self.inverse = Row("text not recovered byte for byte by the inverse")
        self.pages = Row("wrong offsets or pages")
        self.cap = Row("results over the cap, on the wire")
        self.frame = Row("cost of a frame", 120, "characters")
        self.escapes = Row("escapes in 1 MB of mixed prose and code", 0.01, "%")
        self.gate = Row("share of an answer's time that the gate takes", 5, "%")
        self.echo = Row("arguments or errors repeated raw")
        self.pairs = Row("redact: byte difference between pairs (R1)")
        self.canaries = Row("redact: canaries in stdout or stderr (R2)")
        self.secrets = Row("credentials shown, whole or in a piece")
        self.hostile_time = Row("hostile files: seconds of a question", 5, "s")
        self.hostile_death = Row("hostile files: server deaths")
        self.hostile_memory = Row("hostile files: peak memory", 512, "MB")
        self.hostile_bytes = Row("hostile files: bytes changed, created or deleted anywhere")
        self.hostile_hidden = Row("hostile files: a good file hidden")
        self.hostile_leak = Row("hostile files: bytes of other files, or of secrets, in an answer")
        self.live = Row("live trace: reads that were inconsistent or disturbed the writer")
        self.listing = Row("listing 1,500 files, warm", 1, "s")
        self.fuzz = Row("fuzz: crashes, hangs or answers outside the protocol")

    def __iter__(self) -> Iterator[Row]:
        return iter(vars(self).values())


GOALS = Goals()
